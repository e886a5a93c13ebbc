/**
 * The middleware of the client package in front of Express and Hono. The rows are those of
 * test/clients/middleware.test.ts, and the questions those of test/parity.
 */
import type { RequestListener } from 'node:http'
import { test } from 'vitest'
import {
  answerOf as answerOfHono,
  type Context,
  requireToken as requireTokenOfHono,
} from '../../clients/typescript/hono.ts'
import type { Client } from '../../clients/typescript/index.ts'
import { answerOf, requireToken } from '../../clients/typescript/node.ts'
import { holdsToTheTable } from '../parity/answers.ts'
import { startSidecars } from '../parity/people.ts'
import { middleware } from '../parity/protocols/middleware.ts'
import { frameworkIn, installFrameworks } from '../support/interop/frameworks.ts'
import { obtained } from '../support/interop/obtain.ts'
import { guards, listening } from '../support/proxies/middleware.ts'
import { guardsByRoutes, startRouted } from '../support/proxies/routed-middleware.ts'

const frameworks = await obtained('Express and Hono', installFrameworks)

/** The parts of Express that are used; its types are not installed here. */
interface Express {
  get(path: string, ...handlers: ((...given: never[]) => unknown)[]): void
  use(...handlers: unknown[]): Express
}

interface Hono {
  readonly fetch: (request: Request) => Response | Promise<Response>
  all(path: string, ...handlers: ((...given: never[]) => unknown)[]): void
  get(path: string, ...handlers: ((...given: never[]) => unknown)[]): void
}

interface HonoContext extends Context {
  readonly req: Context['req'] & { param(name: string): string }
  json(value: unknown): Response
}

if (!frameworks.ok) test.skipIf(true)('Express and Hono cannot be obtained', () => {})
else {
  const express = frameworkIn<() => Express & RequestListener>(frameworks.value, 'express')
  const { Hono } = frameworkIn<{ Hono: new () => Hono }>(frameworks.value, 'hono')
  const { getRequestListener } = frameworkIn<{
    getRequestListener(fetch: Hono['fetch']): RequestListener
  }>(frameworks.value, '@hono/node-server')

  guards('Express', async ({ target, ...options }) => {
    const app = express()
    const gate = requireToken('balance', {
      ...options,
      target: (request) => target((request as unknown as { params: { account: string } }).params.account),
    })
    app.get('/accounts/:account/balance', gate, (request: object, response: { json(value: unknown): void }) =>
      response.json({ served: answerOf(request)?.token?.subject.name }),
    )
    return listening(app)
  })

  guards('Hono', async ({ target, ...options }) => {
    const app = new Hono()
    const gate = requireTokenOfHono<HonoContext>('balance', {
      ...options,
      target: (context) => target(context.req.param('account')),
    })
    app.get('/accounts/:account/balance', gate, (context: HonoContext) =>
      context.json({ served: answerOfHono(context)?.token?.subject.name }),
    )
    return listening(getRequestListener(app.fetch))
  })

  const routed = await startRouted()

  guardsByRoutes('Express', routed, async (client) => {
    const app = express()
    const inner = express()
    inner.use(
      requireToken({ routes: true, client }),
      (request: object, response: { json(value: unknown): void }) =>
        response.json({ route: answerOf(request)?.route }),
    )
    // A mounted handler sees a path without its beginning.
    app.use('/iam', inner).use(inner)
    return listening(app)
  })

  const serveHono = async (client: Client) => {
    const app = new Hono()
    app.all('*', requireTokenOfHono({ routes: true, client }), (context: HonoContext) =>
      context.json({ route: answerOfHono(context)?.route }),
    )
    return listening(getRequestListener(app.fetch))
  }
  // Its server for Node refuses a host that is in capitals and has a port.
  guardsByRoutes('Hono', routed, serveHono, ({ host }) => !/[A-Z].*:/.test(host))

  const sidecars = await startSidecars()

  const ofExpress = middleware('Express', 'clients/typescript/node.ts', (gateOf) => {
    const app = express()
    const gate = (request: never, response: never, next: () => void) => {
      const { api, options } = gateOf((request as { params: { index: string } }).params.index)
      requireToken(api, options)(request, response, next)
    }
    app.get('/:index', gate, (request: object, response: { json(value: unknown): void }) =>
      response.json(answerOf(request)),
    )
    return listening(app)
  })

  const ofHono = middleware('Hono', 'clients/typescript/hono.ts', (gateOf) => {
    const app = new Hono()
    const gate = (context: HonoContext, next: () => Promise<void>) => {
      const { api, options } = gateOf(context.req.param('index'))
      return requireTokenOfHono(api, options)(context, next)
    }
    app.get('/:index', gate, (context: HonoContext) => context.json(answerOfHono(context)))
    return listening(getRequestListener(app.fetch))
  })

  for (const each of [ofExpress, ofHono]) holdsToTheTable(each, () => sidecars)
}
