/** Express, Hono and Fastify behind the guards of the TypeScript client, with the routes of a table. */
import type { RequestListener } from 'node:http'
import fastify from 'fastify'
import {
  answerOf as answerOfFastify,
  requireToken as requireTokenOfFastify,
} from '../../../../clients/typescript/fastify.ts'
import {
  answerOf as answerOfHono,
  requireToken as requireTokenOfHono,
} from '../../../../clients/typescript/hono.ts'
import type { Client } from '../../../../clients/typescript/index.ts'
import { answerOf, requireToken } from '../../../../clients/typescript/node.ts'
import type { RouteSetting } from '../../../../sidecar/rules/routes/route.ts'
import { listening } from '../../proxies/middleware.ts'
import { whenTheFileEnds } from '../../suite/resources.ts'
import { frameworkIn } from '../frameworks.ts'

interface Express {
  all(path: string, handler: (request: object, response: Response) => void): void
  use(handler: unknown): void
}

interface Response {
  set(headers: object): Response
  end(): void
}

interface HonoContext {
  readonly req: { readonly raw: Request }
  body(body: null, status: number, headers: Record<string, string>): globalThis.Response
}

interface Hono {
  readonly fetch: (request: Request) => globalThis.Response | Promise<globalThis.Response>
  use(path: string, handler: unknown): void
  on(methods: readonly string[], path: string, handler: (context: HonoContext) => unknown): void
}

/** Where the first one wins: longer paths first, texts before names, and a path before what is below it. */
const specificFirst = (table: readonly RouteSetting[]) =>
  table.toSorted((one, other) => rank(other) - rank(one) || other.path.length - one.path.length)
const rank = ({ path }: RouteSetting) =>
  path.replace(/\/$/, '').split('/').length * 4 - (path.includes('{') ? 2 : 0) - (path.endsWith('/') ? 1 : 0)

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const named = (path: string) => path.replace(/\{(\w+)\}/g, ':$1')
const headersOf = (api: string, found: string | undefined) => ({ 'x-handler': api, 'x-found': found ?? '' })

export async function serveExpress(
  folder: string,
  table: readonly RouteSetting[],
  client: Client,
): Promise<string> {
  const app = frameworkIn<() => Express & RequestListener>(folder, 'express')()
  app.use(requireToken({ routes: true, client }))
  for (const { path, api, methods } of specificFirst(table)) {
    const handle = (request: object, response: Response) =>
      response.set(headersOf(api, answerOf(request)?.route?.api)).end()
    const text = named(path.replace(/(?<=\w):/, '\\:'))
    for (const each of path.endsWith('/') ? [text, `${text}*rest`] : [text])
      for (const method of methods ?? ['ALL'])
        (app as unknown as Record<string, Express['all']>)[method.toLowerCase()]?.(each, handle)
  }
  return listening(app)
}

export async function serveHono(
  folder: string,
  table: readonly RouteSetting[],
  client: Client,
): Promise<string> {
  const app = new (frameworkIn<{ Hono: new () => Hono }>(folder, 'hono').Hono)()
  app.use('*', requireTokenOfHono({ routes: true, client }))
  for (const { path, api, methods } of specificFirst(table)) {
    const handle = (context: HonoContext) =>
      context.body(null, 200, headersOf(api, answerOfHono(context)?.route?.api))
    app.on(methods ?? METHODS, named(path) + (path.endsWith('/') ? '*' : ''), handle)
  }
  const { getRequestListener } = frameworkIn<{ getRequestListener(fetch: Hono['fetch']): RequestListener }>(
    folder,
    '@hono/node-server',
  )
  return listening(getRequestListener(app.fetch))
}

export async function serveFastify(
  _folder: string,
  table: readonly RouteSetting[],
  client: Client,
): Promise<string> {
  const server = fastify()
  const onRequest = requireTokenOfFastify({ routes: true, client }) as never
  for (const { path, api, methods, host } of table)
    server.route({
      url: named(path.replace(/(?<=\w):/, '::')) + (path.endsWith('/') ? '*' : ''),
      method: [...(methods ?? METHODS)] as never,
      exposeHeadRoute: methods !== undefined,
      ...(host !== undefined && { constraints: { host } }),
      onRequest,
      handler: async (request, reply) =>
        reply.headers(headersOf(api, answerOfFastify(request)?.route?.api)).send(''),
    })
  whenTheFileEnds(() => server.close())
  return server.listen({ host: '127.0.0.1', port: 0 })
}
