/**
 * The routes of the HTTP server. A path without parameters is found in a map; the others, and other spellings
 * of a path, by a router.
 */
import findMyWay from 'find-my-way'
import type { Handler, HttpReply, HttpRequest, Params, Route, RouteOptions, SendError } from './exchange.ts'

// Not imported, because an import makes Node create every export of the module.
const { METHODS } = process.getBuiltinModule('node:http')

/** Longest parameter of a path: an id of 128 characters, of which each may be encoded. */
const PARAMETER_LENGTH_MAX = 3 * 128

/** A handler returns it for a path that it does not have. */
export const NO_SUCH_PATH = Symbol('no such path')

/** Answers before every route. @returns whether it has answered */
export type Before = (request: HttpRequest, reply: HttpReply) => boolean

export interface Found {
  readonly route: Route
  readonly params: Params
}

type Method = Parameters<ReturnType<typeof findMyWay>['find']>[0]

const NO_PARAMS: Params = Object.freeze({})

/** Every method of HTTP that a route may have. No route opens a tunnel. */
export const EVERY_METHOD: readonly string[] = METHODS.filter((method) => method !== 'CONNECT')

/** The methods of a route for any of them. */
const COMMON_METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']

export class HttpRoutes {
  readonly #router = findMyWay({
    // Some clients put a slash between a base that ends with one and a path that begins with one. Keystone
    // redirects them.
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: PARAMETER_LENGTH_MAX,
    // A query is read where a route asks for it.
    querystringParser: () => undefined,
    onBadUrl: unused,
    onMaxParamLength: unused,
  })
  /** The routes without parameters, by method and path. */
  readonly #plain = new Map<string, Map<string, Found>>()
  readonly #paths = new Map<string, Path>()
  readonly #before: Before[] = []

  get(path: string, handle: Handler, options: RouteOptions = {}): void {
    this.add(options.answersHead === false ? ['GET'] : ['GET', 'HEAD'], path, handle, options)
  }

  post(path: string, handle: Handler, options: RouteOptions = {}): void {
    this.add(['POST'], path, handle, options)
  }

  delete(path: string, handle: Handler): void {
    this.add(['DELETE'], path, handle)
  }

  all(path: string, handle: Handler): void {
    this.add(COMMON_METHODS, path, handle)
  }

  add(methods: readonly string[], path: string, handle: Handler, options: RouteOptions = {}): void {
    const route: Route = { ...options, path, handle }
    this.#router.on(methods as Method[], path, unused, route)
    if (!/[:*]/.test(path)) for (const method of methods) this.#addPlain(method, route)
    const known = this.#paths.get(path)
    const all = new Set([...(known?.methods ?? ['OPTIONS']), ...methods])
    this.#paths.set(path, { parts: path.split('/'), methods: [...all].sort(), route: known?.route ?? route })
  }

  before(answer: Before): void {
    this.#before.push(answer)
  }

  /** Whether a request is answered before its route. */
  answersBefore(request: HttpRequest, reply: HttpReply): boolean {
    return this.#before.some((answer) => answer(request, reply))
  }

  /** `undefined`: no route fits; `'unreadable'`: the path has a part that is too long or cannot be decoded */
  find(method: string, url: string): Found | 'unreadable' | undefined {
    const plain = this.#plain.get(method)?.get(url)
    if (plain !== undefined) return plain
    const found = this.#router.find(method as Method, url)
    if (found === null) return undefined
    return found.store === null ? 'unreadable' : { route: found.store, params: found.params }
  }

  /** The methods of a path. Empty: it does not exist. */
  methodsOf(url: string): readonly string[] {
    const parts = partsOf(url)
    return this.#find((route) => fit(route, parts))?.methods ?? []
  }

  /**
   * How the route of a request words its errors, or else its neighbours: a client of a protocol can read them
   * in no other way.
   */
  wordingOf({ route, url }: Pick<HttpRequest, 'route' | 'url'>): SendError | undefined {
    if (route !== undefined) return route.sendError
    const parts = partsOf(url)
    // The first part of every path is empty, and many protocols share `/.well-known`.
    const shared = parts[1] === '.well-known' ? 2 : 1
    for (let length = parts.length; length > shared; length--) {
      const beside = this.#find((path) => parts.slice(0, length).every((part, at) => path.parts[at] === part))
      if (beside !== undefined) return beside.route.sendError
    }
    return undefined
  }

  #addPlain(method: string, route: Route): void {
    const routes = this.#plain.get(method) ?? new Map<string, Found>()
    this.#plain.set(method, routes.set(route.path, { route, params: NO_PARAMS }))
  }

  #find(fits: (path: Path) => boolean): Path | undefined {
    for (const path of this.#paths.values()) if (fits(path)) return path
    return undefined
  }
}

/** A path and its methods, for 405 and OPTIONS. To the router, `*` and `:` in a path are special. */
interface Path {
  readonly parts: readonly string[]
  readonly methods: readonly string[]
  /** The first one with this path. */
  readonly route: Route
}

/** The router is only asked for the route. */
function unused(): never {
  throw new Error('expected a route that is found, and not called by the router')
}

function partsOf(url: string): readonly string[] {
  const path =
    url
      .split('?', 1)[0]
      ?.replace(/\/{2,}/g, '/')
      .replace(/(?<=.)\/$/, '') ?? ''
  return path.split('/')
}

function fit({ parts }: Path, asked: readonly string[]): boolean {
  return parts.length === asked.length && parts.every((part, index) => fits(part, asked[index]))
}

/** Whether a part of a path fits that of a route, which may be a parameter. */
function fits(expected: string, part: string | undefined): boolean {
  return expected.startsWith(':') ? part !== '' : expected === part
}
