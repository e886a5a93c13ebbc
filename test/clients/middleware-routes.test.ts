/**
 * The middleware of the client package where the routes of the sidecar name the API, in front of node:http
 * and Fastify. Express and Hono are in test/interop/frameworks.test.ts.
 */
import { once } from 'node:events'
import { connect, type OutgoingHttpHeaders } from 'node:http2'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import {
  answerOf as answerOfFastify,
  requireToken as requireTokenOfFastify,
} from '../../clients/typescript/fastify.ts'
import { requireToken as requireTokenOfHono } from '../../clients/typescript/hono.ts'
import { answerOf, requireToken } from '../../clients/typescript/node.ts'
import { type AnyCheck, checkAnswer } from '../../clients/typescript/values.ts'
import { CheckResponse } from '../../proto/gen/portcullis/v1/authorization.ts'
import { Reason } from '../../proto/gen/portcullis/v1/decision.ts'
import { listening } from '../support/proxies/middleware.ts'
import { guardsByRoutes, startRouted } from '../support/proxies/routed-middleware.ts'
import { whenTheFileEnds } from '../support/suite/resources.ts'

const services = await startRouted()

guardsByRoutes('node:http', services, async (client) => {
  const gate = requireToken({ routes: true, client })
  return listening((request, response) =>
    gate(request, response, () => response.end(JSON.stringify({ route: answerOf(request)?.route }))),
  )
})

guardsByRoutes('Fastify', services, async (client) => {
  const server = fastify()
  const onRequest = requireTokenOfFastify({ routes: true, client })
  server.all('/*', { onRequest }, async (request) => ({
    route: answerOfFastify(request)?.route,
  }))
  whenTheFileEnds(() => server.close())
  return server.listen({ host: '127.0.0.1', port: 0 })
})

/** A client that keeps what it is asked. */
function recording(answer: object = {}) {
  const asked: AnyCheck[] = []
  const check = async (question: AnyCheck) => {
    asked.push(question)
    return { allowed: true, reason: 'ALLOWED', cacheForMs: 0, ...answer } as never
  }
  return { asked, client: { check } }
}

test("requests of HTTP/2 and of Fastify's `inject` are asked about whole", async () => {
  const { asked, client } = recording()
  const server = fastify({ http2: true })
  server.get('/*', { onRequest: requireTokenOfFastify({ routes: true, client }) }, async () => 'served')
  whenTheFileEnds(() => server.close())
  const ask = async (headers: OutgoingHttpHeaders) => {
    const session = connect(await origin)
    const stream = session.request({ ':path': '/a?b', ':authority': 'a.example', ...headers })
    const [answer] = await once(stream, 'response')
    session.destroy()
    return answer[':status']
  }
  const origin = server.listen({ host: '127.0.0.1', port: 0 })
  const sent = { 'x-token': ['secret', 'another'] }
  expect(await ask(sent)).toBe(200)
  expect(await ask({ ...sent, host: 'a.example' })).toBe(200)
  expect(await ask({ ...sent, host: 'b.example' })).toBe(200)
  const { statusCode } = await server.inject({ url: '/a?b', headers: { ...sent, host: 'a.example' } })
  expect(statusCode).toBe(200)
  const [over, same, other, injected] = asked as { credentials: [string, string][]; request: object }[]
  const request = { method: 'GET', host: 'a.example', path: '/a?b' }
  for (const each of [over, same, injected]) {
    expect(each?.request).toEqual(request)
    const values = each?.credentials.filter(([name]) => name === 'x-token' || name.startsWith(':'))
    expect(values).toEqual([
      ['x-token', 'secret'],
      ['x-token', 'another'],
    ])
  }
  expect(other?.request).toEqual({ ...request, host: 'a.example,b.example' })
})

test('a path that a framework has cut is asked about as it arrived', async () => {
  const { asked, client } = recording()
  const gate = requireToken({ routes: true, client })
  const url = await listening((request, response) => {
    Object.assign(request, { originalUrl: request.url, url: '/cut' })
    gate(request, response, () => response.end())
  })
  await fetch(`${url}/whole/cut?x`)
  expect(asked).toMatchObject([{ request: { method: 'GET', path: '/whole/cut?x' } }])
})

test('Hono without a server of Node gives the path of its URL', async () => {
  const { asked, client } = recording()
  const gate = requireTokenOfHono({ routes: true, client })
  const raw = new Request('http://api.example.com/a/b?c=d', { headers: { host: 'api.example.com' } })
  await gate({ req: { raw } }, async () => {})
  await gate({ req: { raw }, env: { incoming: { url: '/a/../a/b' } } }, async () => {})
  expect(asked).toMatchObject([
    { request: { method: 'GET', host: 'api.example.com', path: '/a/b?c=d' } },
    { request: { path: '/a/../a/b' } },
  ])
})

test('the routes may look for a target in any header, so all are sent', async () => {
  const { asked, client } = recording()
  const gate = requireToken({ routes: true, client })
  const url = await listening((request, response) => gate(request, response, () => response.end()))
  await fetch(url, { headers: { 'x-forwarded-host': 'other', 'x-token': 'secret' } })
  const [question] = asked as { credentials?: [string, string][] }[]
  expect(Object.fromEntries(question?.credentials ?? [])).toMatchObject({
    'x-forwarded-host': 'other',
    'x-token': 'secret',
  })
})

test('a target beside the routes is refused, and so is neither an API nor routes', () => {
  expect(() => requireToken({ routes: true, target: () => ({ account: '1' }) } as never)).toThrow(
    new TypeError('target: expected none, because the routes say it'),
  )
  for (const wrong of [{}, { routes: false }, undefined, null])
    expect(() => requireToken(wrong as never)).toThrow(
      new TypeError('api: expected the id of an API, or `{ routes: true }`'),
    )
})

test('the answer has the route, asked or from memory', async () => {
  const { asked, local } = services
  for (const client of [asked, local]) {
    const request = { method: 'GET', host: 'a', path: '/' }
    const answer = await client.check({ request, credentials: { 'X-Token': services.staticToken } })
    expect(answer).toMatchObject({ allowed: true, route: { api: 'balance', refused: undefined } })
  }
})

test('an answer that allows a request without its API allows nothing', () => {
  const response = CheckResponse.decode(CheckResponse.encode(checkResponse({})).finish())
  expect(checkAnswer(response).allowed).toBe(true)
  expect(checkAnswer(response, true).allowed).toBe(false)
  const api = { api: 'balance', target: undefined, refused: '' }
  expect(checkAnswer(checkResponse({ route: api }), true).allowed).toBe(true)
  expect(checkAnswer(checkResponse({ route: { ...api, refused: 'X' } }), true).allowed).toBe(false)
})

function checkResponse(more: Partial<CheckResponse>): CheckResponse {
  const empty = CheckResponse.decode(new Uint8Array())
  return { ...empty, allowed: true, reason: Reason.REASON_ALLOWED, ...more }
}
