/** Add Key → key name → Add (§4.2). */
import { useId } from 'preact/hooks'
import { staticKinds } from '../../model/sample.ts'
import type { Carried } from '../../model/shell.ts'
import { texts } from '../../texts/en/profile.ts'
import { headline } from '../../ui/parts.tsx'
import { useApi, usePanel } from '../context.tsx'
import { apiErrorOf, made } from '../model/errors.ts'
import { type ApiKey, keyNameFault, noteFault } from '../model/keys.ts'
import { apiKeyOf } from '../model/own.ts'
import { Dialog } from './dialog.tsx'
import { FieldError, Form, type FormState, TextField, useForm } from './form.tsx'
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
  const kinds = staticKinds(usePanel().rules?.matrix)
  const form = useForm({ name: '', note: '', kind: kinds[0]?.id ?? '' }, ({ name, note }) => ({
    name: keyNameFault(name, keys),
    note: noteFault(note.trim()),
  }))
  const submit = async ({
    name,
    note,
    kind,
  }: {
    readonly name: string
    readonly note: string
    readonly kind: string
  }) => {
    try {
      const { token, header, scheme, value } = await made(
        directory.createStaticToken({ account, userName, name, note: note.trim(), kind }),
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
        {kinds.length > 1 && <KindField form={form} kinds={kinds} />}
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

interface KindFieldProps {
  readonly form: FormState<{ readonly kind: string; readonly name: string; readonly note: string }>
  readonly kinds: ReturnType<typeof staticKinds>
}

function KindField({ form, kinds }: KindFieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{texts.keys.dialog.kind}</label>
      <select
        id={id}
        value={form.values.kind}
        onChange={({ currentTarget }) => form.set({ kind: currentTarget.value })}
      >
        {kinds.map((kind) => (
          <option key={kind.id} value={kind.id}>
            {headline(kind.title)}
          </option>
        ))}
      </select>
    </div>
  )
}
