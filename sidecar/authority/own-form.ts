/** The form of a token of the embedded authority, behind the prefix that the matrix states for its kind. */
import type { TokenKind } from '../../engine/index.ts'
import { looksLikeIamToken, ownHeaderAt } from './iam-token.ts'
import { isWellFormedStaticToken, looksLikeStaticToken, STATIC_TOKEN_LENGTH } from './static-token.ts'

export type Kinds = ReadonlyMap<string, TokenKind>

/** Made once for each matrix. Most have none. */
const PREFIXES = new WeakMap<Kinds, readonly string[]>()

/**
 * The token itself. A text that is not a token of the embedded authority behind a prefix stays as it is: an
 * upstream writes the prefix of its tokens itself.
 */
export function withoutPrefix(value: string, kinds: Kinds): string {
  let prefixes = PREFIXES.get(kinds)
  // Survives: `prefixes === undefined` → `true`. It only spares to find the same prefixes again for each
  // token.
  if (prefixes === undefined) {
    prefixes = Array.from(kinds.values(), ({ prefix }) => prefix).filter((prefix) => prefix !== undefined)
    // Survives: `PREFIXES.set(kinds, prefixes)` → `;`. It only spares to find the same prefixes again for
    // each token.
    PREFIXES.set(kinds, prefixes)
  }
  for (const prefix of prefixes) {
    if (!value.startsWith(prefix)) continue
    const own = value.slice(prefix.length)
    if (looksLikeIamToken(own) || looksLikeStaticToken(own)) return own
  }
  return value
}

/** The prefixes that a matrix can have. Its schema has the same form. */
const PREFIX = /^[A-Za-z0-9_~.-]{0,64}$/

/**
 * The token itself, behind any prefix: one of a matrix that was in force when it was issued, or when it was
 * copied. `undefined`: it is not a token of the embedded authority.
 */
export function ownTokenIn(value: string): string | undefined {
  const own = value.slice(-STATIC_TOKEN_LENGTH)
  const at = isWellFormedStaticToken(own) ? value.length - own.length : ownHeaderAt(value)
  return at >= 0 && PREFIX.test(value.slice(0, at)) ? value.slice(at) : undefined
}

/**
 * Whether a token is written as those of its kind: behind the prefix of that, and of no other. A kind that
 * the matrix does not have does not prove it.
 *
 * @param own the token itself, as it was found behind a prefix
 */
export function isWrittenAs(kind: TokenKind | undefined, value: string, own: string): boolean {
  if (kind === undefined) return true
  const { prefix = '' } = kind
  return value.length === prefix.length + own.length && value.startsWith(prefix)
}

/** How tokens that look like this one are obtained, as `Verifier.recognize` says it. */
export function obtainedBy(value: string, kinds: Kinds): TokenKind['obtained']['by'] | undefined {
  const own = withoutPrefix(value, kinds)
  if (looksLikeStaticToken(own)) return 'control_panel'
  return looksLikeIamToken(own) ? 'issue' : undefined
}
