/**
 * Checks the routes of a configuration and makes them ready. Whatever depends on the order of the routes is
 * an error.
 */
import {
  common,
  HOST_EXPECTED,
  keyOf,
  PATH_EXPECTED,
  type PathPattern,
  parseHost,
  parsePath,
  patternText,
  withoutPort,
} from './pattern.ts'
import type { Route, RouteSetting, TargetSetting, TargetSource } from './route.ts'
import { Routes } from './routes.ts'
import { folded } from './similar.ts'

/** The faults, each with the key of the configuration; or the routes. */
export type Compiled =
  | { readonly routes: Routes; readonly problems?: undefined }
  | { readonly routes?: undefined; readonly problems: readonly string[] }

/**
 * Makes routes of their settings. Their order makes no difference.
 *
 * @param apis ids of the APIs; `undefined`: they are not looked at
 */
export function compileRoutes(
  settings: readonly RouteSetting[],
  apis: { has(id: string): boolean } | undefined,
): Compiled {
  const problems: string[] = []
  const routes = settings.flatMap((setting, index): Route[] => {
    const expect: Expect = (holds, key, expected) => {
      if (!holds) problems.push(`routes[${index}].${key}: expected ${expected}`)
    }
    if (apis !== undefined) expect(apis.has(setting.api), 'api', 'the id of an API of the matrix')
    const route = readRoute(setting, index, expect)
    return route === undefined ? [] : [route]
  })
  problems.push(...hostsTwice(routes), ...writtenTwice(routes), ...ambiguities(routes))
  return problems.length > 0 ? { problems } : { routes: new Routes(routes) }
}

type Expect = (holds: boolean, key: string, expected: string) => void

function readRoute(setting: RouteSetting, index: number, expect: Expect): Route | undefined {
  const host = parseHost(setting.host)
  expect(host !== undefined, 'host', HOST_EXPECTED)
  const path = parsePath(setting.path)
  expect(path !== undefined, 'path', PATH_EXPECTED)
  if (host === undefined || path === undefined) return undefined
  const names = path.segments.flatMap((each) => (each.type === 'capture' ? [each.name] : []))
  expect(new Set(names).size === names.length, 'path', 'each {name} once')
  const { api, target } = setting
  return {
    index,
    api,
    host,
    path,
    methods: readMethods(setting.methods, expect),
    namesHead: setting.methods?.includes('HEAD') ?? false,
    target: target && {
      account: readSource(target.account, 'account', path, expect),
      project: target.project && readSource(target.project, 'project', path, expect),
    },
  }
}

function readMethods(methods: readonly string[] | undefined, expect: Expect): readonly string[] | undefined {
  if (methods === undefined) return undefined
  for (const [index, method] of methods.entries())
    expect(
      /^[A-Z][A-Z0-9_-]{0,31}$/.test(method) && method !== 'CONNECT',
      `methods[${index}]`,
      'a method in capitals, which is not CONNECT',
    )
  // Servers answer HEAD as they answer GET.
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted()
}

function readSource(
  setting: TargetSetting,
  part: 'account' | 'project',
  { segments }: PathPattern,
  expect: Expect,
): TargetSource {
  const { segment, header, fixed } = setting
  expect(Object.keys(setting).length === 1, `target.${part}`, 'exactly one of segment, header and fixed')
  if (fixed !== undefined) return { from: 'fixed', value: fixed }
  if (header !== undefined) {
    expect(/^[A-Za-z0-9-]+$/.test(header), `target.${part}.header`, 'the name of a header')
    return { from: 'header', name: header.toLowerCase() }
  }
  const name = segment ?? ''
  const index = segments.findIndex((each) => each.type === 'capture' && each.name === name)
  const found = segments[index]
  expect(
    found !== undefined || segment === undefined,
    `target.${part}.segment`,
    'the name of a {name} of the path',
  )
  return { from: 'segment', name, index, prefix: found?.type === 'capture' ? found.prefix : '' }
}

/** Hosts that differ in their port alone, which some servers ignore. */
function hostsTwice(routes: readonly Route[]): string[] {
  const seen = new Map<string, Route>()
  return routes.flatMap((route) => {
    const name = withoutPort(route.host)
    const other = seen.get(name) ?? route
    seen.set(name, other)
    if (other.host === route.host) return []
    return `routes[${route.index}].host: expected the port of routes[${other.index}], because some servers ignore it`
  })
}

/** Texts at the same place that some servers take for each other. */
function writtenTwice(routes: readonly Route[]): string[] {
  const seen = new Map<string, { readonly text: string; readonly index: number }>()
  const problems: string[] = []
  for (const { index, path } of routes) {
    let place = ''
    for (const segment of path.segments) {
      const text = segment.type === 'literal' ? segment.text : `${segment.prefix}{}`
      const key = `${place}/${folded(text)}`
      const other = seen.get(key) ?? { text, index }
      seen.set(key, other)
      if (other.text !== text)
        problems.push(
          `routes[${index}].path: expected \`${other.text}\` as in routes[${other.index}], found \`${text}\`, which some servers take for the same`,
        )
      place += `/${text}`
    }
  }
  return problems
}

/** Pairs of routes for the same request, where neither is the more specific one and no third one decides. */
function ambiguities(routes: readonly Route[]): string[] {
  const keys = new Map<string, Route>()
  const problems: string[] = []
  for (const route of routes) {
    const twin = keys.get(keyOf(route))
    if (twin === undefined) keys.set(keyOf(route), route)
    else problems.push(`routes[${route.index}]: expected other requests than those of routes[${twin.index}]`)
  }
  for (const route of routes)
    for (const other of routes) {
      if (other === route || problems.length === PROBLEMS_MAX) break
      const shared = common(route, other)
      // The more specific of the two, or a route for exactly what they share.
      if (shared === undefined || keys.has(keyOf(shared))) continue
      problems.push(
        `routes[${route.index}]: overlaps routes[${other.index}], and neither is the more specific one; expected a route for what both match: ${patternText(shared)}`,
      )
    }
  return problems
}

/** Most overlaps that are listed. */
const PROBLEMS_MAX = 20
