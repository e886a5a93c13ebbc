/** The patterns of hosts, paths and methods: reading and showing them. */

/** A segment of a path: a text; or a capture, one character or more behind a text, which may be empty. */
export type SegmentPattern =
  | { readonly type: 'literal'; readonly text: string }
  | { readonly type: 'capture'; readonly text: string; readonly name: string }

export interface PathPattern {
  /** As it is written. */
  readonly text: string
  readonly segments: readonly SegmentPattern[]
  /** Whether everything below belongs to it as well. */
  readonly below: boolean
}

/**
 * In lower case, with a port if the server is asked with one. `''`: any host; `.example.com`: every host that
 * ends so; otherwise that host.
 */
export type HostPattern = string

/** The pattern of a route. */
export interface Pattern {
  readonly host: HostPattern
  readonly path: PathPattern
  readonly methods: readonly string[] | undefined
}

/** Characters that stand for themselves in a path. */
const LITERAL = /^[A-Za-z0-9\-._~!$&'()*+,=:@]+$/
const CAPTURE = /^([A-Za-z0-9\-._~!$&'()*+,=:@]*)\{([a-z][a-z0-9_]{0,63})\}$/

const PATH_EXPECTED =
  "a path that begins with a slash, whose segments are letters, digits and -._~!$&'()*+,=:@, or end with {name}"

/** The expected form of a path, and the nearest path that has it. */
export function pathExpected(text: string): string {
  const near = nearestPath(text)
  return near === undefined
    ? PATH_EXPECTED
    : `${PATH_EXPECTED}; the nearest is ${near}, where a name takes the whole rest of its segment`
}

/** With one name at the end of each segment that has names. `undefined`: there is none. */
function nearestPath(text: string): string | undefined {
  const segments = text.split('/').map((segment) => {
    const [prefix = '', ...rest] = segment.split('{')
    const names = rest.map((each) => each.split('}')[0] ?? '')
    const name = names.map(snakeCase).join('_')
    return names.length === 0 ? segment : `${prefix}{${name}}`
  })
  const near = segments.join('/')
  return near !== text && parsePath(near) !== undefined ? near : undefined
}

/** `accountId` and `account-id` as `account_id`. */
function snakeCase(name: string): string {
  return name
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()
}

/**
 * @param known segments that were read before: routes have many in common
 * @returns `undefined` if the text is not a pattern of a path
 */
export function parsePath(
  text: string,
  known: Map<string, SegmentPattern> = new Map(),
): PathPattern | undefined {
  if (!text.startsWith('/')) return undefined
  const below = text.endsWith('/')
  const segments: SegmentPattern[] = []
  for (const part of text === '/' ? [] : text.slice(1, below ? -1 : undefined).split('/')) {
    const segment = known.get(part) ?? parseSegment(part)
    if (segment === undefined) return undefined
    known.set(part, segment)
    segments.push(segment)
  }
  return { text, segments, below }
}

function parseSegment(text: string): SegmentPattern | undefined {
  const [, before = '', name] = CAPTURE.exec(text) ?? []
  if (name !== undefined) return { type: 'capture', text: before, name }
  return LITERAL.test(text) && text !== '.' && text !== '..' ? { type: 'literal', text } : undefined
}

const LABELS = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/
const IPV6 = /^\[[0-9A-Fa-f:.]+\]$/

const HOST_LENGTH_MAX = 255

const PORT = /:\d{1,5}$/

/** A host, or a pattern of hosts, without its port. */
export function withoutPort(host: string): string {
  return host.includes(':') ? host.replace(PORT, '') : host
}

/** Whether the text is the name of a host: ASCII, without a port and a dot at the end. */
export function isHost(text: string): boolean {
  return text.length <= HOST_LENGTH_MAX && (LABELS.test(text) || IPV6.test(text))
}

export const HOST_EXPECTED =
  'a host name of ASCII letters, digits, hyphens and underscores, without a dot at the end, or such a name behind *.; and a port behind it where requests have one'

/** @returns `undefined` if the text is not a pattern of a host */
export function parseHost(text: string | undefined): HostPattern | undefined {
  if (text === undefined) return ''
  const lower = text.toLowerCase()
  const name = withoutPort(lower)
  if (lower.startsWith('*.')) return LABELS.test(name.slice(2)) ? lower.slice(1) : undefined
  return isHost(name) ? lower : undefined
}

/** Whether every server takes the host of a request for the pattern: not all ignore case and port. */
export function isWritten(pattern: HostPattern, host: string): boolean {
  if (pattern.startsWith('.')) return host.endsWith(pattern) && !/[A-Z]/.test(host)
  return pattern === '' || pattern === host
}

/** A pattern for people: `GET api.example.com/v2/{account}/`. */
export function patternText({ host, path, methods }: Pattern): string {
  const hostText = host.startsWith('.') ? `*${host}` : host
  return `${methods?.join(', ') ?? 'any method'} ${hostText === '' ? 'any host' : hostText} ${path.text}`
}
