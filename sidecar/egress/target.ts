/** A route with its connections to the target. */
import type { Pool } from 'undici'
import { poolTo } from '../base/net/pool.ts'
import type { Passage } from '../usecases/egress.ts'

/** A route as the configuration has it. */
export interface Route extends Passage {
  /** Where its requests go. The path has a slash at the end. */
  readonly url: URL
  /**
   * Certificates of the authorities that may sign the target's certificate, as PEM; `undefined`: those of
   * Node.
   */
  readonly ca: string | undefined
  /** How long the target may take to answer, and to go on, in milliseconds. */
  readonly timeoutMs: number
  /** Most requests at the same time. */
  readonly maxConcurrent: number
}

/** After a new token was refused too, the route obtains no further one for this time, in milliseconds. */
const RENEWAL_PAUSE_MS = 10_000

const CONNECT_MS_MAX = 10_000

export class Target {
  readonly route: Route
  readonly pool: Pool
  /** Path of the target that takes the place of the path of the route. */
  readonly #base: string
  readonly #monotonicMs: () => number
  #inProgress = 0
  #renewsAgainMs = Number.NEGATIVE_INFINITY

  /** @param monotonicMs a monotonic clock, in milliseconds */
  constructor(route: Route, monotonicMs: () => number) {
    this.route = route
    this.#base = route.url.pathname
    this.#monotonicMs = monotonicMs
    this.pool = poolTo(route.url.origin, {
      connections: route.maxConcurrent,
      headersTimeout: route.timeoutMs,
      bodyTimeout: route.timeoutMs,
      connectMs: Math.min(route.timeoutMs, CONNECT_MS_MAX),
      ca: route.ca,
    })
  }

  /** The path to ask the target for. @param path begins with the path of the route */
  pathFor(path: string, query: string): string {
    return this.#base + path.slice(this.route.path.length) + query
  }

  /** Counts a request that begins. Returns whether there is room for it. */
  enter(): boolean {
    if (this.#inProgress >= this.route.maxConcurrent) return false
    this.#inProgress++
    return true
  }

  leave(): void {
    this.#inProgress--
  }

  get renews(): boolean {
    return this.#monotonicMs() >= this.#renewsAgainMs
  }

  /** The target refused a new token too, so the next one would be refused as well. */
  pauseRenewal(): void {
    this.#renewsAgainMs = this.#monotonicMs() + RENEWAL_PAUSE_MS
  }

  /** Ends its connections. */
  destroy(): Promise<void> {
    return this.pool.destroy()
  }
}

/** The routes by their path. No path is the beginning of another, so at most one is found. */
export class Targets {
  readonly #byPath: ReadonlyMap<string, Target>

  constructor(routes: readonly Route[], monotonicMs: () => number) {
    this.#byPath = new Map(routes.map((route) => [route.path, new Target(route, monotonicMs)]))
  }

  find(path: string): Target | undefined {
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      const target = this.#byPath.get(path.slice(0, slash + 1))
      if (target !== undefined) return target
    }
    return undefined
  }

  async destroy(): Promise<void> {
    await Promise.all(Array.from(this.#byPath.values(), (target) => target.destroy()))
  }
}
