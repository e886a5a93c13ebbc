/** The routes of egress: checks what a schema cannot, and reads their certificates. */

import { bareHost, isLoopback } from '../base/address.ts'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../base/bounded-file.ts'
import { type Config, ConfigError } from './config.ts'

/** A route, checked. */
export interface ConfiguredRoute {
  readonly path: string
  readonly url: URL
  readonly api: string
  readonly profile: string
  readonly project: string | undefined
  readonly place: string | undefined
  readonly callers: ReadonlySet<string> | 'anyone'
  /** PEM. */
  readonly ca: string | undefined
  readonly timeoutMs: number
  readonly maxConcurrent: number
}

type RouteOfFile = NonNullable<Config['egress']['routes']>[number]

/** Segments that need no encoding, so that a path can be written in one way. */
const PATH = /^\/(?:[A-Za-z0-9._~-]+\/)*$/
const DOT_SEGMENT = /\/\.{1,2}\//

const TIMEOUT_MS = 30_000
const CONCURRENT_MAX = 256

/**
 * @param profiles names of the profiles
 * @throws ConfigError that names every key that is not as expected
 */
export function readRoutes(config: Config, profiles: ReadonlySet<string>): ConfiguredRoute[] {
  const { routes = [] } = config.egress
  if (routes.length === 0) throw new ConfigError('egress.routes: expected one route or more')
  // Here a caller is known by a token alone: the listener has no certificates.
  const known = config.callers?.filter(({ token_file, token_sha256 }) => token_file ?? token_sha256)
  const callers = new Set(known?.map(({ name }) => name))
  if (config.administrator_token) callers.add('administrator')
  const problems: string[] = []
  const read = routes.map((route, index) => {
    const at = `egress.routes[${index}]`
    const expect = (holds: boolean, key: string, expected: string) => {
      if (!holds) problems.push(`${at}.${key}: expected ${expected}`)
    }
    checkPath(route, routes.slice(0, index), expect)
    expect(profiles.has(route.profile), 'profile', 'the name of a profile')
    if (typeof route.callers === 'string')
      expect(route.callers === 'anyone', 'callers', 'a list of callers, or the word anyone')
    else
      for (const [position, name] of route.callers.entries())
        expect(callers.has(name), `callers[${position}]`, 'the name of a caller who has a token')
    const url = urlOf(route, expect)
    expect(route.ca === undefined || url.protocol === 'https:', 'ca', 'a URL with https')
    return {
      path: route.path,
      url,
      api: route.api,
      profile: route.profile,
      project: route.project,
      place: route.place,
      callers: typeof route.callers === 'string' ? ('anyone' as const) : new Set(route.callers),
      ca: route.ca === undefined ? undefined : readCertificates(`${at}.ca`, route.ca, problems),
      timeoutMs: route.timeout_ms ?? TIMEOUT_MS,
      maxConcurrent: route.max_concurrent ?? CONCURRENT_MAX,
    }
  })
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  return read
}

type Expect = (holds: boolean, key: string, expected: string) => void

function checkPath({ path }: RouteOfFile, earlier: readonly RouteOfFile[], expect: Expect): void {
  expect(
    PATH.test(path) && !DOT_SEGMENT.test(path),
    'path',
    'a path with a slash at both ends, whose segments have letters, digits, `.`, `_`, `~` and `-` alone',
  )
  // The meant route of two would depend on the order of the search.
  const other = earlier.find((each) => each.path.startsWith(path) || path.startsWith(each.path))
  expect(other === undefined, 'path', `a path that is not the beginning of another, found ${other?.path}`)
}

function urlOf({ url: text }: RouteOfFile, expect: Expect): URL {
  const url = URL.parse(text)
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(bareHost(url.hostname)))
  expect(url !== null, 'url', 'a URL')
  if (url === null) return new URL('https://invalid.invalid/')
  expect(safe, 'url', 'https; http sends a token in the clear, and is for targets on this machine alone')
  // `URL` drops an empty query and an empty fragment.
  expect(!/[?#]/.test(text), 'url', 'a URL without a query and a fragment')
  expect(
    url.username === '' && url.password === '' && !text.includes('@'),
    'url',
    'a URL without credentials',
  )
  // A reader of the file may have understood otherwise what `URL` has changed.
  expect(
    text.replace(/^\w+:\/\/[^/]+/, '') === url.pathname && PATH.test(url.pathname),
    'url',
    'a canonical path with a slash at the end',
  )
  return url
}

function readCertificates(key: string, path: string, problems: string[]): string | undefined {
  try {
    const text = readAtMost(path, SMALL_FILE_BYTES_MAX).toString()
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
    problems.push(`${key}: expected a PEM file with certificates in ${path}`)
  } catch (error) {
    problems.push(`${key}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  return undefined
}
