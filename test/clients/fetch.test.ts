/**
 * The credential of a profile on requests of the TypeScript client, before real servers and a real sidecar.
 */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { credentialFetch } from '../../clients/typescript/fetch.ts'
import type { IssueQuestion } from '../../clients/typescript/index.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CALLER = 'sending-caller-token-0123456789abcdef'
const folder = join(newFolder(), 'data')
const { passwordOf } = await populate(await runSidecar({ folder }))
const job = { account: ACCOUNT, user_name: 'account', password_file: newFile(passwordOf('account')) }
const config = newFile(
  JSON.stringify({
    profiles: { job },
    callers: [{ name: 'job', token_file: newFile(CALLER), profiles: ['job'], rights: ['revoke'] }],
  }),
  'portcullis.json',
)
const { connect, client: verifier } = await runSidecar({ folder, config })
const client = connect({ callerToken: CALLER })

/** The requests that the servers saw, in order. */
let seen: {
  readonly server: string
  readonly method: string
  readonly token: string
  readonly body: string
}[] = []
beforeEach(() => {
  seen = []
})

async function serving(server: string, answer: RequestListener): Promise<string> {
  const http = createServer(async (request, response) => {
    const token = String(request.headers['x-auth-token'] ?? '')
    seen.push({ server, method: request.method ?? '', token, body: await textOf(request) })
    answer(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => void http.close().closeAllConnections())
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}

/** Counts what the sidecar is asked. */
function counting() {
  const asked: IssueQuestion[] = []
  const issue = (question: IssueQuestion) => {
    asked.push(question)
    return client.issue(question)
  }
  return { asked, send: credentialFetch({ issue }, { profile: 'job', api: 'iam' }) }
}

/** An API that asks the sidecar about the token, as it is now. */
const api = await serving('api', async (request, response) => {
  const { allowed } = await verifier.check({ api: 'iam', credentials: request.headersDistinct })
  response.writeHead(allowed ? 200 : 401).end('answer')
})

test('one token is asked for, and opens the API for many requests', async () => {
  const { asked, send } = counting()
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(api)))
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
  expect(asked).toEqual([{ profile: 'job', apis: ['iam'] }])
})

test('a token that an API refuses is renewed once, and the request is sent again', async () => {
  const { asked, send } = counting()
  await send(api)
  const [{ token: value } = { token: '' }] = seen
  await verifier.revoke({ value })
  const body = JSON.stringify({ name: 'one' })
  const responses = await Promise.all([1, 2, 3].map(() => send(api, { method: 'POST', body })))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(asked.slice(1)).toEqual([{ profile: 'job', apis: ['iam'], rejected: value }])
  expect(
    seen.filter((each) => each.token !== value && each.method === 'POST').map((each) => each.body),
  ).toEqual([body, body, body])
})

test('an API that refuses every token is asked twice, and its answer comes back', async () => {
  const closed = await serving('closed', (_request, response) => response.writeHead(401).end('no'))
  const { send } = counting()
  const response = await send(closed)
  expect([response.status, await response.text(), seen.length]).toEqual([401, 'no', 2])
})

test('a body that is a stream is sent once', async () => {
  const closed = await serving('closed', (_request, response) => response.writeHead(401).end('no'))
  const { send } = counting()
  const response = await send(closed, {
    method: 'POST',
    body: new Blob(['once']).stream(),
    duplex: 'half',
  } as RequestInit)
  expect([response.status, seen.map(({ body }) => body)]).toEqual([401, ['once']])
})

test('without a token nothing is sent', async () => {
  const send = credentialFetch(client, { profile: 'no-such-profile', api: 'iam' })
  await expect(send(api)).rejects.toMatchObject({ name: 'PortcullisError' })
  expect(seen).toEqual([])
})

test('the place of the token may be chosen', async () => {
  const sent = (place: string) => credentialFetch(client, { profile: 'job', api: 'iam', place })(api)
  expect((await sent('x-auth-token')).status).toBe(200)
  await expect(sent('X-Token')).rejects.toThrow('place: expected a place of ')
})

describe('redirects', () => {
  test('without end are an error', async () => {
    const origin = await serving('origin', (_request, response) =>
      response.writeHead(302, { location: '/' }).end(),
    )
    await expect(counting().send(origin)).rejects.toThrow('more than 20 redirects')
  })

  test('are not followed where the program does not want it', async () => {
    const origin = await serving('origin', (_request, response) =>
      response.writeHead(302, { location: '/' }).end(),
    )
    expect((await counting().send(origin, { redirect: 'manual' })).status).toBe(302)
  })
})

test.each([
  ['profile', { api: 'iam' }],
  ['api', { profile: 'job', api: '' }],
])('%s that is missing is an error at once', (field, options) => {
  expect(() => credentialFetch(client, options as never)).toThrow(`${field}: expected a name`)
})
