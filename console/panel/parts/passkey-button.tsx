/** The button for a passkey, in place of a password. */
import { useState } from 'preact/hooks'
import { texts } from '../../texts/en/panel.ts'
import { useApi } from '../context.tsx'
import { type ApiError, apiErrorOf } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'
import { askPasskey, CANCELLED } from './passkey.ts'

interface PasskeyButtonProps {
  readonly text: string
  readonly use: (response: unknown) => Promise<void>
}

/** Asks the browser for a passkey. */
export function PasskeyButton({ text, use }: PasskeyButtonProps) {
  const api = useApi()
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const act = async () => {
    setBusy(true)
    setProblem('')
    try {
      const { options } = await api.session.passkeyChallenge()
      await use(await askPasskey(options))
    } catch (error) {
      setProblem(passkeyProblem(apiErrorOf(error)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="passkey">
      <p class="or">
        <span>{texts.login.or}</span>
      </p>
      <button type="button" disabled={busy} onClick={act}>
        {text}
      </button>
      {problem !== '' && (
        <p class="fault" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

function passkeyProblem(error: ApiError): string {
  if (error.reason === CANCELLED) return texts.login.passkeyCancelled
  if (error.reason === 'PASSKEY_REFUSED') return texts.login.passkeyRefused
  return messageOf(error)
}
