/**
 * Dialogs over the page that calls wait for: logging in again, and confirming that it is the same person.
 * Typed texts stay below.
 */
import { texts } from '../texts/en/panel.ts'
import { usePanel, usePanelState } from './context.tsx'
import { whoOf } from './model/panel.ts'
import type { Confirmation, Session } from './model/wire.ts'
import { Dialog } from './parts/dialog.tsx'
import { Form, needed, TextField, useForm } from './parts/form.tsx'
import { LoginForm, TokenForm } from './parts/login-forms.tsx'
import { PasskeyButton } from './parts/passkey-button.tsx'
import { CodeField, codeOf, useSecondFactor } from './parts/second-factor.tsx'

export function SessionDialogs() {
  const { panel } = usePanel()
  const { dialog, session } = usePanelState()
  const who = whoOf(session)
  if (dialog === 'login')
    return (
      <Dialog title={texts.again.title} close={panel.giveUp}>
        <p class="dialog-about">{texts.again.about}</p>
        <div class="login-forms">
          <LoginForm as={who?.type ?? 'user'} who={who} />
        </div>
      </Dialog>
    )
  if (dialog === 'confirm' && session?.signedIn)
    return (
      <Dialog title={texts.confirm.title} close={panel.giveUp}>
        <p class="dialog-about">{texts.confirm.about[session.who.type]}</p>
        <ConfirmForm session={session} />
      </Dialog>
    )
  return null
}

function ConfirmForm({ session: { who, passkeys } }: { readonly session: Session }) {
  const { panel, api } = usePanel()
  const confirm = (confirmation: Confirmation) => panel.confirm(() => api.session.confirm(confirmation))
  if (who.type === 'operator')
    return (
      <TokenForm button={texts.confirm.button} send={(token) => confirm({ token })} cancel={panel.giveUp} />
    )
  return <ConfirmUser name={who.name} passkeys={passkeys} confirm={confirm} />
}

interface ConfirmUserProps {
  readonly name: string
  readonly passkeys: boolean
  readonly confirm: (confirmation: Confirmation) => Promise<void>
}

function ConfirmUser({ name, passkeys, confirm }: ConfirmUserProps) {
  const { panel } = usePanel()
  const { needsCode, checkCode, attempt } = useSecondFactor()
  const form = useForm({ password: '', code: '' }, ({ password, code }) => ({
    password: needed(password, texts.login.password),
    code: checkCode(code),
  }))
  return (
    <>
      <Form
        form={form}
        submit={({ password, code }) =>
          attempt(() => confirm({ password, ...codeOf(code) }), texts.confirm.failed)
        }
        button={texts.confirm.button}
        cancel={panel.giveUp}
      >
        <input type="text" name="username" autocomplete="username" value={name} readOnly hidden />
        <TextField
          form={form}
          name="password"
          label={texts.login.password}
          type="password"
          autocomplete="current-password"
          autofocus
        />
        {needsCode && <CodeField form={form} />}
      </Form>
      {passkeys && <PasskeyButton text={texts.confirm.passkey} use={(passkey) => confirm({ passkey })} />}
    </>
  )
}
