/** How to log in: as a user with a password, a code or a passkey, or as an operator with a caller token. */
import { texts } from '../../texts/en/panel.ts'
import { usePanel, usePanelState } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import type { Who } from '../model/wire.ts'
import { FieldError, Form, needed, TextField, useForm } from './form.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { CodeField, codeOf, useSecondFactor } from './second-factor.tsx'

interface LoginFormProps {
  readonly as: Who['type']
  /** The user who was logged in before, and need not type their name. */
  readonly who?: Who | undefined
}

export function LoginForm({ as, who }: LoginFormProps) {
  return as === 'user' ? <UserForm who={who} /> : <OperatorForm />
}

interface Typed {
  readonly account: string
  readonly name: string
  readonly password: string
  readonly code: string
}

function UserForm({ who }: Pick<LoginFormProps, 'who'>) {
  const { panel, api } = usePanel()
  const { session } = usePanelState()
  const { needsCode, checkCode, attempt } = useSecondFactor()
  const known = who?.type === 'user' ? who : undefined
  const form = useForm(
    { account: known?.account ?? '', name: known?.name ?? '', password: '', code: '' },
    ({ account, name, password, code }) => ({
      account: needed(account, texts.login.account),
      name: needed(name, texts.login.name),
      password: needed(password, texts.login.password),
      code: checkCode(code),
    }),
  )
  const submit = ({ account, name, password, code }: Typed) => {
    const login = { account: account.trim(), user: name.trim(), password, ...codeOf(code) }
    return attempt(async () => panel.accept(await api.session.logIn(login)), texts.login.failed)
  }
  return (
    <>
      <Form form={form} submit={submit} button={texts.login.button}>
        <TextField
          form={form}
          name="account"
          label={texts.login.account}
          autocomplete="organization"
          autofocus={known === undefined}
        />
        <TextField form={form} name="name" label={texts.login.name} autocomplete="username" />
        <TextField
          form={form}
          name="password"
          label={texts.login.password}
          type="password"
          autocomplete="current-password"
          autofocus={known !== undefined}
        />
        {needsCode && <CodeField form={form} />}
      </Form>
      {session?.passkeys ? (
        <PasskeyButton
          text={texts.login.passkey}
          use={async (response) => panel.accept(await api.session.passkey(response))}
        />
      ) : (
        <p class="hint">{texts.login.passkeyElsewhere}</p>
      )}
    </>
  )
}

function OperatorForm() {
  const { panel, api } = usePanel()
  return (
    <TokenForm
      hint={texts.login.tokenHint}
      button={texts.login.button}
      send={async (token) => panel.accept(await api.session.operator(token))}
    />
  )
}

interface TokenFormProps {
  readonly hint?: string
  readonly button: string
  readonly send: (token: string) => Promise<void>
  readonly cancel?: () => void
}

/** Asks for a caller token. */
export function TokenForm({ hint, button, send, cancel }: TokenFormProps) {
  const form = useForm({ token: '' }, ({ token }) => ({ token: needed(token, texts.login.token) }))
  const submit = async ({ token }: { readonly token: string }) => {
    try {
      await send(token.trim())
    } catch (error) {
      if (apiErrorOf(error).reason === 'CALLER_TOKEN_INVALID')
        throw new FieldError('token', texts.login.tokenInvalid)
      throw error
    }
  }
  return (
    <Form form={form} submit={submit} button={button} {...(cancel && { cancel })}>
      <TextField
        form={form}
        name="token"
        label={texts.login.token}
        hint={hint}
        type="password"
        autofocus
        mono
      />
    </Form>
  )
}
