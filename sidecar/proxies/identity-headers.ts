/**
 * Headers about the sender of a request, for the server behind a proxy: only facts that an authority
 * verifies. The same names that a client sent itself are taken out.
 */

import { RULES_HEADER } from '../../engine/denial.ts'
import { credentialHeaders, type Decision, type Engine } from '../../engine/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import { PATH_OVERRIDES } from '../rules/routes/overrides.ts'
import { FORWARDED_FOR } from './client-address.ts'
import type { Headers } from './denial-answer.ts'

/** Something that is known of the holder of a token. */
export interface Fact {
  readonly name: string
  /** The header that carries it. */
  readonly header: string
  /** `undefined` or empty: the token has no such fact. */
  readonly of: (token: VerifiedToken) => string | undefined
}

export const FACTS: readonly Fact[] = [
  fact('kind', ({ kind }) => kind),
  fact('account', ({ scope }) => scope.account),
  fact('project', ({ scope }) => scope.project),
  fact('user_id', ({ subject }) => subject.id),
  fact('user_name', ({ subject }) => subject.name),
  fact('user_type', ({ subject }) => subject.type),
  fact('token_id', ({ tokenId }) => tokenId),
  // An id of a user is unique within its authority alone.
  fact('authority', ({ authority }) => authority),
]

/** Headers that it lists do not go beyond the next proxy. */
const CONNECTION = 'connection'

const LISTED = /(?:^|,)[ \t]*x[-_]portcullis[-_]/i

/** Whether the client orders proxies behind this one to remove identity headers. */
export function listsIdentity(came: Headers): boolean {
  return came.some(([name, value]) => name === CONNECTION && LISTED.test(value))
}

/** Every header that says something of the sender, set or not. */
const IDENTITY_HEADERS: readonly string[] = [...FACTS.map(({ header }) => header), RULES_HEADER]

/**
 * Why a request would not pass that passes in observe mode. Every answer sets it or has it removed, so that a
 * client cannot say it.
 */
export const WOULD_DENY_HEADER = 'x-portcullis-would-deny'

/** Those, and that one. */
export const OWN_HEADERS: readonly string[] = [...IDENTITY_HEADERS, WOULD_DENY_HEADER]

const IDENTITY = /^x[-_]portcullis[-_]/i

/**
 * The headers for the server behind the proxy. None of them is empty: proxies drop such headers.
 *
 * @param token `undefined`: the API needs none, and none was sent
 */
export function identityHeaders(
  token: VerifiedToken | undefined,
  { rulesDigest }: Pick<Decision, 'rulesDigest'>,
): Headers {
  const headers: [string, string][] = [[RULES_HEADER, rulesDigest]]
  for (const { header, of } of FACTS) {
    const value = token && of(token)
    if (value !== undefined && value !== '') headers.push([header, headerValue(value)])
  }
  return headers
}

/**
 * The same, empty where the token has no such fact: some proxies leave what the client sent where the answer
 * has no header of that name.
 */
export function everyIdentityHeader(
  token: VerifiedToken | undefined,
  { rulesDigest }: Pick<Decision, 'rulesDigest'>,
): Headers {
  const headers: [string, string][] = [[RULES_HEADER, rulesDigest]]
  for (const { header, of } of FACTS) headers.push([header, headerValue((token && of(token)) ?? '')])
  headers.push([WOULD_DENY_HEADER, ''])
  return headers
}

/** The headers for a request that passes in observe mode and would be denied. They do not name its sender. */
export function wouldDenyHeaders(reason: string): Headers {
  return [...IDENTITY_HEADERS.map((name) => [name, ''] as const), [WOULD_DENY_HEADER, reason]]
}

/**
 * The headers that must not reach the server behind the proxy. Those that carry an identity or a replaced
 * credential, or override the path that was asked about, are named whether they came or not, because a proxy
 * may show only some of the headers.
 *
 * @param came headers that the client sent
 * @param set headers that the proxy overwrites, which may not be removed too
 * @param carriers headers in which credentials are sent, where the client's is replaced
 */
export function removedHeaders(came: Headers, set: Headers, carriers?: ReadonlySet<string>): string[] {
  const removed = OWN_HEADERS.filter((name) => !isAmong(set, name))
  removed.push(...PATH_OVERRIDES)
  for (const name of carriers ?? []) if (!isAmong(set, name)) removed.push(name)
  for (const [written] of came) {
    if (!isIdentity(written) && carriers?.has(canonical(written)) !== true) continue
    const name = written.toLowerCase()
    if (!removed.includes(name) && !isAmong(set, name)) removed.push(name)
  }
  return removed
}

/** A handful, for which a set would cost more than it saves. */
function isAmong(headers: Headers, name: string): boolean {
  return headers.some(([each]) => each === name)
}

/** The headers of a request that matter to an engine. */
export interface Relevance {
  /** The headers in which it looks for credentials, in lower case. */
  readonly carriers: ReadonlySet<string>
  /**
   * Whether what becomes of a request can depend on a header of that name. Most headers of a request have
   * other names.
   */
  isRelevant(name: string): boolean
  /** Those names, but for the identity headers (`isIdentity`), in lower case and with hyphens. */
  readonly names: ReadonlySet<string>
}

const RELEVANCE = new WeakMap<Engine, Relevance>()

export function relevanceTo(engine: Engine): Relevance {
  let relevance = RELEVANCE.get(engine)
  // Survives: `relevance === undefined` → `true`. It only spares to find out the same again for each request.
  if (relevance === undefined) {
    const carriers = credentialHeaders(engine.tokenKinds.values())
    const names = new Set([...carriers, FORWARDED_FOR, CONNECTION])
    relevance = { carriers, names, isRelevant: (name) => names.has(canonical(name)) || isIdentity(name) }
    // Survives: `RELEVANCE.set(engine, relevance)` → `;`. It only spares to find out the same again for each
    // request.
    RELEVANCE.set(engine, relevance)
  }
  return relevance
}

/** Whether a header of that name says something of the sender, in whatever way it is written. */
export function isIdentity(name: string): boolean {
  // Survives: `(name.charCodeAt(2) | 0x20) === LETTER_P` → `true`. It only spares the expression, which no
  // other name fits.
  return (name.charCodeAt(2) | 0x20) === LETTER_P && IDENTITY.test(name)
}

const LETTER_P = 'p'.charCodeAt(0)

/** Many servers take `X_Auth_Token` for `X-Auth-Token`, because CGI writes both in the same way. */
function canonical(name: string): string {
  const lower = name.toLowerCase()
  // Survives: `'_'` → `""`. It only spares to replace underscores where there are none.
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower
}

function fact(name: string, of: Fact['of']): Fact {
  return { name, header: headerOf(name), of }
}

function headerOf(name: string): string {
  return `x-portcullis-${name.replaceAll('_', '-')}`
}

/**
 * Visible ASCII without the comma, which separates values, and without the percent sign, which begins an
 * encoded byte.
 */
const PLAIN = /^[\x21-\x24\x26-\x2b\x2d-\x7e]*$/

/**
 * Names of users may have any letters. Such a value is percent-encoded as a whole, as `encodeURIComponent`
 * does.
 */
function headerValue(value: string): string {
  return PLAIN.test(value) ? value : encodeURIComponent(value.toWellFormed())
}
