/**
 * What the server behind a proxy is told about the sender of a request, as headers: only facts that an authority vouches for. The same
 * names that a client sent itself are taken out.
 */
import type { Decision } from '../../engine/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import type { Headers } from './denial.ts'

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

/** Names the exact rules that let the request pass. */
const RULES_HEADER = headerOf('rules_digest')

/** Every header that says something of the sender, set or not. */
export const IDENTITY_HEADERS: readonly string[] = [...FACTS.map(({ header }) => header), RULES_HEADER]

/** A header with such a name says something of the sender, in whatever way it is written. */
const IDENTITY = /^x[-_]portcullis[-_]/i

/** The headers for the server behind the proxy. None of them is empty: proxies drop such headers. */
export function identityHeaders(
  token: VerifiedToken,
  { rulesDigest }: Pick<Decision, 'rulesDigest'>,
): Headers {
  const headers: [string, string][] = [[RULES_HEADER, rulesDigest]]
  for (const { header, of } of FACTS) {
    const value = of(token)
    if (value !== undefined && value !== '') headers.push([header, headerValue(value)])
  }
  return headers
}

/**
 * The headers that must not reach the server behind the proxy. Those that carry an identity or a replaced credential are named whether
 * they came or not, because a proxy may show only some of the headers.
 *
 * @param came names of the headers that the client sent
 * @param set headers that the proxy overwrites, which may not be removed too
 * @param credentialHeaders headers in which credentials are sent, where the client's is replaced
 */
export function removedHeaders(
  came: Iterable<string>,
  set: Headers,
  credentialHeaders: readonly string[] = [],
): string[] {
  const replaced = new Set(credentialHeaders.map(canonical))
  const removed = new Set([...IDENTITY_HEADERS, ...replaced])
  for (const name of came)
    if (IDENTITY.test(name) || (replaced.size > 0 && replaced.has(canonical(name))))
      removed.add(name.toLowerCase())
  for (const [name] of set) removed.delete(name)
  return [...removed]
}

/** Many servers take `X_Auth_Token` for `X-Auth-Token`, because CGI writes both in the same way. */
function canonical(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

function fact(name: string, of: Fact['of']): Fact {
  return { name, header: headerOf(name), of }
}

function headerOf(name: string): string {
  return `x-portcullis-${name.replaceAll('_', '-')}`
}

/** Visible ASCII without the comma, which separates values, and without the percent sign, which begins an encoded byte. */
const PLAIN = /^[\x21-\x24\x26-\x2b\x2d-\x7e]*$/

/** Names of users may have any letters. Such a value is percent-encoded as a whole, as `encodeURIComponent` does. */
function headerValue(value: string): string {
  return PLAIN.test(value) ? value : encodeURIComponent(value.toWellFormed())
}
