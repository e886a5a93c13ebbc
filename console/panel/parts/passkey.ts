/** Passkeys: what the browser does with them. Its library is loaded with the first one. */
import { ApiError } from '../model/errors.ts'

/** The passkey dialog of the browser was closed, or its time has passed. */
export const CANCELLED = 'PASSKEY_CANCELLED'

/** The authenticator has one of this user already. */
export const KNOWN = 'PASSKEY_KNOWN'

/** Answers a challenge with a passkey. @param options as the sidecar sent them */
export async function askPasskey(options: unknown): Promise<unknown> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return asked(() => startAuthentication({ optionsJSON: options as never }))
}

/** Makes a passkey. */
export async function makePasskey(options: unknown): Promise<unknown> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  return asked(() => startRegistration({ optionsJSON: options as never }))
}

async function asked(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'NotAllowedError' || name === 'AbortError') throw new ApiError(CANCELLED, '')
    if (name === 'InvalidStateError') throw new ApiError(KNOWN, '')
    throw new ApiError('PASSKEY_REFUSED', error instanceof Error ? error.message : '')
  }
}
