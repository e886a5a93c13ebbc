/**
 * The view in place of the explorer where the sidecar shows its matrix to its callers and users alone: a
 * login.
 */
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { refusalOf } from '../model/refusal.ts'
import { texts } from '../texts/en/locked.ts'
import type { LockedProps, Refused } from './use-rules.ts'

/** The view of the page after this answer. Rejects where it is not a refusal. */
export async function refusedBy(response: Response): Promise<Refused> {
  return { ...refusalOf(response.status, await response.json()), Locked }
}

function Locked({ refusal, panel, again }: LockedProps) {
  const { needsCredential, message, controlPanel } = refusal
  if (!needsCredential)
    return (
      <div class="task">
        <h1>{texts.refused}</h1>
        <p role="alert">{message}</p>
      </div>
    )
  if (controlPanel) return panel ? <panel.Login about={texts.logIn} /> : null
  return (
    <div class="task">
      <h1>{texts.title}</h1>
      <p>{texts.about}</p>
      <TokenForm message={message} again={again} />
    </div>
  )
}

/** The token is in the memory of the page alone: no storage, no address and no password manager has it. */
function TokenForm({ message, again }: { readonly message: string } & Pick<LockedProps, 'again'>) {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState('')
  const [tries, setTries] = useState(0)
  const [busy, setBusy] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  // At first, and after each refusal.
  useLayoutEffect(() => input.current?.focus(), [tries])
  const onSubmit = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    setProblem('')
    setBusy(true)
    const failed =
      token.trim() === ''
        ? texts.missing
        : await again(token.trim()).then(
            () => '',
            () => texts.failed,
          )
    setProblem(failed)
    setBusy(false)
    setTries(tries + 1)
  }
  // The message about a missing token is not news.
  const fault = problem || (tries > 0 && !busy ? message : '')
  return (
    <form noValidate onSubmit={onSubmit} aria-busy={busy}>
      {fault !== '' && <p role="alert">{fault}</p>}
      <label for={id}>{texts.token}</label>
      <input
        id={id}
        ref={input}
        type="password"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={token}
        aria-invalid={fault !== ''}
        aria-describedby={`${id}-hint`}
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class="hint">
        {texts.hint}
      </p>
      <button type="submit">{busy ? texts.busy : texts.button}</button>
    </form>
  )
}
