/** `portcullis route`: which API a request is for, by the routes of a configuration. */

import type { Command } from 'commander'
import type { AcceptedKind } from '../../../engine/index.ts'
import { carriageOf } from '../../../engine/places.ts'
import { columns } from '../../base/text-table.ts'
import { patternText } from '../../rules/routes/pattern.ts'
import type { Route, RouteMatch, RouteRequest, TargetSource } from '../../rules/routes/route.ts'
import type { Routes } from '../../rules/routes/routes.ts'
import { requestOf } from '../../rules/routes/written-request.ts'
import { EXIT, usageError } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { collect, configOption, print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

interface RouteOptions {
  readonly config?: string
  readonly header?: readonly string[]
  readonly json?: boolean
}

export function addRouteCommand(program: Command): void {
  const route = addHelpParts(
    program.command('route').description('Show what the routes of a configuration do with a request.'),
    { examples: ['route explain GET https://api.example.com/billing/items --config portcullis.yaml'] },
  )
  const explain = route
    .command('explain')
    .description('Explain which API a request is for and where its target was found, or why it is denied.')
    .argument('<method>', 'method of the request, for example GET')
    .argument('<url>', 'URL of the request, or its path with the query; it is used exactly as written')
    .addOption(configOption('configuration file, YAML or JSON, as `serve` takes it'))
    .option(
      '-H, --header <header>',
      "request header: 'NAME: VALUE', @FILE with one a line, or - for standard input",
      collect,
    )
    .option('--json', 'print the answer, or the error, as one line of JSON')
  addHelpParts(explain, {
    examples: [
      'route explain GET https://api.example.com/billing/items --config portcullis.yaml',
      'route explain DELETE /v2/234567/servers/7 -H Host:api.example.com --config portcullis.yaml',
    ],
    exitCodes: '0 a route was found, 1 the request is denied, 2 the configuration cannot be used',
    notes: ['No sidecar is needed. No credential is checked: use `portcullis check` for that.'],
  }).action(explainRoute)
}

async function explainRoute(method: string, url: string, options: RouteOptions): Promise<void> {
  const { routes, apis } = await routesOf(options.config)
  const request = requestOf(method, url, await headersOf(options.header))
  const match = routes.match(request)
  const hint = await hintFor(routes, request, match)
  const accepted = match.refused === undefined ? (apis.get(match.api)?.accepted ?? []) : []
  if (options.json) printJson(shown(match, hint, accepted))
  else print(describe(match, hint, accepted))
  process.exitCode = match.refused === undefined ? EXIT.done : EXIT.denied
}

/** As `serve` reads them. */
async function routesOf(file: string | undefined) {
  if (file === undefined) throw usageError('--config: expected the configuration file with the routes')
  const { ConfigError, readConfig } = await import('../../config/config.ts')
  const config = readConfig({ file, environment: process.env })
  if (config.routes === undefined) throw new ConfigError(`${file}: routes: expected a list of routes`)
  const { readRules } = await import('../read-rules.ts')
  const { openRoutes } = await import('../../process/open/open-routes.ts')
  const { apis } = readRules(config).engine
  return { routes: openRoutes(config, apis), apis }
}

async function headersOf(lines: readonly string[] | undefined): Promise<Map<string, string[]>> {
  const headers = new Map<string, string[]>()
  if (lines === undefined) return headers
  const { readHeaders } = await import('../sidecar-connection.ts')
  for (const [name, value] of readHeaders(lines)) {
    const lower = name.toLowerCase()
    headers.set(lower, [...(headers.get(lower) ?? []), value.trim()])
  }
  return headers
}

interface Hint {
  /** How a request that is not canonical could be written, and what it would be for. */
  readonly instead?: {
    readonly method: string
    readonly host: string | undefined
    readonly target: string
    readonly route: Route
  }
  readonly near: readonly { readonly route: Route; readonly differs: string }[]
  /** Routes that match as well, and would decide without the first one. */
  readonly others: readonly Route[]
}

async function hintFor(routes: Routes, request: RouteRequest, { refused, route }: RouteMatch): Promise<Hint> {
  const { matchingRoutes, meant, nearRoutes } = await import('../../rules/routes/explain-route.ts')
  if (refused === undefined || refused === 'TARGET_NOT_FOUND')
    return { near: [], others: matchingRoutes(routes, request).filter((each) => each !== route) }
  if (refused === 'NO_ROUTE') return { near: nearRoutes(routes, request), others: [] }
  const found = meant(routes, request)
  if (found === undefined) return { near: [], others: [] }
  const { method, host, target } = found.request
  return { instead: { method, host, target, route: found.match.route }, near: [], others: [] }
}

function shown(
  match: RouteMatch,
  { instead, near, others }: Hint,
  accepted: readonly AcceptedKind[],
): object {
  const before = others.map(routeShown)
  if (match.refused === undefined) {
    const { route, api } = match
    return { matched: true, route: routeShown(route), before, api, target: targetOf(match), accepted }
  }
  const { refused, detail, route } = match
  return {
    matched: false,
    ...{ refused, detail },
    ...(route && { route: routeShown(route), before }),
    ...(instead && { instead: { ...instead, route: routeShown(instead.route) } }),
    near: near.map(({ route, differs }) => ({ route: routeShown(route), differs })),
  }
}

function routeShown({ index, host, path, methods, api }: Route): object {
  return { index, host: host.startsWith('.') ? `*${host}` : host || undefined, path: path.text, methods, api }
}

/** Each part of the target, and where it was found. */
function targetOf({ target, route }: RouteMatch & { readonly refused: undefined }) {
  if (target === undefined || route.target === undefined) return undefined
  const { account, project } = route.target
  return {
    account: { value: target.account, from: sourceText(account) },
    ...(project && { project: { value: target.project, from: sourceText(project) } }),
  }
}

function sourceText(source: TargetSource): string {
  switch (source.from) {
    case 'segment':
      return `the segment {${source.name}}`
    case 'header':
      return `the header ${source.name}`
    case 'fixed':
      return 'the configuration'
  }
}

const DIFFERS: Readonly<Record<string, string>> = {
  method: 'it has other methods',
  host: 'it has another host',
  path: 'its path begins like this one',
}

function describe(
  match: RouteMatch,
  { instead, near, others }: Hint,
  accepted: readonly AcceptedKind[],
): string {
  const before = others.map((each) => [paint('dim', 'before'), routeText(each)])
  if (match.refused === undefined) {
    const rows = [
      [paint('green', 'matched'), routeText(match.route)],
      ...before,
      [paint('dim', 'api'), match.api],
      ...Object.entries(targetOf(match) ?? {}).map(([part, { value, from }]) => [
        paint('dim', part),
        `${value}, from ${from}`,
      ]),
      ...accepted.map(({ kind, ...place }) => [paint('dim', 'accepted'), `${kind} in ${carriageOf(place)}`]),
    ]
    return columns(rows)
  }
  const rows = [
    [paint('red', 'denied'), match.refused],
    ['', match.detail],
    ...(match.route ? [[paint('dim', 'route'), routeText(match.route)], ...before] : []),
    ...near.map(({ route, differs }) => [paint('dim', 'near'), `${routeText(route)}; ${DIFFERS[differs]}`]),
  ]
  if (instead !== undefined) {
    const { method, host = '', target, route } = instead
    rows.push([
      paint('dim', 'instead'),
      `${method} ${host}${target} is for ${route.api}, by ${routeText(route)}`,
    ])
  }
  return columns(rows)
}

function routeText(route: Route): string {
  return `routes[${route.index}]: ${patternText(route)}`
}
