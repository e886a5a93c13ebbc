/**
 * The patterns of hosts, paths and methods: reading them, and the intersection of two. Two patterns
 * have either nothing in common, or exactly what one pattern says.
 */

/** A segment of a path: a text, or any text behind a prefix, which may be empty. */
type SegmentPattern =
  | { readonly type: 'literal'; readonly text: string }
  | { readonly type: 'capture'; readonly prefix: string; readonly name: string }

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

export const PATH_EXPECTED =
  "a path that begins with a slash, whose segments are letters, digits and -._~!$&'()*+,=:@, or end with {name}"

/** @returns `undefined` if the text is not a pattern of a path */
export function parsePath(text: string): PathPattern | undefined {
  if (!text.startsWith('/')) return undefined
  const below = text.endsWith('/')
  const inner = text.slice(1, below ? -1 : undefined)
  const segments: SegmentPattern[] = []
  for (const part of text === '/' ? [] : inner.split('/')) {
    const [, prefix = '', name] = CAPTURE.exec(part) ?? []
    if (name !== undefined) segments.push({ type: 'capture', prefix, name })
    else if (LITERAL.test(part) && part !== '.' && part !== '..')
      segments.push({ type: 'literal', text: part })
    else return undefined
  }
  return { text, segments, below }
}

const LABELS = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/
const IPV6 = /^\[[0-9A-Fa-f:.]+\]$/

const HOST_LENGTH_MAX = 255

const PORT = /:\d{1,5}$/

/** A host, or a pattern of hosts, without its port. */
export function withoutPort(host: string): string {
  return host.replace(PORT, '')
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

/** The requests that fit both patterns; `undefined`: nothing is. */
export function common(one: Pattern, other: Pattern): Pattern | undefined {
  // The path first, because it differs most often.
  const path = commonPath(one.path, other.path)
  const host = path && commonHost(one.host, other.host)
  if (path === undefined || host === undefined) return undefined
  const methods = commonMethods(one.methods, other.methods)
  return methods?.length === 0 ? undefined : { host, path, methods }
}

function commonPath(one: PathPattern, other: PathPattern): PathPattern | undefined {
  const [short, long] = one.segments.length <= other.segments.length ? [one, other] : [other, one]
  const deeper = long.segments.length > short.segments.length
  if (deeper && !short.below) return undefined
  const segments: SegmentPattern[] = []
  for (const [index, segment] of long.segments.entries()) {
    const above = short.segments[index]
    const shared = above === undefined ? segment : commonSegment(above, segment)
    if (shared === undefined) return undefined
    segments.push(shared)
  }
  const below = long.below && (deeper || short.below)
  return { text: pathText(segments, below), segments, below }
}

function commonSegment(one: SegmentPattern, other: SegmentPattern): SegmentPattern | undefined {
  if (one.type === 'capture' && other.type === 'capture') {
    const [short, long] = one.prefix.length <= other.prefix.length ? [one, other] : [other, one]
    return long.prefix.startsWith(short.prefix) ? long : undefined
  }
  if (one.type === 'capture') return commonSegment(other, one)
  const fits = other.type === 'literal' ? one.text === other.text : isCaptured(other.prefix, one.text)
  return fits ? one : undefined
}

/** Whether a capture behind the prefix takes the segment. It takes one character or more. */
export function isCaptured(prefix: string, segment: string): boolean {
  return segment.length > prefix.length && segment.startsWith(prefix)
}

function commonHost(one: HostPattern, other: HostPattern): HostPattern | undefined {
  if (isWithin(one, other)) return one
  return isWithin(other, one) ? other : undefined
}

function isWithin(host: HostPattern, around: HostPattern): boolean {
  return host === around || around === '' || (around.startsWith('.') && host.endsWith(around))
}

function commonMethods(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.filter((method) => other.includes(method))
}

/** The same for patterns of the same requests, whatever their captures are called. */
export function keyOf({ host, path, methods }: Pattern): string {
  const shape = path.segments.map((each) => (each.type === 'literal' ? `/${each.text}` : `/${each.prefix}{}`))
  return `${methods?.join() ?? '*'} ${host}${shape.join('')}${path.below ? '/' : ''}`
}

/** A pattern for people: `GET api.example.com/v2/{account}/`. */
export function patternText({ host, path, methods }: Pattern): string {
  const hostText = host.startsWith('.') ? `*${host}` : host
  return `${methods?.join(', ') ?? 'any method'} ${hostText === '' ? 'any host' : hostText} ${path.text}`
}

function pathText(segments: readonly SegmentPattern[], below: boolean): string {
  const texts = segments.map((each) =>
    each.type === 'literal' ? `/${each.text}` : `/${each.prefix}{${each.name}}`,
  )
  return `${texts.join('')}${below ? '/' : ''}`
}
