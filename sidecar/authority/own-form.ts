/**
 * What a token of the embedded authority looks like, behind the prefix that the matrix states for its kind.
 */
import type { TokenKind } from '../../engine/index.ts'
import { looksLikeIamToken } from './iam-token.ts'
import { looksLikeStaticToken } from './static-token.ts'

type Kinds = ReadonlyMap<string, TokenKind>

/** Made once for each matrix. Most have none. */
const PREFIXES = new WeakMap<Kinds, readonly string[]>()

/**
 * The token itself. A text that is no token of the embedded authority behind a prefix stays as it is: an
 * upstream writes the prefix of its tokens itself.
 */
export function withoutPrefix(value: string, kinds: Kinds): string {
  let prefixes = PREFIXES.get(kinds)
  if (prefixes === undefined) {
    prefixes = Array.from(kinds.values(), ({ prefix }) => prefix).filter((prefix) => prefix !== undefined)
    PREFIXES.set(kinds, prefixes)
  }
  for (const prefix of prefixes) {
    if (!value.startsWith(prefix)) continue
    const own = value.slice(prefix.length)
    if (looksLikeIamToken(own) || looksLikeStaticToken(own)) return own
  }
  return value
}

/** How tokens that look like this one are obtained, as `Verifier.recognize` says it. */
export function obtainedBy(value: string, kinds: Kinds): TokenKind['obtained']['by'] | undefined {
  const own = withoutPrefix(value, kinds)
  if (looksLikeStaticToken(own)) return 'control_panel'
  return looksLikeIamToken(own) ? 'issue' : undefined
}
