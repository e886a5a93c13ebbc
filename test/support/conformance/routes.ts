/**
 * The answers of a client by the routes in its own memory: rows that every protocol with routes has, and
 * requests of chance. A row exists only where the client finds what the sidecar finds.
 */

import { LocalRoutes } from '../../../clients/typescript/local-routes.ts'
import { lowerCase } from '../../../engine/places.ts'
import * as wire from '../../../proto/gen/portcullis/v1/authorization.ts'
import { routesMessage } from '../../../sidecar/contract/route-messages.ts'
import { compileRoutes } from '../../../sidecar/rules/routes/compile-routes.ts'
import type { RouteMatch, RouteSetting } from '../../../sidecar/rules/routes/route.ts'
import type { Routes } from '../../../sidecar/rules/routes/routes.ts'
import { ROUTES } from '../inputs/paths.ts'
import { randomFrom } from '../inputs/random.ts'
import { headersOf } from './files.ts'
import { ASKED, type RequestLine, ROWS, TABLES } from './route-tables.ts'

export type RouteExpected =
  | 'ask'
  | {
      readonly api: string
      readonly target?: { readonly account: string; readonly project?: string | undefined }
    }

/** @yields a line for each table of routes */
export function* routeLines(sets: number, seed: number): Generator<object> {
  yield lineOf('the rows of every protocol with routes', ROUTES, ROWS)
  for (const [name, settings, requests] of TABLES)
    yield lineOf(
      name,
      settings,
      requests.map((request) => ({ ...ASKED, ...request })),
    )
  yield* randomRouteLines(sets, seed)
}

/** @yields lines of chance alone, the same for each seed */
export function* randomRouteLines(sets: number, seed: number): Generator<object> {
  for (let index = 0; index < sets; index++) {
    const random = generator(seed * 1_000_003 + index)
    const settings = randomSettings(random)
    const requests = Array.from({ length: 60 }, () => randomRequest(settings, random))
    yield lineOf(`seed ${seed}, routes ${index}`, settings, requests)
  }
}

function lineOf(name: string, settings: readonly RouteSetting[], requests: readonly RequestLine[]): object {
  const { routes, problems } = compileRoutes(settings, undefined)
  if (routes === undefined) throw new Error(`${name}: ${problems.join('\n')}`)
  const message = wire.Routes.encode(routesMessage(routes)).finish()
  const local = new LocalRoutes(wire.Routes.decode(message))
  return {
    name,
    routes: Buffer.from(message).toString('base64'),
    requests: requests.map((request) => ({ ...request, expect: expectedOf(local, routes, request) })),
  }
}

/** @throws Error where the client finds another route than the sidecar */
function expectedOf(local: LocalRoutes, routes: Routes, request: RequestLine): RouteExpected {
  const { method, host, path, headers: lines = [] } = request
  const headers = headersOf(lines)
  const found = local.find({ method, host, path }, headers)
  if (found === undefined) return 'ask'
  const { api, target } = found
  const match = matchOf(routes, { method, host, path }, headers)
  const isSame =
    match.refused === undefined &&
    match.api === api &&
    JSON.stringify(match.target) === JSON.stringify(target)
  if (!isSame)
    throw new Error(`found ${JSON.stringify([found, match])} for ${JSON.stringify(request).slice(0, 500)}`)
  return { api, ...(target && { target }) }
}

/** The sidecar's result. */
export function matchOf(
  routes: Routes,
  { method, host, path }: RequestLine,
  headers: readonly (readonly [name: string, value: string])[],
): RouteMatch {
  const header = (name: string) => {
    const values = headers.flatMap(([each, value]) => (lowerCase(each) === name ? [value] : []))
    return values.length === 0 ? undefined : values
  }
  return routes.match({ method, host: host === '' ? undefined : host, target: path, header })
}

const TEXTS = ['a', 'b', 'Ab', 'v2.0', 'a:b', 'x+y', 'items', 'items.csv', 'report', '.a', 'a.', 'A~']
const CAPTURES = ['{}', '{}', 'a{}', 'ab{}', 'B-{}', '.{}', 'items.{}']
const HOSTS = ['a.example', 'b.a.example', 'c.example:81', '*.example', '*.a.example', '*.b.example:81']
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE']
const CHARACTERS = [
  '.',
  'A',
  'a',
  '~',
  '/',
  '//',
  '%41',
  '%20',
  ';x',
  '.json',
  ':',
  '$',
  '?',
  '#',
  'é',
  '/..',
  ',',
]

/** Routes of chance. Those that would be ambiguous are left out one by one. */
export function randomSettings(random: (below: number) => number): readonly RouteSetting[] {
  let settings: RouteSetting[] = []
  for (let wish = 4 + random(8); wish > 0; wish--) {
    const next = [...settings, randomSetting(random, wish)]
    if (compileRoutes(next, undefined).routes !== undefined) settings = next
  }
  return settings
}

function randomSetting(random: (below: number) => number, number: number): RouteSetting {
  const one = <T>(from: readonly T[]) => from[random(from.length)] as T
  const captures: string[] = []
  const parts = Array.from({ length: random(4) }, (_, index) => {
    if (random(3) > 0) return `/${one(TEXTS)}`
    captures.push(`s${index}`)
    return `/${one(CAPTURES).replace('{}', `{s${index}}`)}`
  }).join('')
  const [first, second] = captures
  const from = (name: string | undefined, header: string) =>
    name === undefined ? (random(2) === 0 ? { fixed: '7' } : { header }) : { segment: name }
  return {
    path: parts === '' || random(2) === 0 ? `${parts}/` : parts,
    api: `api-${number}`,
    ...(random(3) === 0 && { host: one(HOSTS) }),
    ...(random(3) === 0 && { methods: [one(METHODS), ...(random(2) === 0 ? [one(METHODS)] : [])] }),
    ...(random(2) === 0 && {
      target: {
        account: from(first, 'X-Account'),
        ...(random(2) === 0 && { project: from(second, 'X-Project') }),
      },
    }),
  }
}

/** Two of three are what a program asks that means no harm. */
export function randomRequest(
  settings: readonly RouteSetting[],
  random: (below: number) => number,
): RequestLine {
  const one = <T>(from: readonly T[]) => from[random(from.length)] as T
  const { path = '/', host = 'a.example', methods = METHODS } = one(settings) ?? {}
  const filled = path.replace(/\{[^}]*\}/g, () => one(['1', 'x-2', '123456', 'a', 'Ab']))
  const below = path.endsWith('/') && random(2) === 0 ? one(['x', 'a/b', 'items', 'y.z']) : ''
  const request: RequestLine = {
    method: random(6) === 0 ? one(METHODS) : one(methods),
    host:
      random(6) === 0
        ? one(['elsewhere', 'B.A.example:80', 'c.a.example', 'c.example', 'c.example:8'])
        : host.replace('*', 'x'),
    path: `${filled}${below}${random(5) === 0 ? '?q=1' : ''}`,
    headers: [
      ...(random(3) > 0 ? [['x-account', '1'] as const] : []),
      ...(random(3) > 0 ? [['X-Project', 'web'] as const] : []),
    ],
  }
  if (random(3) > 0) return request
  const at = random(request.path.length + 1)
  const [before, after] = [request.path.slice(0, at), request.path.slice(at)]
  const kind = random(13)
  if (kind === 0) return { ...request, path: request.path.toUpperCase() }
  if (kind === 1) return { ...request, path: request.path.toLowerCase() }
  if (kind === 2)
    return { ...request, headers: [...(request.headers ?? []), [one(['X-Original-URL', 'x-account']), '2']] }
  if (kind === 3) return { ...request, path: `${before}${after.slice(1)}` }
  if (kind === 8) return { ...request, path: request.path.replace(/(?=\?|$)/, '/') }
  if (kind === 9) return { ...request, path: path.replace(/\{.*/, '') }
  if (kind === 10) return { ...request, host: one([request.host.toUpperCase(), `${request.host}:80`]) }
  if (kind === 11)
    return { ...request, path: `${filled}?${one(['_method=PUT', 'a=%25', '%61', 'a=method'])}` }
  if (kind === 12) return { ...request, method: 'HEAD' }
  return { ...request, path: `${before}${one(CHARACTERS)}${after}` }
}

/** Random whole numbers below a bound, the same for a seed in every run. */
export function generator(seed: number): (below: number) => number {
  const random = randomFrom(seed)
  return (below) => Math.floor(random() * below)
}
