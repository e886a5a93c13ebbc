/** Shared parts of the pages of a secret link: opened again without the secret, refused, or not answered. */
import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../../model/routes.ts'
import { texts } from '../../texts/en/panel.ts'
import { type ApiError, apiErrorOf, isUncertain } from '../model/errors.ts'
import { messageOf } from '../model/messages.ts'

/** Where a link with a secret stands. */
export interface SecretLink {
  /** `undefined`: the page was loaded again, and the address no longer has it. */
  readonly secret: string | undefined
  readonly problem: ApiError | undefined
  readonly failed: (error: unknown) => void
  /** Sends it again. */
  readonly again: () => void
}

/**
 * Sends the secret of the address when the page opens. It stays in the state of the page alone, for another
 * attempt.
 *
 * @param send keep it with `useCallback`
 */
export function useSecretLink(
  takeSecret: () => string | undefined,
  send: (secret: string) => Promise<void>,
): SecretLink {
  const [secret, setSecret] = useState(takeSecret)
  const [problem, setProblem] = useState<ApiError | undefined>(undefined)
  const [attempt, setAttempt] = useState(0)
  const failed = (error: unknown) => setProblem(apiErrorOf(error))
  // Another link was opened in this tab: that loads no page, and only draws this one again.
  useEffect(() => {
    const other = takeSecret()
    if (other !== undefined) setSecret(other)
  })
  useEffect(() => {
    setProblem(undefined)
    if (secret !== undefined) send(secret).catch(failed)
  }, [secret, send, attempt])
  return { secret, problem, failed, again: () => setAttempt((before) => before + 1) }
}

interface UnusableProps {
  readonly link: SecretLink
  readonly words: { readonly invalid: string; readonly invalidHint: string; readonly notNow: string }
}

/** A secret that had no answer may be as good as before: nothing is said against it. */
export function Unusable({ link: { secret, problem, again }, words }: UnusableProps) {
  const title =
    secret === undefined
      ? texts.link.lost
      : problem !== undefined && isUncertain(problem)
        ? words.notNow
        : words.invalid
  return (
    <div class="card">
      <h1>{title}</h1>
      {secret === undefined && <p>{texts.link.lostHint}</p>}
      {problem && (
        <p role="alert">{problem.reason === 'LINK_INVALID' ? words.invalidHint : messageOf(problem)}</p>
      )}
      {problem && isUncertain(problem) && (
        <button type="button" class="primary" onClick={again}>
          {texts.retry}
        </button>
      )}
      <p>
        <a href={linkTo('login')}>{texts.link.logIn}</a>
      </p>
    </div>
  )
}
