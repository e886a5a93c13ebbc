/**
 * The routes in the memory of the TypeScript client find what the sidecar finds, whatever the request. They
 * find most of the requests that programs make every day.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LocalRoutes } from '../../clients/typescript/local-routes.ts'
import * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { encodedRoutes, routesMessage } from '../../sidecar/contract/route-messages.ts'
import { compileRoutes } from '../../sidecar/rules/routes/compile-routes.ts'
import type { RouteSetting } from '../../sidecar/rules/routes/route.ts'
import type { Routes } from '../../sidecar/rules/routes/routes.ts'
import {
  generator,
  matchOf,
  randomRequest,
  randomRouteLines,
  randomSettings,
} from '../support/conformance/routes.ts'
import { ENGINES, rulesOf } from '../support/conformance/rules.ts'
import { ROUTES } from '../support/inputs/paths.ts'

function routesOf(settings: readonly RouteSetting[]): Routes {
  const { routes, problems } = compileRoutes(settings, undefined)
  if (routes === undefined) throw new Error(problems.join('\n'))
  return routes
}

const localOf = (routes: Routes) => new LocalRoutes(routesMessage(routes))

test('it finds nothing that the sidecar does not find', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      // Each line is an error where the two differ.
      for (const _ of randomRouteLines(1, seed));
    }),
    { numRuns: 60 },
  )
})

test('also where the request is arbitrary', () => {
  const routes = routesOf(ROUTES)
  const local = localOf(routes)
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('/iam/', '/v2/1/servers/9', 'api.example.com', 'GET', '/v1/AUTH_web/', 'X-Account', '1'),
  )
  const anything = fc.record({
    method: text,
    host: text,
    path: fc.tuple(text, text).map((all) => all.join('')),
  })
  const headers = fc.array(fc.tuple(text, text), { maxLength: 3 })
  fc.assert(
    fc.property(anything, headers, (request, pairs) => {
      const found = local.find(request, pairs)
      if (found === undefined) return
      const match = matchOf(routes, request, pairs)
      expect(match.refused === undefined && { api: match.api, target: match.target }).toEqual(found)
    }),
    { numRuns: 1_000 },
  )
})

test('it finds what is written as in its route, and asks about little that has one', () => {
  let [routed, asked] = [0, 0]
  for (let seed = 0; seed < 60; seed++) {
    const random = generator(seed)
    const settings = randomSettings(random)
    const routes = routesOf(settings)
    const local = localOf(routes)
    for (let count = 0; count < 60; count++) {
      const request = randomRequest(settings, random)
      const pairs = (request.headers ?? []) as [string, string][]
      if (!/^[A-Za-z0-9/.:+~-]+(\?.*)?$/.test(request.path)) continue
      if (matchOf(routes, request, pairs).refused !== undefined) continue
      routed++
      if (local.find(request, pairs) === undefined) asked++
    }
  }
  expect(routed).toBeGreaterThan(1_000)
  expect(asked / routed).toBeLessThan(0.15)
})

test.each([
  ['dots', `/${'.'.repeat(8_000)}x`],
  ['formats', `/${'.a'.repeat(4_000)}`],
  ['capitals', `/${'A.'.repeat(4_000)}x`],
  ['segments', '/a'.repeat(4_000)],
])('a long row of %s is read in one go', (_claim, path) => {
  const local = localOf(
    routesOf([
      { path: '/', api: 'balance' },
      { path: '/x/', api: 'iam' },
      { path: '/{a}/{b}/x', api: 'iam' },
      { path: '/x/{b}/x', api: 'iam' },
      { path: `/${'y.'.repeat(100)}z`, api: 'iam' },
    ]),
  )
  expect(local.find({ method: 'GET', host: 'a', path }, [])).toEqual({ api: 'balance', target: undefined })
})

/** Routes whose paths are a little longer than the length. */
const manyRoutes = (count: number, length: number) =>
  routesOf(
    Array.from({ length: count }, (_, index) => ({ path: `/r${index}/${'x'.repeat(length)}`, api: 'iam' })),
  )

test('many routes come in pieces that each fit into a part', () => {
  const routes = manyRoutes(1_000, 500)
  const pieces = encodedRoutes(routes)
  expect(pieces.length).toBeGreaterThan(3)
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(131_072)
  expect(wire.Routes.decode(Buffer.concat(pieces))).toEqual(routesMessage(routes))
  const rules = wire.Rules.decode(rulesOf(ENGINES.shipped as never, manyRoutes(1_000, 1)))
  expect(rules.routes?.routes).toHaveLength(1_000)
})

test('routes that are too long to be sent are not sent in part', () => {
  expect(encodedRoutes(manyRoutes(33_000, 1_010))).toHaveLength(0)
  expect(encodedRoutes(undefined)).toHaveLength(0)
})

const message = (route: Partial<wire.Route>): wire.Routes => ({
  routes: [
    {
      ...{
        host: '',
        segments: [],
        below: true,
        methods: [],
        api: 'a',
        account: undefined,
        project: undefined,
      },
      ...route,
    },
  ],
  overrides: [],
})
const capture = { text: '', capture: true, folded: '' }

test.each<[claim: string, route: Partial<wire.Route>]>([
  ['a source that it does not know', { account: { source: undefined } }],
  ['a project without an account', { project: { source: { $case: 'fixed', value: 'p' } } }],
  ['a segment that is not there', { account: { source: { $case: 'segment', value: 7 } } }],
  [
    'a segment that is not a capture',
    {
      segments: [{ ...capture, text: 'x', folded: 'x', capture: false }],
      account: { source: { $case: 'segment', value: 0 } },
    },
  ],
])('a route of a newer sidecar with %s is asked about', (_claim, route) => {
  expect(new LocalRoutes(message(route)).find({ method: 'GET', host: 'a', path: '/x' }, [])).toBeUndefined()
})
