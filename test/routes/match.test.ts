/** The API of a request. The rows are those of every protocol that uses routes. */
import { expect, test } from 'vitest'
import { compileRoutes } from '../../sidecar/rules/routes/compile-routes.ts'
import type { RouteSetting } from '../../sidecar/rules/routes/route.ts'
import type { Routes } from '../../sidecar/rules/routes/routes.ts'
import { holdsToRoutes, ROUTES } from '../support/inputs/paths.ts'

function routesOf(settings: readonly RouteSetting[]): Routes {
  const { routes, problems } = compileRoutes(settings, undefined)
  if (routes === undefined) throw new Error(problems.join('\n'))
  return routes
}

const routes = routesOf(ROUTES)

holdsToRoutes('the table of routes', ({ method, host, target, headers }) => {
  const match = routes.match({ method, host, target, header: (name) => headers[name] })
  return match.refused === undefined ? { api: match.api, target: match.target } : { refused: match.refused }
})

test('a host is needed only where some route names one', () => {
  const request = { method: 'GET', host: undefined, target: '/a', header: () => undefined }
  expect(routesOf([{ path: '/', api: 'balance' }]).match(request)).toMatchObject({ api: 'balance' })
  const ofHosts = routesOf([
    { path: '/', api: 'balance' },
    { path: '/', host: 'a.example', api: 'iam' },
  ])
  expect(ofHosts.match(request)).toMatchObject({ refused: 'NOT_CANONICAL' })
})

test('a header that overrides the method matters only where some route names a method', () => {
  const header = (name: string) => (name.includes('method') ? 'DELETE' : undefined)
  const request = { method: 'GET', host: 'a', target: '/a', header }
  expect(routesOf([{ path: '/', api: 'balance' }]).match(request)).toMatchObject({ api: 'balance' })
})

test('a path without a route has no API', () => {
  const request = { method: 'GET', host: 'a', target: '/b', header: () => undefined }
  expect(routesOf([{ path: '/a/', api: 'balance' }]).match(request)).toEqual({
    refused: 'NO_ROUTE',
    detail: 'no route has this method, host and path',
  })
})

test.each([
  ['dots', `/${'.'.repeat(8_000)}x`],
  ['blanks', `/${'%20'.repeat(2_700)}x`],
  ['segments', '/a'.repeat(4_000)],
  ['formats', `/${'.a'.repeat(4_000)}`],
])('a long row of %s is read in one go', (_claim, target) => {
  const many = routesOf([
    { path: '/', api: 'balance' },
    { path: '/x/', api: 'iam' },
    { path: '/{a}/{b}/x', api: 'iam' },
    { path: '/x/{b}/x', api: 'iam' },
  ])
  const match = many.match({ method: 'GET', host: 'a', target, header: () => undefined })
  expect(match).toMatchObject({ api: 'balance' })
})
