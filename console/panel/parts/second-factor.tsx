/** The one-time code, which is asked for when the password was right, and what the sidecar says of it. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { apiErrorOf } from '../model/errors.ts'
import { FieldError, type FormState, needed, TextField, type Values } from './form.tsx'

interface SecondFactor {
  readonly needsCode: boolean
  /** The fault of the code before it is sent. */
  readonly checkCode: (code: string) => string | undefined
  /** Does the work, and throws what is wrong with a field of the form. @param failed for a wrong password */
  readonly attempt: (work: () => Promise<void>, failed: string) => Promise<void>
}

export function useSecondFactor(): SecondFactor {
  const [needsCode, setNeedsCode] = useState(false)
  return {
    needsCode,
    checkCode: (code) => (needsCode ? needed(code, texts.login.code) : undefined),
    attempt: async (work, failed) => {
      try {
        await work()
      } catch (error) {
        const { reason, metadata } = apiErrorOf(error)
        if (reason === 'LOGIN_FAILED') throw new FieldError('password', failed)
        if (reason === 'CODE_WRONG') throw new FieldError('code', texts.login.codeWrong)
        if (reason !== 'SECOND_FACTOR_REQUIRED') throw error
        if (!metadata.ways?.includes('code')) throw new FieldError('password', texts.login.needsPasskey)
        setNeedsCode(true)
        throw new FieldError('code', texts.login.needsCode)
      }
    },
  }
}

/** As the sidecar takes it: apps show the digits in groups. */
export function codeOf(typed: string): { readonly code?: string } {
  const code = typed.replaceAll(/\s/g, '')
  return code === '' ? {} : { code }
}

export function CodeField<T extends Values & { readonly code: string }>({
  form,
}: {
  readonly form: FormState<T>
}) {
  return (
    <TextField
      form={form}
      name="code"
      label={texts.login.code}
      hint={texts.login.codeHint}
      autocomplete="one-time-code"
      inputMode="numeric"
      autofocus
      mono
    />
  )
}
