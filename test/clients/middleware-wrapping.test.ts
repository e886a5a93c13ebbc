/** A guard of the client package changes nothing of a request that passes: node:http and Fastify. */
import type { RequestListener } from 'node:http'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { requireToken as requireTokenOfFastify } from '../../clients/typescript/fastify.ts'
import { requireToken } from '../../clients/typescript/node.ts'
import { listening } from '../support/proxies/middleware.ts'
import { populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const running = await runSidecar()
const secrets = await populate(running)
const client = running.connect()

/** The behaviours of a handler. Each is the path of a request, whose body it reads. */
const ACTS: Readonly<Record<string, RequestListener>> = {
  '/answers': (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => response.writeHead(299, 'Own', { 'x-own': ['a', 'b'] }).end(body))
  },
  '/streams': (request, response) => {
    response.writeHead(200, { trailer: 'x-own' })
    response.write('first')
    response.addTrailers({ 'x-own': 'trailer' })
    request.pipe(response)
  },
  '/aborts': (_request, response) => void response.destroy(),
}
const act: RequestListener = (request, response) => ACTS[request.url ?? '']?.(request, response)

/** Framework → a server, with a guard or without. */
const SERVERS: Readonly<Record<string, (isGuarded: boolean) => Promise<string>>> = {
  'node:http': async (isGuarded) => {
    const guard = requireToken('balance', { client })
    return listening((request, response) =>
      isGuarded ? guard(request, response, () => act(request, response)) : act(request, response),
    )
  },
  Fastify: async (isGuarded) => {
    const server = fastify()
    server.removeAllContentTypeParsers()
    server.addContentTypeParser('*', (_request, _body, done) => done(null))
    if (isGuarded) server.addHook('onRequest', requireTokenOfFastify('balance', { client }))
    server.all('/*', (request, reply) => {
      reply.hijack()
      act(request.raw, reply.raw)
    })
    whenTheFileEnds(() => server.close())
    return server.listen({ host: '127.0.0.1', port: 0 })
  },
}

test.each(Object.keys(SERVERS))('behind a guard of %s', async (name) => {
  const outcome = async (origin: string, path: string) => {
    const headers = { 'X-Token': secrets.staticToken, 'content-type': 'text/plain' }
    try {
      const answer = await fetch(`${origin}${path}`, {
        method: 'POST',
        headers,
        body: 'long '.repeat(100_000),
      })
      return [answer.status, answer.statusText, answer.headers.get('x-own'), await answer.text()]
    } catch {
      return 'no answer'
    }
  }
  const [bare, guarded] = await Promise.all([SERVERS[name]?.(false), SERVERS[name]?.(true)])
  for (const path of Object.keys(ACTS)) {
    const expected = await outcome(bare ?? '', path)
    expect(await outcome(guarded ?? '', path), path).toEqual(expected)
    expect(expected === 'no answer' || (expected[0] as number) < 300, path).toBe(true)
  }
  expect((await fetch(`${guarded}/answers`)).status).toBe(401)
})
