/** Credentials that the configuration holds, so that a job needs no secret. */
import type { Scope, TokenKind } from '../../engine/index.ts'
import type { IssuedToken, Origin } from '../authority/authority.ts'
import { callError } from '../base/call-error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Secret } from '../base/secret.ts'
import type { Caller } from './callers.ts'

/** A credential that the sidecar's configuration holds, and the tokens that it obtains. */
export interface Profile {
  readonly name: string
  readonly account: string
  readonly staticToken: Secret | undefined
  /** The only projects that it gives tokens for; `undefined`: any scope. */
  readonly projects: ReadonlySet<string> | undefined
  /**
   * A token of the profile's user for a scope. It may have been issued earlier.
   *
   * @param rejected a token that an API has just refused: it is replaced, if it is the one that would be
   *   given
   * @throws CallError where the scope is not the profile's, or the login fails
   */
  issue(kind: TokenKind, scope: Scope, rejected?: Secret): MaybePromise<IssuedToken>
}

/** The profiles of the configuration, as they are now. */
export type Profiles = Pick<ReadonlyMap<string, Profile>, 'get'>

/**
 * Where logins by profile come from. They have a separate lane, so guesses cannot keep a job from its token.
 */
export const PROFILES_ORIGIN: Origin = { source: { type: 'profiles' }, restricted: false }

/** The part of a caller that counts: no other right does. */
export type ProfileCaller = Pick<Caller, 'name' | 'profiles'>

/**
 * The profile, if the caller is bound to it.
 *
 * @throws CallError; a profile that does not exist and one that is not the caller's get the same answer
 */
export function profileFor(profiles: Profiles, name: string, caller: ProfileCaller | undefined): Profile {
  if (caller === undefined) throw callError('CALLER_TOKEN_MISSING', { action: 'issuing by profile' })
  const profile = profiles.get(name)
  if (profile === undefined || !caller.profiles.has(name))
    throw callError('PROFILE_NOT_ALLOWED', { caller: caller.name })
  return profile
}
