/** Whether the header fields of a request are one (RFC 9113, §8.2 and §8.3). */
import type { HeaderField } from './hpack/header-field.ts'

/** The facts of a request that HTTP/2 itself needs. */
export interface RequestShape {
  /** Why the request is malformed; '': it is not. */
  readonly fault: string
  /** Length of the body in bytes; -1: the request does not say. */
  readonly contentLength: number
}

const GOOD: RequestShape = { fault: '', contentLength: -1 }

/** The pseudo-header fields, each of which may occur once. */
const PSEUDO: Readonly<Record<string, number>> = { ':method': 1, ':scheme': 2, ':path': 4, ':authority': 8 }
const REQUIRED = 1 | 2 | 4

export function shapeOf(fields: readonly HeaderField[]): RequestShape {
  let seen = 0
  let regular = false
  let contentLength = -1
  let authority: string | undefined
  let host: string | undefined
  for (const field of fields) {
    const { name, value, fault } = field
    if (fault !== '') return malformed(fault)
    if (name.charCodeAt(0) !== 0x3a) {
      regular = true
      if (name === 'content-length') {
        if (!/^\d{1,15}$/.test(value) || (contentLength >= 0 && Number(value) !== contentLength))
          return malformed('an invalid content-length')
        contentLength = Number(value)
      } else if (name === 'host') {
        if (host !== undefined) return malformed('two hosts')
        host = value
      }
      continue
    }
    if (regular) return malformed('a pseudo-header field after another field')
    const bit = PSEUDO[name] as number
    if (seen & bit) return malformed('a repeated pseudo-header field')
    seen |= bit
    if (name === ':authority') authority = value
    // An asterisk is for OPTIONS alone, which nothing here answers.
    else if (name === ':path' && !value.startsWith('/'))
      return malformed('a path that does not begin with `/`')
  }
  if ((seen & REQUIRED) !== REQUIRED) return malformed('a request without a method, a scheme or a path')
  if (host !== undefined && authority !== undefined && host !== authority)
    return malformed('a host that is not the authority')
  return contentLength < 0 ? GOOD : { fault: '', contentLength }
}

/** Why the fields may not follow a body (§8.1); '': they may. */
export function trailerFault(fields: readonly HeaderField[]): string {
  for (const { name, fault } of fields) {
    if (fault !== '') return fault
    if (name.charCodeAt(0) === 0x3a) return 'a pseudo-header field after the body'
  }
  return ''
}

function malformed(fault: string): RequestShape {
  return { fault, contentLength: -1 }
}
