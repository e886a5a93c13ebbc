/**
 * The message of an error for a person. The sidecar's own message is for people already; some need words of
 * the page.
 */
import { texts } from '../../texts/en/panel.ts'
import { type ApiError, NOTHING_CHANGED, UNREACHABLE } from './errors.ts'

/** @param message in place of the sidecar's */
export function messageOf(error: ApiError, message: string = error.message): string {
  const { reason, status, retryAfterMs, metadata } = error
  if (reason === UNREACHABLE)
    return metadata.changed === NOTHING_CHANGED.changed ? texts.errors.noAnswer : texts.errors.unreachable
  if (reason === 'LOGIN_THROTTLED' && retryAfterMs !== undefined)
    return texts.errors.throttled(Math.ceil(retryAfterMs / 1_000))
  if (status === 503 || status === 429) return sentence(message) || texts.errors.busy
  if (reason === 'INTERNAL') return texts.errors.internal
  if (status === 403) return sentence(message) || texts.errors.notAllowed
  return sentence(message) || texts.form.failed
}

/** The sidecar's messages begin with a small letter and end without a period. */
function sentence(message: string): string {
  if (message === '') return ''
  const begun = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
