/** How somebody logs in: as a user with a password, a code or a passkey, or as an operator with a caller token. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { Choice } from '../../ui/parts.tsx'
import { usePanel, usePanelState } from '../context.tsx'
import { apiErrorOf } from '../model/errors.ts'
import type { Who } from '../model/wire.ts'
import { FieldError, Form, needed, TextField, useForm } from './form.tsx'
import { PasskeyButton } from './passkey-button.tsx'

interface LoginFormsProps {
  /** Who was logged in before: they need not say who they are. */
  readonly who?: Who | undefined
}

export function LoginForms({ who }: LoginFormsProps) {
  const [as, setAs] = useState<'user' | 'operator'>(who?.type ?? 'user')
  return (
    <div class="login-forms">
      {who === undefined && (
        <Choice
          label={texts.login.who}
          options={(['user', 'operator'] as const).map((value) => ({ value, text: texts.login[value] }))}
          chosen={as}
          choose={setAs}
        />
      )}
      {as === 'user' ? <UserForm who={who} /> : <OperatorForm />}
    </div>
  )
}

interface Typed {
  readonly account: string
  readonly name: string
  readonly password: string
  readonly code: string
}

function UserForm({ who }: LoginFormsProps) {
  const { panel, api } = usePanel()
  const { session } = usePanelState()
  const [needsCode, setNeedsCode] = useState(false)
  const known = who?.type === 'user' ? who : undefined
  const form = useForm(
    { account: known?.account ?? '', name: known?.name ?? '', password: '', code: '' },
    ({ account, name, password, code }) => ({
      account: needed(account, texts.login.account),
      name: needed(name, texts.login.name),
      password: needed(password, texts.login.password),
      code: needsCode ? needed(code, texts.login.code) : undefined,
    }),
  )
  const submit = async ({ account, name, password, code }: Typed) => {
    try {
      const digits = code.replaceAll(/\s/g, '')
      const user = { account: account.trim(), user: name.trim(), password }
      panel.accept(await api.session.logIn({ ...user, ...(digits !== '' && { code: digits }) }))
    } catch (error) {
      const { reason, metadata } = apiErrorOf(error)
      if (reason === 'SECOND_FACTOR_REQUIRED') {
        if (!metadata.ways?.includes('code')) throw new FieldError('password', texts.login.needsPasskey)
        setNeedsCode(true)
        throw new FieldError('code', texts.login.needsCode)
      }
      if (reason === 'CODE_WRONG') throw new FieldError('code', texts.login.codeWrong)
      if (reason === 'LOGIN_FAILED') throw new FieldError('password', texts.login.failed)
      throw error
    }
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
        {needsCode && (
          <TextField
            form={form}
            name="code"
            label={texts.login.code}
            hint={texts.login.codeHint}
            autocomplete="one-time-code"
            inputMode="numeric"
            mono
          />
        )}
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
  const form = useForm({ token: '' }, ({ token }) => ({ token: needed(token, texts.login.token) }))
  const submit = async ({ token }: { readonly token: string }) => {
    try {
      panel.accept(await api.session.operator(token.trim()))
    } catch (error) {
      if (apiErrorOf(error).reason === 'CALLER_TOKEN_INVALID')
        throw new FieldError('token', texts.login.tokenInvalid)
      throw error
    }
  }
  return (
    <Form form={form} submit={submit} button={texts.login.button}>
      <TextField
        form={form}
        name="token"
        label={texts.login.token}
        hint={texts.login.tokenHint}
        type="password"
        autofocus
        mono
      />
    </Form>
  )
}
