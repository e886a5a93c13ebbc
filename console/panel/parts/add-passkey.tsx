/** A new passkey: its name, and what the browser asks for. */
import { texts } from '../../texts/en/profile.ts'
import { useApi } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import { nameFault } from '../model/keys.ts'
import type { Passkey } from '../model/wire.ts'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, TextField, useForm } from './form.tsx'
import { CANCELLED, KNOWN, makePasskey } from './passkey.ts'

const words = texts.security.passkeys.dialog

interface AddPasskeyProps {
  readonly close: () => void
  readonly added: (passkey: Passkey) => Promise<void>
}

export function AddPasskey({ close, added }: AddPasskeyProps) {
  const { factors } = useApi()
  const form = useForm({ name: '' }, ({ name }) => ({ name: nameFault(name) }))
  const submit = async ({ name }: { readonly name: string }) => {
    try {
      const { options } = await factors.passkeyChallenge()
      const response = await makePasskey(options)
      await added(await factors.addPasskey(name, response))
    } catch (error) {
      const told = TOLD[apiErrorOf(error).reason]
      if (told !== undefined) throw new FieldError('name', told)
      throw error
    }
  }
  return (
    <Dialog title={words.title} close={close}>
      <Form form={form} submit={submit} button={words.button} cancel={close}>
        <TextField form={form} name="name" label={words.name} hint={words.hint} autofocus />
      </Form>
    </Dialog>
  )
}

/** The refusals of the browser and the sidecar, in words. */
const TOLD: Readonly<Record<string, string>> = {
  [CANCELLED]: words.cancelled,
  [KNOWN]: words.known,
  PASSKEY_REFUSED: words.refused,
}
