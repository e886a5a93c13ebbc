/** Dialogs over the page that calls wait for: logging in again, and confirming that it is the same person. What was typed stays below. */
import { useState } from 'preact/hooks'
import { texts } from '../texts/en/panel.ts'
import { usePanel, usePanelState } from './context.tsx'
import { apiErrorOf } from './model/errors.ts'
import { whoOf } from './model/panel.ts'
import type { Confirmation, Session, Who } from './model/wire.ts'
import { Dialog } from './parts/dialog.tsx'
import { FieldError, Form, needed, TextField, useForm } from './parts/form.tsx'
import { LoginForms } from './parts/login-forms.tsx'
import { PasskeyButton } from './parts/passkey-button.tsx'

export function SessionDialogs() {
  const { panel } = usePanel()
  const { dialog, session } = usePanelState()
  const who = whoOf(session)
  if (dialog === 'login')
    return (
      <Dialog title={texts.again.title} close={panel.giveUp}>
        <p class="dialog-about">{texts.again.about}</p>
        <LoginForms who={who} />
      </Dialog>
    )
  if (dialog === 'confirm' && session?.signedIn)
    return (
      <Dialog title={texts.confirm.title} close={panel.giveUp}>
        <p class="dialog-about">{texts.confirm.about}</p>
        <ConfirmForm session={session} />
      </Dialog>
    )
  return null
}

function ConfirmForm({ session: { who, passkeys } }: { readonly session: Session }) {
  return who.type === 'operator' ? <ConfirmOperator /> : <ConfirmUser who={who} passkeys={passkeys} />
}

function useConfirm(): (confirmation: Confirmation) => Promise<void> {
  const { panel, api } = usePanel()
  return async (confirmation) => panel.accept(await api.session.confirm(confirmation))
}

function ConfirmOperator() {
  const confirm = useConfirm()
  const { panel } = usePanel()
  const form = useForm({ token: '' }, ({ token }) => ({ token: needed(token, texts.login.token) }))
  const submit = async ({ token }: { readonly token: string }) => {
    try {
      await confirm({ token: token.trim() })
    } catch (error) {
      if (apiErrorOf(error).reason === 'CALLER_TOKEN_INVALID')
        throw new FieldError('token', texts.login.tokenInvalid)
      throw error
    }
  }
  return (
    <Form form={form} submit={submit} button={texts.confirm.button} cancel={panel.giveUp}>
      <TextField form={form} name="token" label={texts.login.token} type="password" autofocus mono />
    </Form>
  )
}

function ConfirmUser({ who, passkeys }: { readonly who: Who; readonly passkeys: boolean }) {
  const confirm = useConfirm()
  const { panel } = usePanel()
  const [needsCode, setNeedsCode] = useState(false)
  const form = useForm({ password: '', code: '' }, ({ password, code }) => ({
    password: needed(password, texts.login.password),
    code: needsCode ? needed(code, texts.login.code) : undefined,
  }))
  const submit = async ({ password, code }: { readonly password: string; readonly code: string }) => {
    try {
      await confirm({ password, ...(code !== '' && { code: code.replaceAll(' ', '') }) })
    } catch (error) {
      const { reason, metadata } = apiErrorOf(error)
      if (reason === 'SECOND_FACTOR_REQUIRED') {
        if (!metadata.ways?.includes('code')) throw new FieldError('password', texts.login.needsPasskey)
        setNeedsCode(true)
        throw new FieldError('code', texts.login.needsCode)
      }
      if (reason === 'CODE_WRONG') throw new FieldError('code', texts.login.codeWrong)
      if (reason === 'LOGIN_FAILED') throw new FieldError('password', texts.confirm.failed)
      throw error
    }
  }
  return (
    <>
      <Form form={form} submit={submit} button={texts.confirm.button} cancel={panel.giveUp}>
        <input type="text" name="username" autocomplete="username" value={who.name} readOnly hidden />
        <TextField
          form={form}
          name="password"
          label={texts.login.password}
          type="password"
          autocomplete="current-password"
          autofocus
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
      {passkeys && (
        <PasskeyButton text={texts.confirm.passkey} use={(response) => confirm({ passkey: response })} />
      )}
    </>
  )
}
