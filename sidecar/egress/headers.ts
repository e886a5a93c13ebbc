/** The headers that go on, in both directions. */
/** Of one connection alone (RFC 9110 §7.6.1), beside those that `Connection` lists. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['http2-settings', 'proxy-authenticate', 'proxy-authorization', 'proxy-authentication-info'],
]

/**
 * Credentials of any sort, whatever the matrix says: a request goes out with the one of its route and no
 * other.
 */
const CREDENTIALS = [
  'authorization',
  'cookie',
  'cookie2',
  'x-auth-token',
  'x-service-token',
  'x-storage-token',
  'x-subject-token',
]

/** Headers that this server, or the connection to the target, sets itself. */
const OWN = ['host', 'expect']

/** The header that marks an answer of this server. A target cannot send it. */
export const REASON_HEADER = 'portcullis-reason'

const RETURNED_NOT: ReadonlySet<string> = new Set([...HOP_BY_HOP, REASON_HEADER])

/**
 * Names of headers of a request that do not go on.
 *
 * @param credentialHeaders the headers in which tokens are sent, by the matrix
 */
export function strippedNames(credentialHeaders: Iterable<string>): ReadonlySet<string> {
  return new Set([...HOP_BY_HOP, ...CREDENTIALS, ...OWN, ...Array.from(credentialHeaders, canonicalName)])
}

/** The headers of a request, read once. */
export interface RequestHeaders {
  /** Those that go on, names and values in turn. */
  readonly forwarded: string[]
  /** How many Host headers there are. */
  readonly hosts: number
  /** How the application says which caller it is. */
  readonly proxyAuthorization: readonly string[]
  /** Whether there is a header that only a browser sends. */
  readonly ofBrowser: boolean
}

/** @param raw names and values in turn, as they arrived */
export function readHeaders(raw: readonly string[], stripped: ReadonlySet<string>): RequestHeaders {
  const listed = listedIn(raw)
  const forwarded: string[] = []
  const proxyAuthorization: string[] = []
  let hosts = 0
  let ofBrowser = false
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string
    const value = raw[index + 1] as string
    const canonical = canonicalName(name)
    if (canonical === 'host') hosts++
    else if (canonical === 'proxy-authorization') proxyAuthorization.push(value)
    else if (canonical === 'origin' || canonical === 'sec-fetch-site') ofBrowser = true
    if (!stripped.has(canonical) && !listed?.has(canonical)) forwarded.push(name, value)
  }
  return { forwarded, hosts, proxyAuthorization, ofBrowser }
}

/**
 * The headers of a target's answer that go back, names and values in turn.
 *
 * @param raw as they arrived
 */
export function returnedHeaders(raw: readonly string[]): string[] {
  const listed = listedIn(raw)
  const returned: string[] = []
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string
    const canonical = canonicalName(name)
    if (!RETURNED_NOT.has(canonical) && !listed?.has(canonical)) returned.push(name, raw[index + 1] as string)
  }
  return returned
}

/** Many servers take `X_Auth_Token` for `X-Auth-Token`, because CGI writes both in the same way. */
function canonicalName(name: string): string {
  const lower = name.toLowerCase()
  // Survives: `'_'` → `""`. It only spares to replace underscores where there are none.
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower
}

/** The headers in `Connection`. Its options `close` and `keep-alive` are not headers, without harm. */
function listedIn(raw: readonly string[]): Set<string> | undefined {
  let listed: Set<string> | undefined
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string
    // Survives: `name.length === 10` → `true`. It only spares to write most names in lower case once more.
    if (name.length === 10 && name.toLowerCase() === 'connection')
      listed = namesIn(raw[index + 1] as string, listed)
  }
  return listed
}

function namesIn(list: string, into: Set<string> = new Set()): Set<string> {
  for (const name of list.split(',')) into.add(canonicalName(name.trim()))
  return into
}
