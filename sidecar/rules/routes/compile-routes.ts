/**
 * Checks the routes of a configuration and makes them ready. Whatever depends on the order of the routes is
 * an error.
 */
import {
  HOST_EXPECTED,
  type PathPattern,
  parseHost,
  parsePath,
  pathExpected,
  type SegmentPattern,
} from './pattern.ts'
import type { Route, RouteSetting, TargetSetting, TargetSource } from './route.ts'
import { RouteTree } from './route-tree.ts'
import { Routes } from './routes.ts'

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
  let count = 0
  const onFault = (key: string, expected: string) => {
    if (++count <= PROBLEMS_MAX) problems.push(`${key}: ${expected}`)
  }
  const routes: Route[] = []
  const known: Known = { segments: new Map(), methods: new Map() }
  for (const [index, setting] of settings.entries()) {
    const expect: Expect = (holds, key, expected) => {
      if (!holds) onFault(`routes[${index}].${key}`, `expected ${expected}`)
    }
    if (apis !== undefined) expect(apis.has(setting.api), 'api', 'the id of an API of the matrix')
    const route = readRoute(setting, index, known, expect)
    if (route !== undefined) routes.push(route)
  }
  const tree = new RouteTree(routes, onFault)
  if (count > PROBLEMS_MAX) problems.push(`routes: and ${count - PROBLEMS_MAX} more`)
  return count > 0 ? { problems } : { routes: new Routes(tree) }
}

/** Most faults that are listed. The others are counted. */
const PROBLEMS_MAX = 100

type Expect = (holds: boolean, key: string, expected: string) => void

/** Parts that earlier routes had: many have them in common. */
interface Known {
  readonly segments: Map<string, SegmentPattern>
  readonly methods: Map<string, readonly string[]>
}

function readRoute(setting: RouteSetting, index: number, known: Known, expect: Expect): Route | undefined {
  const host = parseHost(setting.host)
  expect(host !== undefined, 'host', HOST_EXPECTED)
  const path = parsePath(setting.path, known.segments)
  if (path === undefined) expect(false, 'path', pathExpected(setting.path))
  if (host === undefined || path === undefined) return undefined
  const names = path.segments.flatMap((each) => (each.type === 'capture' ? [each.name] : []))
  expect(new Set(names).size === names.length, 'path', 'each {name} once')
  const { api, target } = setting
  return {
    index,
    api,
    host,
    path,
    methods: setting.methods && readMethods(setting.methods, known.methods, expect),
    namesHead: setting.methods?.includes('HEAD') ?? false,
    target: target && {
      account: readSource(target.account, 'account', path, expect),
      project: target.project && readSource(target.project, 'project', path, expect),
    },
  }
}

function readMethods(methods: readonly string[], known: Known['methods'], expect: Expect): readonly string[] {
  for (const [index, method] of methods.entries())
    expect(
      /^[A-Z][A-Z0-9_-]{0,31}$/.test(method) && method !== 'CONNECT',
      `methods[${index}]`,
      'a method in capitals, which is not CONNECT',
    )
  // Servers answer HEAD as they answer GET.
  const sorted = [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted()
  const key = sorted.join()
  const shared = known.get(key) ?? sorted
  known.set(key, shared)
  return shared
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
  return { from: 'segment', name, index, prefix: found?.type === 'capture' ? found.text : '' }
}
