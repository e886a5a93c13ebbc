/**
 * Properties of any table of routes: its order changes nothing, and the tree finds what the plain rule says,
 * which is written down here a second time. Where a server takes a request for another one, the request gets
 * the API of that one, or none.
 */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRoutes } from '../../sidecar/rules/routes/compile-routes.ts'
import type { Route, RouteMatch, RouteRequest, RouteSetting } from '../../sidecar/rules/routes/route.ts'
import type { Routes } from '../../sidecar/rules/routes/routes.ts'

const SEGMENTS = ['a', 'b', 'Ab', 'v2.0', 'a:b', 'x+y']
const CAPTURES = ['{}', 'a{}', 'ab{}', 'B-{}']
const HOSTS = ['a.example', 'b.a.example', '*.example', '*.a.example']
const METHODS = ['GET', 'HEAD', 'POST', 'DELETE']

const path = fc
  .tuple(fc.array(fc.constantFrom(...SEGMENTS, ...CAPTURES), { maxLength: 3 }), fc.boolean())
  .map(([parts, below]) => {
    const named = parts.map((part, index) => `/${part.replace('{}', `{s${index}}`)}`).join('')
    return named === '' || below ? `${named}/` : named
  })

const setting: fc.Arbitrary<RouteSetting> = fc.record(
  {
    path,
    api: fc.constant('balance'),
    host: fc.constantFrom(...HOSTS),
    methods: fc.uniqueArray(fc.constantFrom(...METHODS), { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['path', 'api'] },
)

/** Tables of routes that are accepted: those that would be ambiguous are left out one by one. */
const accepted: fc.Arbitrary<{ settings: readonly RouteSetting[]; routes: Routes }> = fc
  .array(setting, { minLength: 1, maxLength: 8 })
  .map((wishes) => {
    let kept: { settings: readonly RouteSetting[]; routes: Routes } | undefined
    for (const wish of wishes) {
      const settings = [...(kept?.settings ?? []), wish]
      const { routes } = compileRoutes(settings, undefined)
      if (routes !== undefined) kept = { settings, routes }
    }
    return kept as NonNullable<typeof kept>
  })

/** Pieces of paths, and what attackers write in their place. */
const PIECES = [
  ...['/', '/', '/', 'a', 'b', 'A', 'Ab', 'ab', 'v2.0', 'a:b', 'a%3Ab', 'x+y', 'c', 'B-', 'b-'],
  ...['//', '.', '..', '/../', '/./', '%2e', '%2E%2e', '%2F', '%2f', '%252F', '%61', '%41', '%62'],
  ...[
    ';x',
    ';',
    '%3B',
    '%3bx',
    '?',
    '%3F',
    '#',
    '%23',
    '\\',
    '%5C',
    '%5c..',
    '%20',
    '+',
    '%00',
    '.json',
    '%C0%AF',
  ],
  ...['%C3%A9', '%c3%A9', 'é', '%EF%BD%81', '%E2%80%8B', ':', '::$DATA', ','],
]
const target = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`)

const request: fc.Arbitrary<RouteRequest> = fc.record({
  method: fc.constantFrom(...METHODS),
  host: fc.constantFrom('a.example', 'b.a.example', 'x.example', 'B.A.EXAMPLE:80', 'elsewhere'),
  target,
  header: fc.constant(() => undefined),
})

/** A table, and requests that are written as in one of its routes, or nearly so. */
const asked = accepted.chain((table) => {
  const { all } = table.routes
  const near = fc
    .tuple(
      fc.constantFrom(...all),
      fc.array(fc.constantFrom(...SEGMENTS, 'abc', 'B-1'), { minLength: 4 }),
      request,
    )
    .map(([{ path, methods }, texts, other]): RouteRequest => {
      const [...left] = texts
      const filled = path.text.replace(/\{[^}]*\}/g, () => left.pop() ?? 'a')
      const below = path.below && left.length > 0 ? left.join('/') : ''
      return { ...other, method: methods?.[0] ?? other.method, target: `${filled}${below}` }
    })
  return fc.tuple(fc.constant(table), fc.oneof(near, near, request))
})

const summary = (match: RouteMatch, settings: readonly RouteSetting[]) =>
  match.refused ?? settings[match.route.index]

test('the order of the routes makes no difference', () => {
  const shuffled = accepted.chain(({ settings, routes }) =>
    fc.tuple(
      fc.constant({ settings, routes }),
      fc.shuffledSubarray([...settings], { minLength: settings.length }),
    ),
  )
  fc.assert(
    fc.property(shuffled, request, ({ 0: { settings, routes }, 1: other }, asked) => {
      const { routes: reordered } = compileRoutes(other, undefined)
      expect(reordered).toBeDefined()
      expect(summary((reordered as Routes).match(asked), other)).toEqual(
        summary(routes.match(asked), settings),
      )
    }),
  )
})

test('the route found is the first one by the plain rule, and it is found whenever one matches', () => {
  let decided = 0
  fc.assert(
    fc.property(asked, ([{ routes }, request]) => {
      const match = routes.match(request)
      if (match.refused === 'NOT_CANONICAL') return
      const matching = routes.all.filter((route) => matches(route, request))
      if (matching.length > 1) decided++
      const [first] = matching.toSorted(byPlainRule)
      expect(match.refused === undefined ? match.route : undefined).toBe(first)
    }),
    { numRuns: 3_000 },
  )
  expect(decided).toBeGreaterThan(100)
})

test('no two routes are the same for the plain rule, and it has no circle', () => {
  fc.assert(
    fc.property(accepted, ({ routes }) => {
      const order = routes.inOrder()
      for (const [index, route] of order.entries())
        for (const other of order.slice(index + 1)) {
          if (!overlap(route, other)) continue
          expect(byPlainRule(route, other)).toBeLessThan(0)
          expect(byPlainRule(other, route)).toBeGreaterThan(0)
        }
    }),
    { numRuns: 300 },
  )
})

test('the first route that matches, in the order that followers get, is the one that is found', () => {
  fc.assert(
    fc.property(accepted, request, ({ routes }, asked) => {
      const match = routes.match(asked)
      if (match.refused === 'NOT_CANONICAL') return
      const first = routes.inOrder().find((route) => matches(route, asked))
      expect(first).toBe(match.route)
      expect(routes.inOrder().length).toBe(routes.all.length)
    }),
    { numRuns: 300 },
  )
})

/** Another way to match: an expression for each route. */
function matches({ host, path: { segments, below }, methods }: Route, asked: RouteRequest): boolean {
  const name = asked.host?.toLowerCase().replace(/:\d+$/, '') ?? ''
  const [pathOnly = ''] = asked.target.split('?')
  const parts = segments.map((each) =>
    each.type === 'literal' ? `/${quoted(each.text)}` : `/${quoted(each.text)}[^/]+`,
  )
  const expression = new RegExp(`^${parts.join('')}${below ? '(/.*)?' : '/?'}$`)
  return (
    (host.startsWith('.') ? name.endsWith(host) : host === '' || host === name) &&
    (methods?.includes(asked.method) ?? true) &&
    expression.test(decodeURIComponent(pathOnly))
  )
}

const quoted = (text: string) => text.replace(/\W/g, '\\$&')

/**
 * The plain rule, of two routes for the same request: the host decides, then the segments from the left, then
 * the end of the path, then the methods. Below 0: the first one wins.
 */
function byPlainRule(one: Route, other: Route): number {
  const differences = [
    hostRank(other) - hostRank(one),
    ...one.path.segments.map((segment, index) => rank(other.path.segments[index]) - rank(segment)),
    other.path.segments.length - one.path.segments.length,
    Number(one.path.below) - Number(other.path.below),
    (one.methods?.length ?? 100) - (other.methods?.length ?? 100),
  ]
  return differences.find((difference) => difference !== 0) ?? 0
}

/** Any host, then wildcards, then names. */
const hostRank = ({ host }: Route) => (host === '' || host.startsWith('.') ? host.length : 1_000)

/** No segment, then captures, then texts. */
function rank(segment: Route['path']['segments'][number] | undefined): number {
  if (segment === undefined) return -1
  return segment.type === 'literal' ? 1_000 : segment.text.length
}

/** Whether some request is for both, which have the same host and path. */
function overlap(one: Route, other: Route): boolean {
  const shape = ({ host, path: { segments, below } }: Route) =>
    JSON.stringify([host, segments.map(({ type, text }) => [type, text]), below])
  const shared = one.methods?.some((method) => other.methods?.includes(method) ?? true) ?? true
  return shape(one) === shape(other) && shared
}

/**
 * The changes that servers make to a path before they look for its file. Each takes a path and returns the
 * one that it serves.
 */
const SERVERS: Readonly<Record<string, (path: string) => string>> = {
  'nginx, which decodes, merges slashes and follows dots': (path) =>
    encoded(withoutDots(merged(decoded(path)))),
  'a servlet container, which cuts parameters, decodes and follows dots': (path) =>
    encoded(withoutDots(decoded(withoutParameters(path)))),
  'one that decodes, and another behind it that cuts parameters': (path) =>
    encoded(withoutDots(withoutParameters(decoded(path)))),
  'a file system that ignores case, dots and blanks at the end, and takes a backslash for a slash': (path) =>
    encoded(withoutDots(trimmed(decoded(path).replaceAll('\\', '/').toLowerCase()))),
  'a framework that ignores case and a slash at the end': (path) => path.toLowerCase().replace(/\/+$/, ''),
  'a framework that cuts off a format': (path) => path.replace(/(?<=[^/])\.[a-z]+\/?$/, ''),
  'one that decodes twice': (path) => encoded(withoutDots(decoded(decoded(path)))),
  'one that cuts a decoded path at a question mark or a hash': (path) =>
    encoded(withoutDots(decoded(path).replace(/[?#].*/, ''))),
  'one that makes compatible characters the same': (path) =>
    encoded(withoutDots(decoded(path).normalize('NFKC').replaceAll('\u200b', ''))),
}

const merged = (path: string) => path.replace(/\/+/g, '/')
const withoutParameters = (path: string) => path.replace(/;[^/]*/g, '')
const trimmed = (path: string) => path.replace(/[. ]+(?=\/|$)/g, (end) => (/^\.{1,2}$/.test(end) ? end : ''))

/** Decodes what can be decoded, and takes the rest as it is. */
function decoded(path: string): string {
  return path.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => {
    const bytes = Buffer.from(run.replaceAll('%', ''), 'hex')
    return bytes.toString().includes('\ufffd') ? bytes.toString('latin1') : bytes.toString()
  })
}

function withoutDots(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/').slice(1))
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  return `/${kept.join('/')}`
}

/** A decoded path in the canonical way. */
function encoded(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,=:@/]+/g, (run) => encodeURIComponent(run.toWellFormed()))
}

test.each(Object.entries(SERVERS))(
  'paths that are the same for %s get the same route, or nothing',
  (_name, serve) => {
    fc.assert(
      fc.property(accepted, request, ({ routes }, asked) => {
        const [pathOnly = ''] = asked.target.split('?')
        const served = { ...asked, target: serve(pathOnly) || '/' }
        const [match, other] = [routes.match(asked), routes.match(served)]
        if (match.refused === 'NOT_CANONICAL' || other.refused === 'NOT_CANONICAL') return
        expect([match.refused, match.route]).toEqual([other.refused, other.route])
      }),
      { numRuns: 300 },
    )
  },
)

/** The differences between routers. Every combination is a router. */
interface Habits {
  /** Takes `/a/` for `/a`, where no route is for what is below. */
  readonly cutsSlash: boolean
  /** Takes `/a` for what is below `/a/`. */
  readonly includesTop: boolean
  /** Takes nothing for a name. */
  readonly takesNothing: boolean
  readonly headIsGet: boolean
  readonly ignoresCaseOfHost: boolean
  readonly ignoresPort: boolean
  readonly decodes: boolean
}

/** Those that take nothing for a name cut no slash. */
const habits: fc.Arbitrary<Habits> = fc
  .record({
    ...{ cutsSlash: fc.boolean(), includesTop: fc.boolean(), takesNothing: fc.boolean() },
    ...{ headIsGet: fc.boolean(), ignoresCaseOfHost: fc.boolean() },
    ...{ ignoresPort: fc.boolean(), decodes: fc.boolean() },
  })
  .filter(({ cutsSlash, takesNothing }) => !(cutsSlash && takesNothing))

/**
 * The route whose handler a router runs: the first one that it takes the request for, in the order in which
 * they decide.
 */
function servedBy(routes: Routes, has: Habits, asked: RouteRequest): Route | undefined {
  const [raw = ''] = asked.target.split('?')
  const pathOnly = has.decodes ? decodeURIComponent(raw) : raw
  const isFor = (route: Route, given: string) => {
    const { segments, below } = route.path
    const name = has.takesNothing ? '[^/]*' : '[^/]+'
    const parts = segments.map((each) =>
      each.type === 'literal' ? `/${quoted(each.text)}` : `/${quoted(each.text)}${name}`,
    )
    const top = has.includesTop || segments.length === 0 ? '(/.*)?' : '/.*'
    return new RegExp(`^${parts.join('')}${below ? top : ''}$`).test(given)
  }
  const hasHost = ({ host }: Route) => {
    const text = has.ignoresCaseOfHost ? (asked.host ?? '').toLowerCase() : (asked.host ?? '')
    const bare = (each: string) => (has.ignoresPort ? each.replace(/:\d+$/, '') : each)
    return host.startsWith('.') ? bare(text).endsWith(bare(host)) : host === '' || bare(host) === bare(text)
  }
  const hasMethod = ({ methods, namesHead }: Route) =>
    methods === undefined ||
    (asked.method === 'HEAD'
      ? (has.headIsGet && methods.includes('GET')) || namesHead
      : methods.includes(asked.method))
  const without = pathOnly.length > 1 && pathOnly.endsWith('/') ? pathOnly.slice(0, -1) : pathOnly
  return routes
    .inOrder()
    .find(
      (route) =>
        hasHost(route) &&
        hasMethod(route) &&
        (isFor(route, pathOnly) || (has.cutsSlash && !route.path.below && isFor(route, without))),
    )
}

test('a router runs the handler of the route that was found, whatever its habits, or the request is denied', () => {
  const apis = accepted.map(({ settings }) => {
    const named = settings.map((each, index) => ({ ...each, api: `api-${index % 3}` }))
    const { routes } = compileRoutes(named, undefined)
    return routes as Routes
  })
  const near = fc
    .tuple(apis, request, fc.nat(), fc.constantFrom('', '', '/', 'x', '?q'))
    .map(([routes, asked, which, end]) => {
      const { path: of, host } = routes.all[which % routes.all.length] as Route
      const given = of.text.replace(/\{[^}]*\}/g, () => ['q', 'a', ''][which % 3] as string)
      const written = host === '' || which % 2 === 0 ? asked.host : `b${host}`.replace(/^b(?!\.)/, '')
      return {
        routes,
        asked: which % 5 === 0 ? asked : { ...asked, host: written, target: `${given}${end}` },
      }
    })
  let compared = 0
  fc.assert(
    fc.property(near, habits, ({ routes, asked }, has) => {
      const match = routes.match(asked)
      if (match.refused !== undefined) return
      const served = servedBy(routes, has, asked)
      // A handler of no route is one that the operator has not declared.
      if (served === undefined) return
      compared++
      expect(served.api).toBe(match.api)
    }),
    { numRuns: 5_000 },
  )
  expect(compared).toBeGreaterThan(1_000)
})

test('whatever is asked, there is an answer', () => {
  const anyText = fc.oneof(fc.string({ unit: 'binary' }), target, fc.constantFrom('', '*', '/'))
  const anything = fc.record({
    method: fc.oneof(anyText, fc.constant('GET')),
    host: fc.option(fc.oneof(anyText, fc.constant('a.example')), { nil: undefined }),
    target: anyText,
    header: fc.option(anyText, { nil: undefined }).map((value) => () => value),
  })
  fc.assert(
    fc.property(accepted, anything, ({ routes }, asked) => {
      const match = routes.match(asked)
      expect([undefined, 'NOT_CANONICAL', 'NO_ROUTE', 'TARGET_NOT_FOUND']).toContain(match.refused)
    }),
  )
})
