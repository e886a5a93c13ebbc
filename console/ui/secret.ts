/**
 * The secret of a link that a user was given. It is taken out of the address before anything is asked, and
 * is read once.
 */
import { secretOf } from '../model/link.ts'

let kept: string | undefined

/** Takes the secret out of the address, wherever it leads. */
export function hideSecret(): void {
  const found = secretOf(location.hash)
  if (found === undefined) return
  kept = found.secret
  history.replaceState(null, '', found.without)
}

export function takeSecret(): string | undefined {
  const secret = kept
  kept = undefined
  return secret
}
