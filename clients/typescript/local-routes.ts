/**
 * Finds the API of a plain request by the routes of the sidecar. Servers read a plain request in one way
 * alone. Every other one is the sidecar's to read, so nothing is decoded, folded or corrected here.
 */
import { type CredentialHeaders, CredentialNames } from '../../engine/credentials.ts'
import type { Scope } from '../../engine/index.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'

/** A request as it arrived. */
export interface HttpRequest {
  readonly method: string
  /** The Host header or `:authority`; empty: there is none. Several ones are joined with a comma. */
  readonly host: string
  /** The request target: path and query. */
  readonly path: string
}

/** The findings of the routes about a request. */
export interface FoundRoute {
  readonly api: string
  /** `undefined`: only the matrix decides. */
  readonly target: Scope | undefined
}

/** Where routes part: the segments of a path up to there. */
interface Place {
  literals: Map<string, Place>
  /** The texts of `literals` as lenient servers compare them. */
  folded: Set<string>
  foldedMax: number
  /** By their texts, the longest first, as the sidecar sends them. */
  captures: Map<string, { readonly folded: string; readonly place: Place }>
  /** Routes whose path ends here. */
  here: wire.Route[]
  /** Routes for all that is below, as well. */
  below: wire.Route[]
}

/** The parts of a new place. Of many places most stay so, and collecting empty parts would take long. */
const NOTHING: Readonly<Place> = {
  ...{ literals: new Map(), folded: new Set(), foldedMax: 0 },
  ...{ captures: new Map(), here: [], below: [] },
}

export class LocalRoutes {
  /** By name of the host, without a port; a wildcard begins with a dot, and `''` is any host. */
  readonly #hosts = new Map<string, Place>()
  /** Headers that override the path or the method. */
  readonly #overrides = new Set<string>()
  /** Those, and the ones in which routes look for a target. */
  readonly #named = new Set<string>()
  #names = new CredentialNames([])
  #namesMethods = false

  constructor(routes: wire.Routes) {
    this.take(routes)
  }

  /** Takes in the routes that come next. Many come in parts, so that no turn takes long. */
  take({ routes, overrides }: wire.Routes): void {
    for (const name of overrides) this.#overrides.add(name)
    const sources = routes.flatMap(({ account, project }) => [account?.source, project?.source])
    const headers = sources.flatMap((source) => (source?.$case === 'header' ? [source.value] : []))
    for (const name of [...overrides, ...headers]) this.#named.add(name)
    this.#names = new CredentialNames([...this.#named])
    this.#namesMethods ||= routes.some(({ methods }) => methods.length > 0)
    for (const route of routes) this.#add(route)
  }

  #add(route: wire.Route): void {
    const name = route.host.replace(/:.*/, '')
    let place = this.#hosts.get(name) ?? newPlace()
    this.#hosts.set(name, place)
    for (const segment of route.segments)
      place = segment.capture ? capturePlace(place, segment) : literalPlace(place, segment)
    const end = route.below ? 'below' : 'here'
    if (place[end] === NOTHING[end]) place[end] = [route]
    else place[end].push(route)
  }

  /** `undefined`: the sidecar must be asked. */
  find({ method, host, path }: HttpRequest, headers: CredentialHeaders): FoundRoute | undefined {
    const end = endOfPlainPath(path)
    if (end === -1 || !METHOD.test(method) || host.length > HOST_LENGTH_MAX || !HOST.test(host))
      return undefined
    const found = this.#headersIn(headers)
    if (found === undefined) return undefined
    const colon = host.indexOf(':')
    const name = (colon === -1 ? host : host.slice(0, colon)).toLowerCase()
    const mark = path.indexOf('?')
    if (mark !== -1 && this.#namesMethods && METHOD_IN_QUERY.test(path.slice(mark))) return undefined
    const wanted = { path: path.slice(0, end), host: name, method }
    const route = this.#first(wanted)
    if (route === undefined || route === 'ask' || !isWritten(route.host, host)) return undefined
    if (method === 'HEAD' && route.methods.length > 0) return undefined
    // Servers differ in whether `/a/` is `/a`, and in whether `/a` is below `/a/`.
    if (path.charCodeAt(end) === SLASH) {
      if (!isSame(route, this.#first({ ...wanted, end: 'slash' }))) return undefined
    } else if (route.below && route.segments.length === segmentsOf(wanted.path)) {
      const other = this.#first({ ...wanted, end: 'alone' })
      if (other !== undefined && !isSame(route, other)) return undefined
    }
    return withTarget(route, wanted.path, found)
  }

  /** The first route that matches: of the host, of its wildcards, the longest first, and of any host. */
  #first(wanted: Wanted): wire.Route | 'ask' | undefined {
    let name = wanted.host
    while (name !== '') {
      const found = walk(this.#hosts.get(name), wanted, 1)
      if (found !== undefined) return found
      const dot = name.indexOf('.', 1)
      name = dot === -1 ? '' : name.slice(dot)
    }
    return walk(this.#hosts.get(name), wanted, 1)
  }

  /** Values of the headers that routes look at; `undefined`: one of them overrides something. */
  #headersIn(headers: CredentialHeaders): ReadonlyMap<string, readonly string[]> | undefined {
    let found: Map<string, readonly string[]> | undefined
    for (const [name, values] of headers) {
      if (values === undefined || typeof name !== 'string') continue
      const lower = this.#names.find(name)
      if (lower === undefined) continue
      if (this.#overrides.has(lower)) return undefined
      found ??= new Map()
      found.set(lower, [...(found.get(lower) ?? []), ...(typeof values === 'string' ? [values] : values)])
    }
    return found ?? NO_HEADERS
  }
}

const NO_HEADERS: ReadonlyMap<string, readonly string[]> = new Map()

const METHOD = /^[A-Z]{1,32}$/
const HOST = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?::[0-9]{1,5})?$/
const HOST_LENGTH_MAX = 255
const PATH_LENGTH_MAX = 8_192

/** A part of a query that may name a method: the word, or an encoded name of a parameter. */
const METHOD_IN_QUERY = /method|[?&;][^=?&;]*%/i

/** An account or a project. */
const VALUE = /^[A-Za-z0-9\-._~:@+=]{1,255}$/

/** Characters of a plain path, by their codes. */
const PLAIN: readonly boolean[] = Array.from({ length: 0x80 }, (_, code) =>
  /[A-Za-z0-9\-._~:@+=/]/.test(String.fromCharCode(code)),
)
const [SLASH, DOT, MARK, HASH] = [0x2f, 0x2e, 0x3f, 0x23]

/** Where the path ends, without a slash at its end; -1: the target is not plain. */
function endOfPlainPath(target: string): number {
  let last = 0
  let end = 0
  for (; end < target.length; end++) {
    const code = target.charCodeAt(end)
    if (code === MARK) break
    if (PLAIN[code] !== true || end === PATH_LENGTH_MAX) return -1
    // Neither an empty segment, nor one with a dot at its end.
    if (code === SLASH && (last === SLASH || last === DOT)) return -1
    last = code
  }
  if (target.charCodeAt(0) !== SLASH || last === DOT) return -1
  for (let index = end + 1; index < target.length; index++) {
    const code = target.charCodeAt(index)
    if (code < 0x21 || code > 0x7e || code === HASH) return -1
  }
  return last === SLASH ? end - 1 : end
}

/** Whether every server takes the host for that of the route: not all ignore case and port. */
function isWritten(pattern: string, host: string): boolean {
  if (pattern.startsWith('.')) return host.endsWith(pattern) && host === host.toLowerCase()
  return pattern === '' || pattern === host
}

/** Whether it makes no difference which of the two is the route. */
function isSame(one: wire.Route, other: wire.Route | 'ask' | undefined): boolean {
  if (other === one || other === undefined || other === 'ask') return other === one
  const sources = [one.account, one.project, other.account, other.project]
  return one.api === other.api && sources.every((source) => source === undefined)
}

/** @param path without a slash at its end */
function segmentsOf(path: string): number {
  let count = 0
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) count++
  return count
}

interface Wanted {
  /** Without a slash at its end. */
  readonly path: string
  /** In lower case. */
  readonly host: string
  readonly method: string
  /**
   * `alone`: a route for all that is below a path is not for that path. `slash`: a slash follows the path.
   */
  readonly end?: 'alone' | 'slash'
}

/**
 * The first route that matches; `ask` where some server could take a segment for another text than it is.
 *
 * @param start where the next segment begins; behind the end: there is none
 */
function walk(place: Place | undefined, wanted: Wanted, start: number): wire.Route | 'ask' | undefined {
  if (place === undefined) return undefined
  const { path, method } = wanted
  if (start > path.length) {
    const route = wanted.end === 'slash' ? undefined : withMethod(place.here, method)
    if (route !== undefined || wanted.end === 'alone') return route
    // Some servers accept an empty name.
    if (wanted.end === 'slash' && place.captures.has('')) return 'ask'
  } else if (place.literals.size > 0 || place.captures.size > 0) {
    const slash = path.indexOf('/', start)
    const end = slash === -1 ? path.length : slash
    const segment = path.slice(start, end)
    const next = place.literals.get(segment)
    if (next !== undefined) {
      const found = walk(next, wanted, end + 1)
      if (found !== undefined) return found
    } else if (isSimilar(place, segment)) return 'ask'
    for (const [text, { place: captured }] of place.captures)
      if (segment.length > text.length && segment.startsWith(text)) {
        const found = walk(captured, wanted, end + 1)
        if (found !== undefined) return found
      } else if (segment === text) return 'ask'
  }
  return withMethod(place.below, method)
}

/** Whether some server would take the segment for a text that it is not: `admin.json` for `admin`. */
function isSimilar({ folded, foldedMax, captures }: Place, segment: string): boolean {
  const lower = segment.toLowerCase()
  if (folded.has(lower)) return true
  for (let dot = lower.indexOf('.'); dot !== -1 && dot <= foldedMax; dot = lower.indexOf('.', dot + 1))
    if (folded.has(lower.slice(0, dot))) return true
  for (const [text, each] of captures)
    if (text !== '' && !segment.startsWith(text) && lower.startsWith(each.folded)) return true
  return false
}

function withMethod(routes: readonly wire.Route[], method: string): wire.Route | undefined {
  return routes.find(({ methods }) => methods.length === 0 || methods.includes(method))
}

function withTarget(
  { api, segments, account: ofAccount, project: ofProject }: wire.Route,
  path: string,
  headers: ReadonlyMap<string, readonly string[]>,
): FoundRoute | undefined {
  if (ofAccount === undefined && ofProject === undefined) return { api, target: undefined }
  const textOf = (from: wire.RouteSource | undefined): string | undefined => {
    const { source } = from ?? {}
    if (source?.$case === 'fixed') return source.value
    const [value, ...more] =
      source?.$case === 'header'
        ? (headers.get(source.value) ?? [])
        : source?.$case === 'segment'
          ? [capturedIn(path, source.value, segments[source.value])]
          : []
    return value !== undefined && more.length === 0 && VALUE.test(value) ? value : undefined
  }
  const account = textOf(ofAccount)
  if (account === undefined) return undefined
  if (ofProject === undefined) return { api, target: { account } }
  const project = textOf(ofProject)
  return project === undefined ? undefined : { api, target: { account, project } }
}

/** The text of the capture; empty: there is no such capture. @param index of its segment */
function capturedIn(path: string, index: number, segment: wire.RouteSegment | undefined): string {
  if (segment?.capture !== true) return ''
  let start = 1
  for (let before = 0; before < index; before++) start = path.indexOf('/', start) + 1
  const end = path.indexOf('/', start)
  return path.slice(start + segment.text.length, end === -1 ? path.length : end)
}

const newPlace = (): Place => ({ ...NOTHING })

function literalPlace(place: Place, { text, folded = text }: wire.RouteSegment): Place {
  const known = place.literals.get(text)
  if (known !== undefined) return known
  const made = newPlace()
  if (place.literals === NOTHING.literals) {
    place.literals = new Map()
    place.folded = new Set()
  }
  place.literals.set(text, made)
  place.folded.add(folded)
  place.foldedMax = Math.max(place.foldedMax, folded.length)
  return made
}

function capturePlace(parent: Place, { text, folded = text }: wire.RouteSegment): Place {
  const known = parent.captures.get(text)
  if (known !== undefined) return known.place
  const place = newPlace()
  if (parent.captures === NOTHING.captures) parent.captures = new Map()
  parent.captures.set(text, { folded, place })
  return place
}
