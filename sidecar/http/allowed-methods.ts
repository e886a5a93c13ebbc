/** The methods that a path has, for 405 and OPTIONS, and how a path without a route words its errors. */
import type { FastifyContextConfig, FastifyRequest } from 'fastify'

type Wording = FastifyContextConfig['sendError']

interface Route {
  readonly parts: readonly string[]
  methods: readonly string[]
  /** As the route words its errors; absent: as Keystone does. */
  readonly wording: Wording
}

/** The methods of each path. The router cannot be asked, because `*` and `:` in a path are special to it. */
export class Routes {
  readonly #routes = new Map<string, Route>()

  add(path: string, method: string | readonly string[], wording: Wording): void {
    const route = this.#routes.get(path) ?? { parts: path.split('/'), methods: ['OPTIONS'], wording }
    route.methods = [...new Set([route.methods, method].flat())].sort()
    this.#routes.set(path, route)
  }

  /** Empty: the path does not exist. */
  methodsOf(url: string): readonly string[] {
    const parts = partsOf(url)
    return this.#find((route) => fit(route, parts))?.methods ?? []
  }

  /**
   * How the route of a request words its errors, or else its neighbours: a client of a protocol can read them
   * in no other way.
   */
  wordingOf({ is404, routeOptions, url }: FastifyRequest): Wording {
    if (!is404) return routeOptions.config?.sendError
    const parts = partsOf(url)
    // The first part of every path is empty, and many protocols share `/.well-known`.
    const shared = parts[1] === '.well-known' ? 2 : 1
    for (let length = parts.length; length > shared; length--) {
      const beside = this.#find((route) =>
        parts.slice(0, length).every((part, at) => route.parts[at] === part),
      )
      if (beside !== undefined) return beside.wording
    }
    return undefined
  }

  #find(fits: (route: Route) => boolean): Route | undefined {
    for (const route of this.#routes.values()) if (fits(route)) return route
    return undefined
  }
}

function partsOf(url: string): readonly string[] {
  const path =
    url
      .split('?', 1)[0]
      ?.replace(/\/{2,}/g, '/')
      .replace(/(?<=.)\/$/, '') ?? ''
  return path.split('/')
}

function fit({ parts }: Route, asked: readonly string[]): boolean {
  return parts.length === asked.length && parts.every((part, index) => fits(part, asked[index]))
}

/** Whether a part of a path fits that of a route, which may be a parameter. */
function fits(expected: string, part: string | undefined): boolean {
  return expected.startsWith(':') ? part !== '' : expected === part
}
