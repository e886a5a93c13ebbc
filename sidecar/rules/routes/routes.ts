/**
 * Finds the route of a request. The host decides first: a name before a wildcard, the longest wildcard first.
 * Then the path, segment by segment from the left: a text before a capture, the capture behind the longest
 * text first, and the end of a path before all that is below. Then the methods: the fewest first.
 */
import { readRequestTarget } from '../../base/request-target.ts'
import { METHOD_OVERRIDES, overridesMethod, PATH_OVERRIDDEN, PATH_OVERRIDES } from './overrides.ts'
import { isHost, isWritten, withoutPort } from './pattern.ts'
import type { Route, RouteMatch, RouteRequest, RouteTarget, TargetSource } from './route.ts'
import type { Captures, RouteTree, WantedMethod } from './route-tree.ts'
import { folded, isFolded, isWhole, similarTo } from './similar.ts'

/** Length of the longest path, without its query. */
const PATH_LENGTH_MAX = 8_192

/** Methods are compared byte for byte, and some servers take `get` for GET. */
const METHOD = /^[A-Z][A-Z0-9_-]{0,31}$/

/** The routes of a configuration. */
export class Routes {
  readonly all: readonly Route[]
  readonly #tree: RouteTree
  readonly #namesHosts: boolean
  /** Whether some route names methods. */
  readonly namesMethods: boolean

  /** @param tree of all routes, without a fault */
  constructor(tree: RouteTree) {
    this.all = tree.all
    this.#tree = tree
    this.#namesHosts = this.all.some(({ host }) => host !== '')
    this.namesMethods = this.all.some(({ methods }) => methods !== undefined)
  }

  /**
   * All routes, in an order in which the first one that matches a request is the one that `match` finds,
   * unless that refuses the request.
   */
  inOrder(): Route[] {
    return this.#tree.inOrder()
  }

  /** The API of the request, and the owner of its resource; or why there is none. Never throws. */
  match({ method, host, target, header }: RouteRequest): RouteMatch {
    if (!METHOD.test(method)) return notCanonical('a method of capital letters')
    if (PATH_OVERRIDES.some((name) => header(name) !== undefined)) return PATH_OVERRIDDEN
    if (this.namesMethods && METHOD_OVERRIDES.some((name) => header(name) !== undefined))
      return notCanonical('a request without a header that overrides its method')
    const name = hostName(host)
    if (name === undefined || (name === '' && this.#namesHosts))
      return notCanonical('one host name of ASCII characters, without a dot at the end')
    // A path can be as long as a message, and to read it would delay others.
    const mark = target.indexOf('?')
    if ((mark === -1 ? target.length : mark) > PATH_LENGTH_MAX)
      return notCanonical(`a path of at most ${PATH_LENGTH_MAX} characters`)
    const reading = readRequestTarget(target)
    if (!reading.ok) return notCanonical(reading.expected)
    if (this.namesMethods && overridesMethod(reading.query))
      return notCanonical('a query without `_method`, from which some servers take the method')
    const isBelow = reading.path.endsWith('/')
    const path = isBelow ? reading.path.slice(0, -1) : reading.path
    const wanted = { path, host: name, method }
    const found = find(this.#tree, wanted)
    if (found === undefined) return NO_ROUTE
    if ('refused' in found) return found
    if (!isWritten(found.host, host ?? ''))
      return notCanonical('a host as in its route: in small letters, and with no other port')
    const match = withTarget(found, path, header)
    const isSame = (other: Found) =>
      other === found ||
      (other !== undefined && !('refused' in other) && isSameMatch(withTarget(other, path, header), match))
    return this.#inDoubt(wanted, found, isBelow, isSame) ?? match
  }

  /**
   * Servers differ: in whether `/a/` is `/a`, whether `/a` is below `/a/`, and whether HEAD is answered as
   * GET is. So all readings that have a route must have the same API and target.
   */
  #inDoubt(wanted: Wanted, found: Route, isBelow: boolean, isSame: (other: Found) => boolean) {
    for (const head of wanted.method === 'HEAD' && this.namesMethods ? HEADS : AS_IT_IS) {
      const asked = { ...wanted, ...head }
      const one = head === AS_IT_IS[0] ? found : find(this.#tree, asked)
      if (one !== undefined && !isSame(one))
        return notCanonical('another method than HEAD, because another route is for GET')
      if (isBelow) {
        const empty: Route[] = []
        const other = find(this.#tree, { ...asked, end: 'slash', empty })
        if ((other !== one && !isSame(other)) || !empty.every(isSame))
          return notCanonical('no slash at the end, because another route is for what is below')
      } else if (one !== undefined && endsAt(one, wanted.path)) {
        const other = find(this.#tree, { ...asked, end: 'alone' })
        if (other !== undefined && !isSame(other))
          return notCanonical('a slash at the end, because another route is for what is around')
      }
    }
    return undefined
  }
}

const AS_IT_IS = [{}] as const
const HEADS = [...AS_IT_IS, { head: 'named' }, { method: 'GET' }] as const

type Found = Route | ReturnType<typeof notCanonical> | undefined

function isSameMatch(one: RouteMatch, other: RouteMatch): boolean {
  return (
    one.refused === undefined &&
    other.refused === undefined &&
    one.api === other.api &&
    one.target?.account === other.target?.account &&
    one.target?.project === other.target?.project
  )
}

/** Whether the route is for all that is below the path. @param path without a slash at its end */
function endsAt(found: NonNullable<Found>, path: string): boolean {
  if ('refused' in found || !found.path.below) return false
  let count = 0
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) count++
  return found.path.segments.length === count
}

const NO_ROUTE: RouteMatch = { refused: 'NO_ROUTE', detail: 'no route has this method, host and path' }

function notCanonical(expected: string): RouteMatch & { readonly refused: 'NOT_CANONICAL' } {
  return { refused: 'NOT_CANONICAL', detail: `expected ${expected}` }
}

/** The host without its port, in lower case; `''`: there is none. `undefined`: it is not canonical. */
function hostName(host = ''): string | undefined {
  const name = withoutPort(host)
  return host === '' || isHost(name) ? name.toLowerCase() : undefined
}

/** The encoded parts of a canonical path are UTF-8, and neither a slash nor a dot. */
function decoded(segment: string): string {
  return segment.includes('%') ? decodeURIComponent(segment) : segment
}

function endOfSegment(path: string, start: number): number {
  const slash = path.indexOf('/', start)
  return slash === -1 ? path.length : slash
}

interface Wanted extends WantedMethod {
  /** Without a slash at its end. */
  readonly path: string
  readonly host: string
  /**
   * `alone`: a route for all below a path is not for that path. `slash`: neither is one for the path alone,
   * because a slash follows it.
   */
  readonly end?: 'alone' | 'slash'
  /** With `slash`: gets the routes that end with a name, because some servers accept an empty name. */
  readonly empty?: Route[]
}

/** The first route that matches, by the places of the host, its wildcards and any host. */
function find(tree: RouteTree, wanted: Wanted): Found {
  const { roots } = tree
  const { host } = wanted
  // Most tables name no host.
  if (host !== '' && roots.size > (roots.has('') ? 1 : 0))
    for (let end = host; end !== ''; end = wildcardOf(end)) {
      const root = roots.get(end)
      const found = root === undefined ? undefined : walk(tree, root, wanted, 1)
      if (found !== undefined) return found
    }
  const root = roots.get('')
  return root === undefined ? undefined : walk(tree, root, wanted, 1)
}

/** The longest wildcard that the host, or the wildcard, is within; `''`: there is none. */
function wildcardOf(host: string): string {
  const dot = host.indexOf('.', 1)
  return dot === -1 ? '' : host.slice(dot)
}

/**
 * The first route in the tree. Each place has one way to it, so at most as many places are visited than there
 * are.
 *
 * @param start where the next segment begins; behind the end: there is none
 */
function walk(tree: RouteTree, place: number, wanted: Wanted, start: number): Found {
  const { path } = wanted
  if (start > path.length) {
    const route = wanted.end === 'slash' ? undefined : tree.here(place, wanted)
    if (route !== undefined || wanted.end === 'alone') return route
    const behind = wanted.empty === undefined ? 0 : tree.behindAny(place)
    const other = behind === 0 ? undefined : (tree.here(behind, wanted) ?? tree.below(behind, wanted))
    if (other !== undefined) wanted.empty?.push(other)
    return tree.below(place, wanted)
  }
  const captures = tree.capturesOf(place)
  const any = tree.behindAny(place)
  // Elsewhere it depends neither on the segment nor on its absence which route is found.
  if (!tree.hasLiterals(place) && any === 0 && captures === undefined && !tree.hasRouteHere(place))
    return tree.below(place, wanted)
  const end = endOfSegment(path, start)
  const segment = path.slice(start, end)
  const next = tree.behind(place, tree.numberOf(segment))
  if (next === 0) {
    const plain = decoded(segment)
    if (!isFolded(plain) && !isWhole(plain))
      return notCanonical('no encoded ; ? # and no invisible segment where routes differ')
    if (passesBy(tree, place, segment, plain))
      return notCanonical('each segment written as in its route, also its case, and nothing behind it')
  }
  const found =
    (next === 0 ? undefined : walk(tree, next, wanted, end + 1)) ??
    (captures && walkCaptures(tree, captures, wanted, segment, end + 1)) ??
    (any === 0 ? undefined : walk(tree, any, wanted, end + 1))
  return found ?? tree.below(place, wanted)
}

function walkCaptures(
  tree: RouteTree,
  { places, lengths }: Captures,
  wanted: Wanted,
  segment: string,
  next: number,
): Found {
  for (const length of lengths) {
    const place = length > segment.length ? undefined : places.get(segment.slice(0, length))
    if (place === undefined) continue
    if (length === segment.length)
      return notCanonical('a name behind each text of a route, because some servers accept an empty name')
    const found = walk(tree, place, wanted, next)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Whether some server would take the segment for a text of a route that it does not match here. Some compare
 * what is not decoded.
 *
 * @param segment as it arrived, which is not a text of the routes
 */
function passesBy(tree: RouteTree, place: number, segment: string, plain: string): boolean {
  if (tree.hasLiterals(place)) {
    const isText = (text: string) => tree.hasFolded(place, text)
    if (isFolded(plain) ? isText(plain) : similarTo(plain).some(isText)) return true
  }
  const captures = tree.capturesOf(place)
  if (captures === undefined) return false
  const form = folded(plain)
  return captures.foldedLengths.some((length) =>
    captures.folded.get(form.slice(0, length))?.some(({ text }) => !segment.startsWith(text)),
  )
}

function withTarget(route: Route, path: string, header: RouteRequest['header']): RouteMatch {
  const { api, target: sources } = route
  if (sources === undefined) return { refused: undefined, api, target: undefined, route }
  const account = foundIn(sources.account, path, header)
  if (account === undefined) return targetNotFound(route, 'account', sources.account)
  if (sources.project === undefined) return { refused: undefined, api, target: { account }, route }
  const project = foundIn(sources.project, path, header)
  if (project === undefined) return targetNotFound(route, 'project', sources.project)
  const target: RouteTarget = { account, project }
  return { refused: undefined, api, target, route }
}

function targetNotFound(route: Route, part: 'account' | 'project', source: TargetSource): RouteMatch {
  const where = source.from === 'header' ? `one header ${source.name}` : 'a segment of the path'
  return { refused: 'TARGET_NOT_FOUND', detail: `expected the ${part} in ${where}: ${VALUE_EXPECTED}`, route }
}

/**
 * An account or a project as a request may name it. Some servers cut a text at these characters, or take a
 * list for several values, or drop blanks around it, and would then serve another project than the one that
 * was checked. No name has other blanks than the ordinary one.
 */
const VALUE = /^(?! )(?:[^\p{C}\p{Z};?#\\%,/]| ){1,255}(?<! )$/u
const VALUE_EXPECTED = '1 to 255 visible characters without ; ? # \\ % , and slash'

function foundIn(source: TargetSource, path: string, header: RouteRequest['header']): string | undefined {
  if (source.from === 'fixed') return source.value
  const found = source.from === 'header' ? header(source.name) : capturedIn(path, source.index, source.prefix)
  const value = typeof found === 'object' && found.length === 1 ? found[0] : found
  if (typeof value !== 'string' || !VALUE.test(value)) return undefined
  // Bytes of a header beyond ASCII have no defined encoding.
  return source.from === 'header' && !/^[\x20-\x7e]*$/.test(value) ? undefined : value
}

/** The text of the capture. @param index of its segment */
function capturedIn(path: string, index: number, prefix: string): string {
  let start = 1
  for (let before = 0; before < index; before++) start = endOfSegment(path, start) + 1
  return decoded(path.slice(start + prefix.length, endOfSegment(path, start)))
}
