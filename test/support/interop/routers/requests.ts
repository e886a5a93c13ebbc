/** Spellings of requests of a table of routes: as programs write them, and as attackers do. */
import type { RouteSetting } from '../../../../sidecar/rules/routes/route.ts'

/** A request, byte for byte. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  /** Header lines without their ends, the host included. */
  readonly headers: readonly string[]
}

/**
 * Each route is a separate API. Where a server registers the routes as a person does, its handlers are those
 * that the guard decides about. Routes of a host are only for servers that distinguish hosts.
 */
export const TABLE: readonly RouteSetting[] = [
  { path: '/', api: 'root' },
  { path: '/billing/', api: 'billing' },
  { path: '/billing/reports', api: 'reports' },
  { path: '/billing/reports/{year}/total', api: 'total' },
  { path: '/items/{id}', api: 'item' },
  { path: '/items/{id}/parts/', api: 'parts' },
  { path: '/pub/', api: 'pub' },
  { path: '/pub/admin/', api: 'pub-admin' },
  { path: '/admin/', api: 'admin' },
  { path: '/admin/x:y', api: 'verb' },
  { path: '/quotas', methods: ['GET'], api: 'quotas' },
  { path: '/limits', methods: ['GET', 'DELETE'], api: 'limits' },
  { path: '/below/only/', api: 'below-only' },
  { path: '/both', api: 'both' },
  { path: '/both/', api: 'both-below' },
]

/** Beside the others, for servers that distinguish hosts. */
export const HOSTS: readonly RouteSetting[] = [
  { path: '/hosted/', api: 'any-host' },
  { host: 'public.example.com', path: '/hosted/', api: 'one-host' },
]

type Random = (below: number) => number

/** @param random whole numbers below a bound */
export function randomRequest(table: readonly RouteSetting[], random: Random): RawRequest {
  const one = <T>(from: readonly T[]) => from[random(from.length)] as T
  const route = one(table)
  const filled = route.path.replace(/\{[^}]*\}/g, () => one(['7', '2025', 'reports', 'x', 'A.b']))
  const below =
    route.path.endsWith('/') && random(2) === 0 ? one(['x', 'reports', 'admin/x', 'a/b/', 'x.y']) : ''
  let target = `${filled}${below}`
  for (let count = random(4); count > 0; count--) target = one(SPELLINGS)(target, random)
  const method = random(3) > 0 ? one(route.methods ?? ['GET', 'GET', 'POST']) : one(METHODS)
  const named = route.host ?? 'a.example'
  const host = random(3) > 0 ? [`Host: ${named}`] : one(HOST_LINES)(named)
  const headers = random(6) === 0 ? [one(HEADERS)(target, one(['/pub', '/admin', '/billing', '/pub/']))] : []
  if (random(8) === 0) target += one(QUERIES)
  return { method, target, headers: [...host, ...headers] }
}

/** The request, as it is sent. */
export function bytesOf({ method, target, headers }: RawRequest, token: string): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers, `X-Token: ${token}`, 'Content-Length: 0']
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get', 'Get', 'PROPFIND']

const QUERIES = ['?', '?a=b', '?_method=DELETE', '?%5fmethod=PUT', '?a;_method=GET', '?/../admin/', '?a#b']

const HOST_LINES: readonly ((host: string) => readonly string[])[] = [
  (host) => [`Host: ${host.toUpperCase()}`],
  (host) => [`Host: ${host.replace(/^./, (letter) => letter.toUpperCase())}`],
  (host) => [`Host: ${host}:8080`],
  (host) => [`Host: ${host}:80`],
  (host) => [`Host: ${host}:443`],
  (host) => [`Host: ${host}.`],
  (host) => [`Host: ${host}:`],
  (host) => [`Host: x.${host}`],
  (host) => [`Host: user@${host}`],
  (host) => [`Host: ${host}`, 'Host: b.example'],
  (host) => ['Host: b.example', `X-Forwarded-Host: ${host}`],
  () => ['Host: public.example.com'],
]

const HEADERS: readonly ((target: string, prefix: string) => string)[] = [
  (target) => `SCRIPT_NAME: ${/^\/[^/]*/.exec(target)?.[0] ?? '/'}`,
  (_target, prefix) => `SCRIPT_NAME: ${prefix}`,
  () => 'SCRIPT_NAME:',
  (target) => `Script-Name: ${/^\/[^/]*/.exec(target)?.[0] ?? '/'}`,
  (_target, prefix) => `PATH_INFO: ${prefix}/x`,
  (_target, prefix) => `X-Script-Name: ${prefix}`,
  (_target, prefix) => `X-Forwarded-Prefix: ${prefix}`,
  (_target, prefix) => `X-Original-URL: ${prefix}/x`,
  (_target, prefix) => `X-Rewrite-URL: ${prefix}/x`,
  (_target, prefix) => `X_Rewrite_Url: ${prefix}/x`,
  () => 'X-HTTP-Method-Override: DELETE',
  () => 'X-HTTP-Method: GET',
  () => 'X_Method_Override: GET',
  () => 'X-Forwarded-Method: DELETE',
  () => 'X-Forwarded-Proto: https',
]

type Spelling = (target: string, random: Random) => string

/** At a place of chance, behind the first slash. */
const insert =
  (text: string): Spelling =>
  (target, random) => {
    const at = 1 + random(target.length)
    return target.slice(0, at) + text + target.slice(at)
  }

/** A character of chance becomes another one. */
const replaced =
  (change: (letter: string) => string): Spelling =>
  (target, random) => {
    const at = 1 + random(Math.max(1, target.length - 1))
    return target.slice(0, at) + change(target[at] ?? '') + target.slice(at + 1)
  }

/** A slash of chance becomes something else. */
const slash =
  (text: string): Spelling =>
  (target, random) => {
    let nth = random(target.split('/').length - 1)
    return target.replaceAll('/', (found) => (nth-- === 0 ? text : found))
  }

const encoded = (letter: string) =>
  letter === '' ? '' : `%${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`

const toggleSlash: Spelling = (target) => (target.endsWith('/') ? target.slice(0, -1) || '/' : `${target}/`)
const withoutLast: Spelling = (target) => target.replace(/[^/]*\/?$/, '') || '/'

const SPELLINGS: readonly Spelling[] = [
  ...[toggleSlash, toggleSlash, toggleSlash, withoutLast, withoutLast],
  (target) => withoutLast(target, () => 0).replace(/(?<=.)\/$/, ''),
  ...[replaced(encoded), replaced((letter) => encoded(letter).toLowerCase())],
  replaced((letter) => (letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase())),
  replaced(() => ''),
  (target) => target.toUpperCase(),
  ...['//', '/./', '/../', '/x/../', '\\', '%2F', '%2f', '%5C', '/%2e%2e/', '/..;/', ';x=1/', '/%2e/'].map(
    slash,
  ),
  ...[';x', ';', '%3B', '%00', '%20', '%', '.', '..', '.json', '+', '%C3%A9', 'é', '%E2%80%8B'].map(insert),
  ...['%EF%BD%81', '%25', '%2525', ':', '%3A', '*', '~', '%09', "'", '%C0%AF', '%3F', '%23'].map(insert),
  (target) => `${target}.json`,
  (target) => `${target}%20`,
  (target) => `http://b.example${target}`,
  (target) => `/${target}`,
  (target) => target.slice(1),
]
