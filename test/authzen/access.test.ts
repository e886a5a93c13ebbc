/** AuthZEN: its callers, its metadata, and that it is off by default. */
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../sidecar/config/config.ts'
import { isForThisMachine } from '../../sidecar/config/this-machine.ts'
import { type RequestHeaders, startIdentity } from '../support/identity/identity.ts'
import { testLoading } from '../support/processes/loaded.ts'
import {
  api,
  CALL,
  EVALUATION,
  EVALUATIONS,
  METADATA,
  SEARCHES,
  startAuthzen,
  token,
} from '../support/proxies/authzen.ts'
import { newFile } from '../support/suite/resources.ts'

const TOKEN = 'the-token-of-a-gateway-with-32-characters'
const EXPIRED = 'another-token-of-a-caller-who-has-expired'
const callers = [
  { name: 'gateway', token_sha256: hash('sha256', TOKEN) },
  { name: 'former', token_sha256: hash('sha256', EXPIRED), expires_at: '2020-01-01T00:00:00Z' },
]
const configOf = (config: object) => newFile(JSON.stringify({ callers, ...config }), 'config.json')
const bearer = (value: string): RequestHeaders => ({ authorization: `Bearer ${value}` })

const PATHS = [EVALUATION, EVALUATIONS, ...SEARCHES.map((searched) => `/access/v1/search/${searched}`)]
const QUESTION = { subject: token('static_token'), action: CALL, resource: api('balance') }

const open = await startAuthzen({ config: configOf({}) })
const closed = await startAuthzen({ config: configOf({ http: { public_url: 'https://pdp.example/of/us' } }) })

describe('callers', () => {
  test.each<[claim: string, headers: RequestHeaders, open: number, closed: number]>([
    ['a client without a token', {}, 200, 401],
    ['a caller', bearer(TOKEN), 200, 200],
    ['a caller, in another case', { authorization: `bearer ${TOKEN}` }, 200, 200],
    ['an unknown token', bearer('x'.repeat(40)), 401, 401],
    ['a caller who has expired', bearer(EXPIRED), 401, 401],
    ['a caller twice', { authorization: [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`] }, 401, 401],
    ['another scheme', { authorization: 'Basic YTpi' }, 401, 401],
    ['an IAM token', open.credentials.account, 200, 401],
    ['a page in a browser', { origin: 'https://a.example' }, 403, 403],
    ['a page that brings a token', { origin: 'https://a.example', ...bearer(TOKEN) }, 403, 403],
    ['under another name of the server', { host: 'a.example', ...bearer(TOKEN) }, 403, 403],
  ])('%s', async (_claim, headers, ...statuses) => {
    for (const [index, { post }] of [open, closed].entries())
      for (const path of PATHS) {
        const answer = await post(path, QUESTION, headers)
        expect([path, answer.status]).toEqual([path, statuses[index]])
        expect(answer.headers['www-authenticate']).toBe(
          answer.status === 401 ? 'Bearer realm="portcullis"' : undefined,
        )
        expect(answer.headers['cache-control']).toBe('no-store')
      }
  })

  test('a caller without the right learns nothing of the question', async () => {
    const { status, text } = await closed.post(EVALUATION, 'no JSON')
    expect([status, text]).toEqual([
      401,
      'every call of this listener needs a caller token: `authorization: Bearer …`',
    ])
  })

  test('refused callers leave a trace without their tokens', () => {
    const lines = closed.running.logLines.filter((line) =>
      line.includes('a question about access was refused'),
    )
    expect(lines.map((line) => JSON.parse(line).reason)).toEqual(
      expect.arrayContaining(['CALLER_TOKEN_MISSING', 'CALLER_TOKEN_INVALID']),
    )
    expect(closed.running.logLines.filter((line) => line.includes(TOKEN) || line.includes(EXPIRED))).toEqual(
      [],
    )
  })

  test.each<[config: object, open: boolean]>([
    [{}, true],
    [{ grpc: { address: '[::1]:50051' } }, true],
    [{ grpc: { address: 'unix:/run/portcullis.sock' } }, false],
    [{ grpc: { tls: { certificate: 'c', key: 'k', client_ca: 'a' } } }, false],
    [{ http: { tls: { certificate: 'c', key: 'k' } } }, false],
    [{ http: { trusted_proxies: ['10.0.0.1'] } }, false],
    [{ http: { public_url: 'https://pdp.example' } }, false],
    [{ http: { public_url: 'http://localhost:8180' } }, true],
    [{ http: { public_url: 'http://[::1]:8180' } }, true],
  ])('every client, with %j: %s', (config, expected) => {
    expect(isForThisMachine(readConfig({ file: newFile(JSON.stringify(config), 'config.json') }))).toBe(
      expected,
    )
  })
})

describe('the metadata', () => {
  const metadataAt = (url: string) => ({
    policy_decision_point: url,
    access_evaluation_endpoint: `${url}/access/v1/evaluation`,
    access_evaluations_endpoint: `${url}/access/v1/evaluations`,
    search_subject_endpoint: `${url}/access/v1/search/subject`,
    search_resource_endpoint: `${url}/access/v1/search/resource`,
    search_action_endpoint: `${url}/access/v1/search/action`,
  })

  test('names the address of the server, whatever name of it was asked', async () => {
    for (const host of [`127.0.0.1:${open.port}`, `localhost:${open.port}`]) {
      const { status, json, headers } = await open.ask({
        path: METADATA,
        headers: { host, 'x-request-id': 'a' },
      })
      expect([status, json]).toEqual([200, metadataAt(`http://127.0.0.1:${open.port}`)])
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'public, max-age=60',
      })
      // A cache may give it to others.
      for (const name of ['vary', 'x-request-id']) expect(headers).not.toHaveProperty(name)
    }
  })

  test('of a URL with a path is where the standard puts it, and needs no token', async () => {
    for (const path of [METADATA, `${METADATA}/of/us`])
      expect((await closed.ask({ path, headers: { host: 'pdp.example' } })).json).toEqual(
        metadataAt('https://pdp.example/of/us'),
      )
    for (const path of [`${METADATA}/of`, `${METADATA}/of/us/all`, `${METADATA}/x`])
      expect((await closed.ask({ path })).status).toBe(404)
    expect((await open.ask({ path: `${METADATA}/x` })).status).toBe(404)
  })

  test('answers HEAD and no other method', async () => {
    const head = await open.ask({ method: 'HEAD', path: METADATA })
    expect([head.status, head.text]).toEqual([200, ''])
    expect((await open.ask({ method: 'POST', path: METADATA })).status).toBe(405)
  })

  test('each endpoint that it names answers', async () => {
    const { json } = await open.ask({ path: METADATA })
    const endpoints = Object.entries<string>(json).filter(([name]) => name.endsWith('_endpoint'))
    expect(endpoints).toHaveLength(5)
    for (const [, url] of endpoints)
      expect((await open.post(new URL(url).pathname, QUESTION)).status).toBe(200)
  })
})

describe('it is off', () => {
  test('by default', async () => {
    const { ask } = await startIdentity()
    for (const path of PATHS) expect((await ask({ method: 'POST', path, body: QUESTION })).status).toBe(404)
    expect((await ask({ path: METADATA })).status).toBe(404)
  })

  testLoading(/sidecar\/http\/(authzen)\//, [
    ['HTTP', { http: { address: '127.0.0.1:0' } }, []],
    ['AuthZEN', { http: { address: '127.0.0.1:0', authzen: true } }, ['authzen']],
  ])
})
