/** Add Key → key name → Add (§4.2). */
import type { Carried } from '../../model/shell.ts'
import { texts } from '../../texts/en/profile.ts'
import { useApi } from '../context.tsx'
import { apiErrorOf, made } from '../model/errors.ts'
import { type ApiKey, keyNameFault, noteFault } from '../model/keys.ts'
import { apiKeyOf } from '../model/own.ts'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, TextField, useForm } from './form.tsx'
import { useUser } from './use-user.ts'

/** A key with its value, which no call returns again. */
export interface AddedKey {
  readonly key: ApiKey
  readonly place: Carried
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
  const form = useForm({ name: '', note: '' }, ({ name, note }) => ({
    name: keyNameFault(name, keys),
    note: noteFault(note.trim()),
  }))
  const submit = async ({ name, note }: { readonly name: string; readonly note: string }) => {
    try {
      const { token, header, scheme, value } = await made(
        directory.createStaticToken({ account, userName, name, note: note.trim() }),
        unknown,
      )
      if (token !== undefined) added({ key: apiKeyOf(token), place: { header, scheme }, value })
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
        <TextField
          form={form}
          name="note"
          label={texts.keys.dialog.note}
          hint={texts.keys.dialog.noteHint}
          optional
        />
      </Form>
    </Dialog>
  )
}
