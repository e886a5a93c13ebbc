/**
 * The page of `console/`: the files that the build made, which are the same for all users, and the rules in
 * force for it. A caller that may call `GetMatrix` over HTTP may have the rules.
 */
import { hash } from 'node:crypto'
import type { HttpError, HttpReply, HttpRequest } from '../../base/http/exchange.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import { pageFile } from '../../base/package.ts'
import type { Admitting, Ruled } from '../../usecases/capabilities.ts'
import { type Admission, expectCaller } from '../callers-only.ts'
import { sendIfChanged } from '../etag.ts'
import { PAGE } from '../host-header.ts'
import { sendError } from '../http-error.ts'
import { sendJson } from '../json.ts'

export interface ConsoleOptions extends Pick<Admission, 'callersOnly'> {
  /** Whether the page may ask `Check` of this server. */
  readonly verify: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** As esbuild names them: with a hash of what is in them. */
const ASSET = /^[a-z-]+-[0-9A-Z]{8}\.(js|css)$/

/**
 * No script but ours runs, nothing is loaded from elsewhere, no text becomes markup, and no other page frames
 * this one.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** A cache asks each time whether it has the newest. */
const ASKS = 'no-cache'
/** A cache of one browser asks each time, with the credential that it has then. */
const ASKS_FOR_ONE = { 'cache-control': 'private, no-cache', vary: 'Authorization, Cookie' }
/** The name changes with the content. */
const NEVER_ASKS = 'public, max-age=31536000, immutable'

/** @param sessionOf absent: logins are off @throws Error where a checkout has not built the page */
export function addConsoleRoutes(
  routes: HttpRoutes,
  services: Ruled & Admitting,
  { verify, callersOnly }: ConsoleOptions,
  sessionOf: Admission['sessionOf'],
): void {
  const { rules } = services
  // Where it is off, the page has no trace of it.
  const options = { verify, controlPanel: services.controlPanel !== undefined }
  const page = pageFile('index.html')
  const version = hash('sha256', page, 'base64url')
  routes.before((request, reply) => {
    if (!isBrowserAtRoot(request)) return false
    reply.headers({ ...HEADERS, vary: 'Accept' }).redirect(PAGE, 302)
    return true
  })
  routes.get(PAGE, ({ raw, headers }, reply) => {
    // The server ignores the slash at the end, and a browser does not.
    if (!(raw.url ?? '').split('?')[0]?.endsWith('/')) return reply.redirect(PAGE, 308)
    prepared(reply, ASKS, 'text/html; charset=utf-8')
    return sendIfChanged(reply, page, version, headers['if-none-match'])
  })
  // Before anything else, so that no other client learns whether they have the newest.
  const onRequest = (request: HttpRequest) => expectCaller(services, request, { callersOnly, sessionOf })
  const refuse = (reply: HttpReply, error: HttpError) => sendRefusal(reply, error, options.controlPanel)
  routes.get(
    `${PAGE}rules.json`,
    ({ headers }, reply) => {
      const { matrix, engine } = rules
      if (matrix === undefined) return notFound(reply)
      prepared(reply, ASKS, 'application/json')
      if (callersOnly) reply.headers(ASKS_FOR_ONE)
      const mode = engine.strict ? 'strict' : 'resolved'
      const body = () => Buffer.from(JSON.stringify({ matrix, mode, ...options }))
      const version = [engine.rulesDigest, options.verify, options.controlPanel].join(' ')
      return sendIfChanged(reply, body, version, headers['if-none-match'])
    },
    { onRequest, sendError: refuse, ownTrace: true },
  )
  routes.get(`${PAGE}assets/:name`, ({ params: { name = '' } }, reply) => {
    const [, ending = ''] = ASSET.exec(name) ?? []
    const file = ending === '' ? undefined : fileOf(name)
    if (file === undefined) return notFound(reply)
    return prepared(reply, NEVER_ASKS, TYPES[ending] ?? '').send(file)
  })
}

/**
 * Whether a browser opened the bare address of the server. Only browsers ask for HTML; at the same path
 * Keystone's clients look for the versions of the identity endpoint.
 */
function isBrowserAtRoot({ method, url, headers: { accept = '' } }: HttpRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return /^\/(\?|$)/.test(url) && /(^|,)\s*text\/html\s*(,|$)/i.test(accept)
}

/** Unlike other answers of this server, these do not depend on a token. */
function prepared(reply: HttpReply, caching: string, type: string): HttpReply {
  reply.removeHeader('vary')
  return reply.headers({ ...HEADERS, 'cache-control': caching, 'content-type': type })
}

/** For the page: the message, and whether users can log in. */
function sendRefusal(
  reply: HttpReply,
  { status, reason, message, retryAfterSeconds }: HttpError,
  controlPanel: boolean,
): HttpReply {
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  return sendJson(reply, status, { reason, message, controlPanel })
}

function notFound(reply: HttpReply): HttpReply {
  return sendError(reply, { status: 404, message: 'there is no such path' }, '')
}

function fileOf(name: string): Buffer | undefined {
  try {
    return pageFile(`assets/${name}`)
  } catch {
    return undefined
  }
}
