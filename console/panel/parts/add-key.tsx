/** Add Key → key name → Add (§4.2). */
import { texts } from '../../texts/en/profile.ts'
import { useApi } from '../context.tsx'
import { apiErrorOf, made } from '../model/errors.ts'
import { type ApiKey, keyNameFault } from '../model/keys.ts'
import { apiKeyOf } from '../model/own.ts'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, TextField, useForm } from './form.tsx'
import { useUser } from './use-user.ts'

/** A key with its value, which no call returns again. */
export interface AddedKey {
  readonly key: ApiKey
  readonly header: string
  readonly value: string
}

interface AddKeyDialogProps {
  /** The keys that there are. */
  readonly keys: readonly ApiKey[]
  readonly close: () => void
  readonly added: (added: AddedKey) => void
  /** It is unknown whether there is a key now. */
  readonly unknown: () => void
}

export function AddKeyDialog({ keys, close, added, unknown }: AddKeyDialogProps) {
  const { directory } = useApi()
  const { account, name: userName } = useUser()
  const form = useForm({ name: '' }, ({ name }) => ({ name: keyNameFault(name, keys) }))
  const submit = async ({ name }: { readonly name: string }) => {
    try {
      const { token, header, value } = await made(
        directory.createStaticToken({ account, userName, name }),
        unknown,
      )
      if (token !== undefined) added({ key: apiKeyOf(token), header, value })
    } catch (error) {
      if (apiErrorOf(error).reason === 'ALREADY_EXISTS') throw new FieldError('name', texts.keys.taken)
      throw error
    }
  }
  return (
    <Dialog title={texts.keys.dialog.title} close={close}>
      <Form form={form} submit={submit} button={texts.keys.dialog.button} cancel={close}>
        <TextField
          form={form}
          name="name"
          label={texts.keys.dialog.name}
          hint={texts.keys.dialog.hint}
          autofocus
        />
      </Form>
    </Dialog>
  )
}
