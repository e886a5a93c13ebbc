/**
 * The routes as a tree: a place for each host, and below it places for the segments of paths. Two routes for
 * the same requests, and texts that some servers take for each other, are found while it is built.
 *
 * Places and texts are numbers in flat arrays, so that a walk reads few bytes.
 */
import { Edges } from './edges.ts'
import { withoutPort } from './pattern.ts'
import type { Route } from './route.ts'
import { folded } from './similar.ts'

/** The captures of a place that begin with a text. */
export class Captures {
  /** Their places, by the text. */
  readonly places = new Map<string, number>()
  /** Lengths of the texts, the longest first. */
  readonly lengths: number[] = []
  /** The texts by their folded form, each with its first route: another spelling must not pass it by. */
  readonly folded = new Map<string, readonly Written[]>()
  readonly foldedLengths: number[] = []
}

interface Written {
  readonly text: string
  readonly route: Route
}

/** Called with a fault: the key of the configuration, and the words. */
export type OnFault = (key: string, expected: string) => void

/** A method that is looked for. */
export interface WantedMethod {
  readonly method: string
  /** `named`: HEAD is for routes that name it. */
  readonly head?: 'named'
}

/** The numbers that are kept of a place. The first place is 1, so 0 says that there is no place. */
const [WIDTH, LITERALS, ANY, HERE, BELOW] = [4, 0, 1, 2, 3]

export class RouteTree {
  readonly all: readonly Route[]
  /** The place of each host without its port: a name, a wildcard as `.example.com`, or any host as `''`. */
  readonly roots = new Map<string, number>()
  readonly #texts = new Map<string, number>()
  readonly #literals = new Edges()
  /** From a place by the folded form of a literal to its route: another spelling must not pass it by. */
  readonly #folded = new Edges()
  /**
   * Of a place: how many literals it has, the place behind any segment, and where its routes begin: those of
   * the path alone, and those of the path and all below. They end where those of the next place begin.
   */
  #places = new Int32Array(64 * WIDTH)
  #count = 0
  readonly #captures = new Map<number, Captures>()
  /** By their places. */
  readonly #routes: Route[]
  /** Their methods, which many have in common: a route with others need not be looked at. */
  readonly #methods: readonly Route['methods'][]

  /** @param onFault is called for every fault. After one, the tree must not be used. */
  constructor(routes: readonly Route[], onFault: OnFault) {
    this.all = routes
    const hosts = new Map<string, Route>()
    const ends = new Int32Array(routes.length)
    for (const [index, route] of routes.entries()) {
      const name = withoutPort(route.host)
      const other = hosts.get(name)
      if (other === undefined) {
        hosts.set(name, route)
        this.roots.set(name, this.#newPlace())
      } else if (other.host !== route.host) reportPort(route, other, onFault)
      ends[index] = this.#add(index, this.roots.get(name) as number, onFault)
    }
    const starts = new Int32Array(2 * this.#count + 4)
    this.#routes = byEnd(routes, ends, starts)
    for (let end = 2; end < starts.length - 1; end++) this.#sortByMethods(starts, end, onFault)
    for (let place = 1; place <= this.#count + 1; place++)
      this.#places.set(starts.subarray(2 * place, 2 * place + 2), place * WIDTH + HERE)
    this.#methods = this.#routes.map(({ methods }) => methods)
  }

  /** The number of a text; 0: no path has it. */
  numberOf(text: string): number {
    return this.#texts.get(text) ?? 0
  }

  hasLiterals(place: number): boolean {
    return this.#places[place * WIDTH + LITERALS] !== 0
  }

  /** The place behind a literal. @param text its number @returns 0: there is none */
  behind(place: number, text: number): number {
    return text === 0 || !this.hasLiterals(place) ? 0 : this.#literals.get(place, text)
  }

  /** Whether a literal of the place has that folded form. */
  hasFolded(place: number, form: string): boolean {
    const number = this.numberOf(form)
    return number !== 0 && this.#folded.get(place, number) !== 0
  }

  /** The place behind a segment of any text. @returns 0: there is none */
  behindAny(place: number): number {
    return this.#places[place * WIDTH + ANY] as number
  }

  /** The captures of a place that begin with a text. */
  capturesOf(place: number): Captures | undefined {
    // Most tables have none.
    return this.#captures.size === 0 ? undefined : this.#captures.get(place)
  }

  hasRouteHere(place: number): boolean {
    return this.#places[place * WIDTH + HERE] !== this.#places[place * WIDTH + BELOW]
  }

  /** The route of a method whose path ends at the place. */
  here(place: number, wanted: WantedMethod): Route | undefined {
    return this.#first(place * WIDTH + HERE, place * WIDTH + BELOW, wanted)
  }

  /** The route of a method for the place and all that is below. */
  below(place: number, wanted: WantedMethod): Route | undefined {
    return this.#first(place * WIDTH + BELOW, (place + 1) * WIDTH + HERE, wanted)
  }

  /** All routes, in an order in which the first one that matches a request is the one for it. */
  inOrder(): Route[] {
    const places = Map.groupBy(this.#literals, ([from]) => from)
    const found: Route[] = []
    const visit = (place: number): void => {
      for (const [, , behind] of (places.get(place) ?? []).toSorted(([, , one], [, , other]) => one - other))
        visit(behind)
      const captures = this.capturesOf(place)
      for (const [, behind] of [...(captures?.places ?? [])].toSorted(
        ([one], [other]) => other.length - one.length,
      ))
        visit(behind)
      if (this.behindAny(place) !== 0) visit(this.behindAny(place))
      const end = this.#places[(place + 1) * WIDTH + HERE]
      for (const route of this.#routes.slice(this.#places[place * WIDTH + HERE], end)) found.push(route)
    }
    const hosts = [...this.roots.keys()].toSorted((one, other) => rankOf(other) - rankOf(one))
    for (const host of hosts) visit(this.roots.get(host) as number)
    return found
  }

  /** @param from where it is kept which route is the first, and which one follows the last */
  #first(from: number, to: number, { method, head }: WantedMethod): Route | undefined {
    const last = this.#places[to] as number
    for (let index = this.#places[from] as number; index < last; index++) {
      const methods = this.#methods[index]
      if (methods !== undefined && !methods.includes(method)) continue
      const route = this.#routes[index] as Route
      if (methods === undefined || head === undefined || route.namesHead) return route
    }
    return undefined
  }

  /** At one end the routes with the fewest methods come first. */
  #sortByMethods(starts: Int32Array, end: number, onFault: OnFault): void {
    const start = starts[end] as number
    const last = starts[end + 1] as number
    if (last - start < 2) return
    const sorted = this.#routes.slice(start, last).toSorted((one, other) => countOf(one) - countOf(other))
    findCrossings(sorted, onFault)
    for (const [index, route] of sorted.entries()) this.#routes[start + index] = route
  }

  /** @returns the end of its path */
  #add(index: number, root: number, onFault: OnFault): number {
    const route = this.all[index] as Route
    let place = root
    for (const [depth, { type, text }] of route.path.segments.entries())
      if (type === 'literal') place = this.#literal(place, text, index, depth, onFault)
      else if (text === '') place = this.#any(place)
      else place = this.#capture(place, { text, route }, onFault)
    return 2 * place + (route.path.below ? 1 : 0)
  }

  #newPlace(): number {
    this.#count++
    // There is room for one more, at which the routes of the last one end.
    if ((this.#count + 2) * WIDTH > this.#places.length) {
      const larger = new Int32Array(2 * this.#places.length)
      larger.set(this.#places)
      this.#places = larger
    }
    return this.#count
  }

  #newNumber(text: string): number {
    const known = this.numberOf(text)
    if (known === 0) this.#texts.set(text, this.#texts.size + 1)
    return known === 0 ? this.#texts.size : known
  }

  #literal(from: number, text: string, index: number, depth: number, onFault: OnFault): number {
    const number = this.#newNumber(text)
    const known = this.behind(from, number)
    if (known !== 0) return known
    const place = this.#newPlace()
    this.#literals.add(from, number, place)
    ;(this.#places[from * WIDTH + LITERALS] as number)++
    const form = this.#newNumber(folded(text))
    const other = this.all[this.#folded.get(from, form) - 1]
    if (other === undefined) this.#folded.add(from, form, index + 1)
    else {
      const first = { text: other.path.segments[depth]?.text ?? '', route: other }
      reportSimilar({ text, route: this.all[index] as Route }, first, '', onFault)
    }
    return place
  }

  #any(from: number): number {
    const known = this.behindAny(from)
    if (known !== 0) return known
    const place = this.#newPlace()
    this.#places[from * WIDTH + ANY] = place
    return place
  }

  #capture(from: number, written: Written, onFault: OnFault): number {
    const captures = this.#captures.get(from) ?? new Captures()
    this.#captures.set(from, captures)
    const { places, lengths, folded: forms, foldedLengths } = captures
    const { text } = written
    const known = places.get(text)
    if (known !== undefined) return known
    const place = this.#newPlace()
    places.set(text, place)
    addLength(lengths, text.length)
    const form = folded(text)
    addLength(foldedLengths, form.length)
    const others = forms.get(form) ?? []
    forms.set(form, [...others, written])
    for (const other of others)
      if (folded(`${other.text}{}`) === folded(`${text}{}`)) reportSimilar(written, other, '{}', onFault)
    return place
  }
}

/** Keeps each length once, the longest first. */
function addLength(lengths: number[], length: number): void {
  if (lengths.includes(length)) return
  lengths.push(length)
  lengths.sort((one, other) => other - one)
}

/** Sorts the routes by their ends. @param starts is filled */
function byEnd(routes: readonly Route[], ends: Int32Array, starts: Int32Array): Route[] {
  for (const end of ends) (starts[end + 1] as number)++
  for (let end = 1; end < starts.length; end++) (starts[end] as number) += starts[end - 1] as number
  const next = starts.slice()
  const sorted = new Array<Route>(routes.length)
  for (const [index, route] of routes.entries()) sorted[(next[ends[index] as number] as number)++] = route
  return sorted
}

/** Any method is more than all that can be named. */
function countOf({ methods }: Route): number {
  return methods?.length ?? Number.MAX_SAFE_INTEGER
}

/** Finds routes of one end for the same method, of which none has a part of the other's methods. */
function findCrossings(routes: readonly Route[], onFault: OnFault): void {
  const owners = new Map<string, Route>()
  for (const route of routes) {
    const methods = route.methods ?? [ANY_METHOD]
    // One of them is enough to say which route is in the way.
    const shared = methods.find(
      (method) => owners.has(method) && !isWithin(owners.get(method) as Route, route),
    )
    if (shared !== undefined) reportCrossing(route, owners.get(shared) as Route, shared, onFault)
    for (const method of methods) if (!owners.has(method)) owners.set(method, route)
  }
}

const ANY_METHOD = '*'

/** Whether the first route is for fewer methods than the other one, which has all of them. */
function isWithin(one: Route, other: Route): boolean {
  if (countOf(one) >= countOf(other)) return false
  return other.methods === undefined || one.methods?.every((each) => other.methods?.includes(each)) === true
}

function reportCrossing(one: Route, other: Route, method: string, onFault: OnFault): void {
  const [earlier, later] = one.index < other.index ? [one, other] : [other, one]
  if (earlier.methods?.join() === later.methods?.join())
    onFault(`routes[${later.index}]`, `expected other requests than those of routes[${earlier.index}]`)
  else
    onFault(
      `routes[${later.index}].methods`,
      `expected ${method} in one of this route and routes[${earlier.index}], which has the same host and path`,
    )
}

function reportPort({ index }: Route, other: Route, onFault: OnFault): void {
  onFault(
    `routes[${index}].host`,
    `expected the port of routes[${other.index}], because some servers ignore it`,
  )
}

function reportSimilar({ text, route }: Written, other: Written, end: string, onFault: OnFault): void {
  onFault(
    `routes[${route.index}].path`,
    `expected \`${other.text}${end}\` as in routes[${other.route.index}], found \`${text}${end}\`, which some servers take for the same`,
  )
}

/** A host before a wildcard, the longest wildcard first, any host last. */
function rankOf(host: string): number {
  return host === '' || host.startsWith('.') ? host.length : Number.MAX_SAFE_INTEGER
}
