/** Credentials that the configuration holds, so that a job needs no secret of its own. */
import type { PasswordRequester } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'

/** A credential that the sidecar's configuration holds, resolved. */
export interface Profile {
  readonly requester: PasswordRequester
  readonly staticToken: Secret | undefined
}

/**
 * Where logins by profile come from, for counting failed logins. Nobody who guesses passwords can come from there, so
 * guessing never blocks a job.
 */
export const PROFILES_ORIGIN = 'profiles of this sidecar'

/**
 * The profile, if the caller is bound to it.
 *
 * @throws CallError; a profile that does not exist and one that is not the caller's get the same answer
 */
export function profileFor(
  profiles: ReadonlyMap<string, Profile>,
  name: string,
  caller: Caller | undefined,
): Profile {
  if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'issuing by profile' })
  const profile = profiles.get(name)
  if (profile === undefined || !caller.profiles.has(name))
    throw callError('PROFILE_NOT_ALLOWED', { caller: caller.name })
  return profile
}
