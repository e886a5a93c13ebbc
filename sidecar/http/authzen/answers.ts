/** Decisions in the form of AuthZEN: true or false, and in the context what explains it. */

import type { Decision } from '../../../engine/index.ts'
import type { VerifiedToken } from '../../authority/authority.ts'
import type { HttpError } from '../../base/http/exchange.ts'
import { reasonOfFailure } from '../../proxies/denial-answer.ts'
import { reusableForMs } from '../../usecases/check.ts'
import type { CheckOutcome } from '../../usecases/questions.ts'

export interface Answer {
  readonly decision: boolean
  readonly context: object
}

/** The rules that decided. */
type Rules = Pick<Decision, 'digest' | 'strict' | 'rulesDigest'>

/** Why nothing can be permitted that no matrix knows of. */
const UNKNOWN = {
  UNKNOWN_RESOURCE_TYPE: 'expected a resource of the type `api`',
  UNKNOWN_ACTION: 'expected the action `call`',
  UNKNOWN_SUBJECT_TYPE: 'expected a subject of the type `token` or `credential`',
} as const

export function unknownAnswer(reason: keyof typeof UNKNOWN, rules: Rules): Answer {
  return { decision: false, context: { reason, message: UNKNOWN[reason], ...rulesContext(rules) } }
}

export function claimsAnswer(decision: Decision, cacheForMs: number): Answer {
  return answer(decision, { verified: false, cache_for_ms: cacheForMs })
}

/** Where the credential itself is at fault, the answer may not be reused: the next one may be another. */
export function credentialsAnswer(
  { decision, token, verified }: CheckOutcome,
  cacheForMs: number,
  nowMs: number,
): Answer {
  return answer(decision, {
    verified,
    ...(token !== undefined && {
      token: tokenContext(token),
      ...(verified && { cache_for_ms: reusableForMs(token, cacheForMs, nowMs) }),
    }),
  })
}

/** One evaluation of several that has no answer. */
export function errorAnswer(error: unknown, { status, message }: HttpError): Answer {
  return { decision: false, context: { error: { status, reason: reasonOfFailure(error), message } } }
}

export function rulesContext({ digest, strict, rulesDigest }: Rules): object {
  return { digest, strict, rules_digest: rulesDigest }
}

function answer(decision: Decision, more: object): Answer {
  const { allowed, reason, message, header, accepted, conflicts, advice } = decision
  return {
    decision: allowed,
    context: {
      ...{ reason, message, header, accepted },
      conflicts: conflicts.map(({ id }) => id),
      advice,
      ...rulesContext(decision),
      ...more,
    },
  }
}

/** With the names of `VerifiedToken` in the contract. */
function tokenContext(token: VerifiedToken): object {
  const { kind, scope, subject, tokenId, issuedAtMs, expiresAtMs, roles, authority } = token
  const { id, name, type } = subject
  return {
    kind,
    scope,
    subject: { id, name, type },
    token_id: tokenId,
    issued_at: new Date(issuedAtMs),
    ...(expiresAtMs !== undefined && { expires_at: new Date(expiresAtMs) }),
    ...(roles !== undefined && { roles }),
    ...(authority !== undefined && { authority }),
  }
}
