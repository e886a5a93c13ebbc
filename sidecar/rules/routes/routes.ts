/**
 * Finds the route of a request. The routes are a tree of segments, and the most specific route wins: texts
 * before captures, a path before all that is below another, a host before a wildcard, a method before any.
 * `compile-routes.ts` has made sure that there is one.
 */
import { readRequestTarget } from '../../base/request-target.ts'
import { METHOD_OVERRIDES, overridesMethod, PATH_OVERRIDDEN, PATH_OVERRIDES } from './overrides.ts'
import { isCaptured, isHost, isWritten, withoutPort } from './pattern.ts'
import type { Route, RouteMatch, RouteRequest, RouteTarget, TargetSource } from './route.ts'
import { folded, isWhole, similarTo } from './similar.ts'

/** Length of the longest path, without its query. */
const PATH_LENGTH_MAX = 8_192

/** Methods are compared byte for byte, and some servers take `get` for GET. */
const METHOD = /^[A-Z][A-Z0-9_-]{0,31}$/

/** The routes of a configuration. */
export class Routes {
  readonly all: readonly Route[]
  readonly #root: Node
  readonly #namesHosts: boolean
  /** Whether some route names methods. */
  readonly namesMethods: boolean

  /** @param all of which none are ambiguous */
  constructor(all: readonly Route[]) {
    this.all = all
    this.#root = treeOf(all)
    this.#namesHosts = all.some(({ host }) => host !== '')
    this.namesMethods = all.some(({ methods }) => methods !== undefined)
  }

  /**
   * All routes, in an order in which the first one that matches a request is the one that `match` finds,
   * unless that refuses the request.
   */
  inOrder(): Route[] {
    return [...routesIn(this.#root)]
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
    const found = find(this.#root, wanted, 1)
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
      const one = head === AS_IT_IS[0] ? found : find(this.#root, asked, 1)
      if (one !== undefined && !isSame(one))
        return notCanonical('another method than HEAD, because another route is for GET')
      if (isBelow) {
        const empty: Route[] = []
        const other = find(this.#root, { ...asked, end: 'slash', empty }, 1)
        if ((other !== one && !isSame(other)) || !empty.every(isSame))
          return notCanonical('no slash at the end, because another route is for what is below')
      } else if (one !== undefined && endsAt(one, wanted.path)) {
        const other = find(this.#root, { ...asked, end: 'alone' }, 1)
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

/** A place in the tree. */
interface Node {
  readonly literals: Map<string, Node>
  /** By the folded form of literals and prefixes: another spelling must not pass them by. */
  readonly foldedLiterals: Set<string>
  /** The longest prefix first. */
  readonly captures: { readonly prefix: string; readonly folded: string; readonly node: Node }[]
  /** Routes whose path ends here, by host; the fewest methods first. */
  readonly here: RoutesByHost
  /** Routes for all that is below, as well. */
  readonly below: RoutesByHost
}

/** By name, without a port. A host before a wildcard, the longest wildcard first, any host last. */
interface RoutesByHost {
  readonly named: Map<string, Route[]>
  readonly any: Route[]
}

function treeOf(routes: readonly Route[]): Node {
  const root = newNode()
  // A route with fewer methods comes first, so that it is found first.
  const count = ({ methods }: Route) => methods?.length ?? Number.POSITIVE_INFINITY
  for (const route of routes.toSorted((one, other) => (count(one) < count(other) ? -1 : 1))) {
    let node = root
    for (const segment of route.path.segments)
      node = segment.type === 'literal' ? literalNode(node, segment.text) : captureNode(node, segment.prefix)
    const { named, any } = route.path.below ? node.below : node.here
    const name = withoutPort(route.host)
    const place = name === '' ? any : (named.get(name) ?? [])
    place.push(route)
    if (name !== '') named.set(name, place)
  }
  return root
}

function newNode(): Node {
  return {
    literals: new Map(),
    foldedLiterals: new Set(),
    captures: [],
    here: { named: new Map(), any: [] },
    below: { named: new Map(), any: [] },
  }
}

function literalNode(parent: Node, text: string): Node {
  let node = parent.literals.get(text)
  if (node === undefined) {
    node = newNode()
    parent.literals.set(text, node)
    parent.foldedLiterals.add(folded(text))
  }
  return node
}

function captureNode({ captures }: Node, prefix: string): Node {
  const known = captures.find((each) => each.prefix === prefix)
  if (known !== undefined) return known.node
  const node = newNode()
  captures.push({ prefix, folded: folded(prefix), node })
  captures.sort((one, other) => other.prefix.length - one.prefix.length)
  return node
}

function* routesIn({ literals, captures, here, below }: Node): Generator<Route> {
  for (const node of literals.values()) yield* routesIn(node)
  for (const { node } of captures) yield* routesIn(node)
  for (const { named, any } of [here, below]) {
    // A longer wildcard is within a shorter one.
    const hosts = [...named.keys()].toSorted((one, other) => rankOf(other) - rankOf(one))
    for (const host of hosts) yield* named.get(host) ?? []
    yield* any
  }
}

function rankOf(host: string): number {
  return host.startsWith('.') ? host.length : Number.POSITIVE_INFINITY
}

interface Wanted {
  /** Without a slash at its end. */
  readonly path: string
  readonly host: string
  readonly method: string
  /**
   * `alone`: a route for all below a path is not for that path. `slash`: neither is one for the path alone,
   * because a slash follows it.
   */
  readonly end?: 'alone' | 'slash'
  /** With `slash`: gets the routes that end with a name, because some servers accept an empty name. */
  readonly empty?: Route[]
  /** `named`: HEAD is for routes that name it. */
  readonly head?: 'named'
}

/**
 * The first route in the order from the most specific path to the least. Each node has one way to it, so at
 * most as many nodes are visited than there are.
 *
 * @param start where the next segment begins; behind the end: there is none
 */
function find(
  node: Node,
  wanted: Wanted,
  start: number,
): Route | ReturnType<typeof notCanonical> | undefined {
  const { path } = wanted
  if (start > path.length) {
    const route = wanted.end === 'slash' ? undefined : pick(node.here, wanted)
    if (route !== undefined || wanted.end === 'alone') return route
    for (const { prefix, node: captured } of wanted.empty === undefined ? [] : node.captures) {
      const other = prefix === '' ? (pick(captured.here, wanted) ?? pick(captured.below, wanted)) : undefined
      if (other !== undefined) wanted.empty?.push(other)
    }
  } else if (isDecisive(node)) {
    const end = endOfSegment(path, start)
    const segment = path.slice(start, end)
    const next = node.literals.get(segment)
    if (next === undefined) {
      const plain = decoded(segment)
      if (!isWhole(plain))
        return notCanonical('no encoded ; ? # and no invisible segment where routes differ')
      if (passesBy(node, segment, plain))
        return notCanonical('each segment written as in its route, also its case, and nothing behind it')
    } else {
      const found = find(next, wanted, end + 1)
      if (found !== undefined) return found
    }
    for (const { prefix, node: captured } of node.captures)
      if (isCaptured(prefix, segment)) {
        const found = find(captured, wanted, end + 1)
        if (found !== undefined) return found
      } else if (segment === prefix)
        return notCanonical('a name behind each text of a route, because some servers accept an empty name')
  }
  return pick(node.below, wanted)
}

/** Whether it depends on the segment, or on its absence, which route is found. */
function isDecisive({ literals, captures, here }: Node): boolean {
  return literals.size > 0 || captures.length > 0 || here.named.size > 0 || here.any.length > 0
}

/**
 * Whether some server would take the segment for a text of a route that it does not match here. Some compare
 * what is not decoded.
 *
 * @param segment as it arrived, which is not a text of the routes
 */
function passesBy({ foldedLiterals, captures }: Node, segment: string, plain: string): boolean {
  if (foldedLiterals.size > 0 && similarTo(plain).some((text) => foldedLiterals.has(text))) return true
  return captures.some(
    ({ prefix, folded: beginning }) =>
      prefix !== '' && !segment.startsWith(prefix) && folded(plain).startsWith(beginning),
  )
}

function pick({ named, any }: RoutesByHost, wanted: Wanted): Route | undefined {
  const { host } = wanted
  if (named.size > 0 && host !== '') {
    const exact = withMethod(named.get(host), wanted)
    if (exact !== undefined) return exact
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const route = withMethod(named.get(host.slice(dot)), wanted)
      if (route !== undefined) return route
    }
  }
  return withMethod(any, wanted)
}

function withMethod(routes: readonly Route[] | undefined, { method, head }: Wanted): Route | undefined {
  return routes?.find(
    ({ methods, namesHead }) =>
      methods === undefined || (methods.includes(method) && (head === undefined || namesHead)),
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
