/**
 * The explanation of a request: the other routes that match it; or, without a route, a near one, or the
 * expected form of the request.
 */
import { type PathPattern, withoutPort } from './pattern.ts'
import type { Route, RouteMatch, RouteRequest } from './route.ts'
import { RouteTree } from './route-tree.ts'
import { Routes } from './routes.ts'

/** All routes that match the request, the one that decides first. The others would decide without it. */
export function matchingRoutes(routes: Routes, request: RouteRequest): Route[] {
  return routes.inOrder().filter((route) => isFor(route, request))
}

function isFor(route: Route, request: RouteRequest): boolean {
  const alone = new Routes(new RouteTree([route], () => {}))
  const { refused } = alone.match(request)
  return refused === undefined || refused === 'TARGET_NOT_FOUND'
}

/** A route that would be for the request, but for one thing. */
export interface NearRoute {
  readonly route: Route
  /** For `path`, its beginning matches. */
  readonly differs: 'method' | 'host' | 'path'
}

/** Most routes that are named. */
const NEAR_MAX = 3

/** The routes that differ from the request in one thing, the nearest first. */
export function nearRoutes(routes: Routes, request: RouteRequest): NearRoute[] {
  const fits = (route: Route) => isFor(route, request)
  const near: (NearRoute & { readonly rank: number })[] = []
  for (const route of routes.all)
    if (fits({ ...route, methods: undefined }))
      near.push({ route, differs: 'method', rank: Number.POSITIVE_INFINITY })
    else if (fits({ ...route, host: '' })) near.push({ route, differs: 'host', rank: Number.MAX_VALUE })
    else {
      const { segments } = route.path
      const shared = segments.findLastIndex((_each, index) =>
        fits({ ...route, path: beginningOf(route.path, index + 1) }),
      )
      if (shared >= 0) near.push({ route, differs: 'path', rank: shared })
    }
  return near
    .toSorted((one, other) => other.rank - one.rank)
    .slice(0, NEAR_MAX)
    .map(({ route, differs }) => ({ route, differs }))
}

function beginningOf({ text, segments }: PathPattern, count: number): PathPattern {
  return { text, segments: segments.slice(0, count), below: true }
}

/**
 * A canonical request that was probably meant, and its API. `undefined`: there is none, or it has no
 * route either.
 */
export function meant(
  routes: Routes,
  request: RouteRequest,
):
  | { readonly request: RouteRequest; readonly match: RouteMatch & { readonly refused: undefined } }
  | undefined {
  const target = canonicalTarget(request.target)
  const host = request.host
    ?.replace(/^.*@/, '')
    .replace(/\.(?=$|:\d+$)/, '')
    .toLowerCase()
  const otherSlash = target.endsWith('/') ? target.slice(0, -1) : `${target}/`
  const method = request.method.trim().toUpperCase()
  for (const each of [target, target.toLowerCase(), otherSlash])
    for (const name of [host, withoutPort(host ?? '')]) {
      const candidate = { ...request, method, host: name, target: each }
      const match = routes.match(candidate)
      if (match.refused === undefined) return { request: candidate, match }
    }
  return undefined
}

/** A request target as most servers would read it. Nothing is decided by it. */
function canonicalTarget(target: string): string {
  const path = target.replace(/^[a-z]+:\/\/[^/]*/i, '').replace(/[?#].*$/s, '')
  const decoded = path.replace(/%(?:2[def]|3\d|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/gi, (encoded) =>
    decodeURIComponent(encoded),
  )
  const kept: string[] = []
  for (const segment of decoded.replaceAll('\\', '/').split('/')) {
    const bare = segment.replace(/(?:;|%3b).*$/i, '')
    if (bare === '..') kept.pop()
    else if (bare !== '.' && bare !== '') kept.push(bare)
  }
  return `/${kept.join('/')}${kept.length > 0 && decoded.endsWith('/') ? '/' : ''}`
}
