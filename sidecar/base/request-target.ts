/**
 * The target of a request, read strictly. Two servers that read a path differently are how a request leaves
 * the part of an API that a route opens. So a path that can be written in another way, or that some server
 * decodes further, is refused.
 */

export type TargetReading =
  | {
      readonly ok: true
      /** Begins with a slash. Every character of it is written in the one way there is. */
      readonly path: string
      /** With its question mark; empty: there is none. */
      readonly query: string
    }
  | { readonly ok: false; readonly expected: string }

/** The characters of a path (RFC 3986, pchar), without `;`: some servers cut off what follows it. */
const PATH = /^(?:\/|[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-Fa-f]{2})*$/

/**
 * Encoded characters that a path must not have: those that need no encoding (`%2E`, `%61`), slash and
 * backslash, control characters, and a percent sign that would begin another encoded character.
 */
const REFUSED_ENCODING =
  /%(?:2[DdEeFf]|3[0-9]|4[1-9A-Fa-f]|5[0-9Aa]|5[CcFf]|6[1-9A-Fa-f]|7[0-9AaEeFf]|[01][0-9A-Fa-f]|25[0-9A-Fa-f]{2})/

/**
 * A server that decodes a path and then cuts segments at `;`, `?` or `#`, or trims them, makes `..` of
 * `..%3B`. So dots that an encoded character of ASCII follows count as a dot segment.
 */
const DOT_SEGMENT = /\/\.{1,2}(?:\/|$|%[2-7])/

/** Visible ASCII without `#`. A query is not decoded here, and no route depends on it. */
const QUERY = /^[\x21\x22\x24-\x7e]*$/

/** @param url as the request line has it */
export function readRequestTarget(url: string): TargetReading {
  if (!url.startsWith('/'))
    return { ok: false, expected: 'a request target that begins with a slash, without scheme and host' }
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const query = mark === -1 ? '' : url.slice(mark)
  const expected = pathProblem(path)
  if (expected !== undefined) return { ok: false, expected }
  if (!QUERY.test(query)) return { ok: false, expected: 'a query of visible ASCII characters without `#`' }
  return { ok: true, path, query }
}

/** The expectation that a path breaks; `undefined`: it is. */
function pathProblem(path: string): string | undefined {
  if (!PATH.test(path))
    return "a path of letters, digits, -._~!$&'()*+,=:@ and encoded characters, without `;` and backslash"
  if (path.includes('//')) return 'a path without empty segments'
  if (DOT_SEGMENT.test(path))
    return 'a path without the segments `.` and `..`, and without those dots before an encoded character'
  // Most paths encode nothing.
  // Survives: `'%'` → `""`. It only spares two looks at a path that encodes nothing, which find nothing.
  if (path.includes('%') && REFUSED_ENCODING.test(path))
    return 'a path without an encoded slash, backslash, dot or control character, and nothing encoded that need not or twice'
  // Survives: `'%'` → `""`. It only spares two looks at a path that encodes nothing, which find nothing.
  return path.includes('%') && !isUtf8(path) ? 'encoded characters that are UTF-8' : undefined
}

/** Some servers take a byte sequence that is too long (`%C0%AF`) for the short character (`/`). */
function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
    // Survives: `{` → `{}`. Nothing is returned then, which is as false.
  } catch {
    return false
  }
}
