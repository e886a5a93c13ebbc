/**
 * The page of `console/`: the files that the build made, and the rules in force for it. Needs no credential: who reaches this listener may
 * ask for the matrix anyhow.
 */
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { pageFile } from '../base/package.ts'
import type { Services } from '../usecases/services.ts'
import { sendError } from './errors.ts'
import { sendIfChanged } from './etag.ts'
import { PAGE } from './host.ts'

export interface ConsoleOptions {
  /** Whether the page may ask `Check` of this server. */
  readonly verify: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
}

/** As esbuild names them: with a hash of what is in them. */
const ASSET = /^[a-z-]+-[0-9A-Z]{8}\.(js|css)$/

/** No script but ours runs, nothing is loaded from elsewhere, no text becomes markup, and no other page frames this one. */
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
/** The name changes with the content. */
const NEVER_ASKS = 'public, max-age=31536000, immutable'

/** @throws Error where a checkout has not built the page */
export function addConsoleRoutes(
  server: FastifyInstance,
  { rules, controlPanel }: Pick<Services, 'rules' | 'controlPanel'>,
  { verify }: ConsoleOptions,
): void {
  const page = pageFile('index.html')
  const version = hash('sha256', page, 'base64url')
  server.get(PAGE, async ({ raw, headers }, reply) => {
    // The server ignores the slash at the end, and a browser does not.
    if (!(raw.url ?? '').split('?')[0]?.endsWith('/')) return reply.redirect(PAGE, 308)
    prepared(reply, ASKS, 'text/html; charset=utf-8')
    return sendIfChanged(reply, page, version, headers['if-none-match'])
  })
  server.get(`${PAGE}rules.json`, async ({ headers }, reply) => {
    const { matrix, engine } = rules
    if (matrix === undefined) return notFound(reply)
    prepared(reply, ASKS, 'application/json')
    const mode = engine.strict ? 'strict' : 'resolved'
    // Where it is off, the page has no trace of it.
    const options = { verify, controlPanel: controlPanel !== undefined }
    const body = () => Buffer.from(JSON.stringify({ matrix, mode, ...options }))
    const version = [engine.rulesDigest, options.verify, options.controlPanel].join(' ')
    return sendIfChanged(reply, body, version, headers['if-none-match'])
  })
  server.get<{ Params: { name: string } }>(`${PAGE}assets/:name`, async ({ params: { name } }, reply) => {
    const [, ending = ''] = ASSET.exec(name) ?? []
    const file = ending === '' ? undefined : fileOf(name)
    if (file === undefined) return notFound(reply)
    return prepared(reply, NEVER_ASKS, TYPES[ending] ?? '').send(file)
  })
}

/** Unlike other answers of this server, these do not depend on a token. */
function prepared(reply: FastifyReply, caching: string, type: string): FastifyReply {
  reply.removeHeader('vary')
  return reply.headers({ ...HEADERS, 'cache-control': caching, 'content-type': type })
}

function notFound(reply: FastifyReply): FastifyReply {
  return sendError(reply, { status: 404, message: 'there is no such path' }, '')
}

function fileOf(name: string): Buffer | undefined {
  try {
    return pageFile(`assets/${name}`)
  } catch {
    return undefined
  }
}
