/**
 * Opens an upstream: its client, its authority and the cache of tokens that it verifies. Loaded where one is
 * configured.
 */
import type { TokenKind } from '../../../engine/index.ts'
import { callError } from '../../base/call-error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Secret } from '../../base/secret.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { ConfiguredUpstream } from '../../config/profiles-config.ts'
import { kindOfScope } from '../kind-of-scope.ts'
import { IdentityClient } from './identity-client.ts'
import type { Issuer, ProfileRequester } from './profile-tokens.ts'
import type { ResilienceEvents } from './resilience.ts'
import { UpstreamAuthority } from './upstream-authority.ts'
import {
  UpstreamVerifier,
  type UpstreamVerifierEvents,
  type UpstreamVerifierOptions,
} from './upstream-verifier.ts'

/** An upstream at work. */
export interface Upstream {
  readonly authority: UpstreamAuthority
  readonly issuer: Issuer
  /** `undefined`: it only issues. */
  readonly verifier: UpstreamVerifier | undefined
  /** The token of the user who validates tokens. @throws CallError */
  ownToken(kinds: ReadonlyMap<string, TokenKind>, rejected?: Secret): MaybePromise<{ readonly value: Secret }>
}

/** A profile that can be asked for tokens. */
interface TokenGiver {
  readonly account: string
  issue(
    kind: TokenKind,
    scope: { account: string; project?: string | undefined },
    rejected?: Secret,
  ): MaybePromise<{ readonly value: Secret }>
}

export interface UpstreamSurroundings {
  /** The profile that validates, as it is now. */
  readonly profile: (name: string) => TokenGiver | undefined
  /** Whether another authority has the account: the directory, or another upstream that names it. */
  readonly hasOwner: (account: string, upstream: string) => MaybePromise<boolean>
  readonly onUnknown: UpstreamVerifierOptions['onUnknown']
  readonly events: UpstreamVerifierEvents & ResilienceEvents
  readonly now: () => number
  readonly tracer?: Tracer | undefined
}

export function openUpstream(configured: ConfiguredUpstream, surroundings: UpstreamSurroundings): Upstream {
  const { name, tokensUrl, ca, timeoutMs, verify } = configured
  const { profile, hasOwner, onUnknown, events, now, tracer } = surroundings
  const authority = new UpstreamAuthority(
    name,
    new IdentityClient({ name, tokensUrl, ca, timeoutMs, events, tracer }),
    now,
  )
  const ownToken: Upstream['ownToken'] = (kinds, rejected) => {
    const giver = verify && profile(verify.profile)
    const scope = { account: giver?.account ?? '', ...(verify?.project && { project: verify.project }) }
    const kind = kindOfScope(scope, kinds.values())
    if (giver === undefined || kind === undefined)
      throw callError('UPSTREAM_UNAVAILABLE', { upstream: name, problem: 'has no profile that validates' })
    return giver.issue(kind, scope, rejected)
  }
  return {
    authority,
    issuer: {
      id: JSON.stringify([name, tokensUrl]),
      issue: (profile: string, requester: ProfileRequester, kind, scope) =>
        authority.issue(profile, requester, kind, scope),
      isActive: () => true,
      rememberFailures: true,
    },
    verifier:
      verify &&
      new UpstreamVerifier({
        authority,
        cacheMs: verify.cacheMs,
        negativeCacheMs: verify.negativeCacheMs,
        tokenPrefixes: verify.tokenPrefixes,
        vouchesFor: (account) => {
          if (verify.accounts !== undefined) return verify.accounts.has(account)
          const owned = hasOwner(account, name)
          return owned instanceof Promise ? owned.then((is) => !is) : !owned
        },
        ownToken,
        onUnknown,
        events,
        now,
      }),
    ownToken,
  }
}
