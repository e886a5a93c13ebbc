/** A token as people copy it: alone, or behind the header and the scheme that it was sent with. */

/** The expected form of such a text, for an error that does not show it. */
export const COPIED_TOKEN_EXPECTED = 'one token, alone or behind its header and its scheme'

/** No token has white space or a comma. */
const COPIED =
  /^(?:[A-Za-z][A-Za-z0-9-]*:[ \t]*)?(?:[A-Za-z][A-Za-z0-9-]*[ \t]+)?(?<token>[\x21-\x2b\x2d-\x7e]+)$/

/**
 * The possible tokens, the likeliest first: a token can have a colon, and look like a header with a value.
 * Empty: the text is not one token.
 */
export function copiedTokens(text: string): readonly string[] {
  const copied = text.trim()
  const token = COPIED.exec(copied)?.groups?.token
  if (token === undefined) return []
  return /[ \t]/.test(copied) || token === copied ? [token] : [copied, token]
}
