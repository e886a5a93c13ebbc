/** Callers over HTTP: only those who may call over gRPC, and only pages of listed origins. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHECK, enveloped, envelopesIn, post } from '../support/contract/contract.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const LISTENING = { 'http.address': '127.0.0.1:0', 'http.connect': true }
const QUESTION = JSON.stringify({
  api: 'balance',
  token: { kind: 'static_token', scope: { account: ACCOUNT } },
})
const HEALTH = '/grpc.health.v1.Health/Check'
const ACCOUNTS = '/portcullis.v1.DirectoryService/CreateAccount'
const WATCH = '/portcullis.v1.AuthorizationService/WatchMatrix'
const JSON_TYPE = { 'content-type': 'application/json' }

test.each<[claim: string, http: object, flags: Record<string, string>]>([
  ['gRPC is on a Unix socket', {}, { 'grpc.address': `unix:${join(newFolder(), 'grpc.sock')}` }],
  ['a proxy speaks for others', { trusted_proxies: ['192.0.2.1'] }, {}],
  ['others know its URL', { public_url: 'https://identity.example' }, {}],
])('where %s, every call needs a caller token', async (_claim, http, flags) => {
  const config = newFile(JSON.stringify({ http }), 'portcullis.json')
  const { sidecar, folder, logLines } = await runSidecar({ config, flags: { ...LISTENING, ...flags } })
  const ask = (path: string, headers: object) =>
    post(sidecar.httpAddress ?? '', path, path === HEALTH ? '{}' : QUESTION, { ...JSON_TYPE, ...headers })
  const administrator = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  for (const path of [CHECK, HEALTH]) {
    const without = await ask(path, {})
    expect([without.status, without.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(without.body.toString()).toContain('"CALLER_TOKEN_MISSING"')
    const wrong = await ask(path, { authorization: `Bearer ${'x'.repeat(40)}` })
    expect([wrong.status, wrong.body.toString()]).toEqual([
      401,
      expect.stringContaining('"CALLER_TOKEN_INVALID"'),
    ])
    // A user does not count as a caller, as over gRPC with certificates.
    expect((await ask(path, { 'x-auth-token': 'x' })).status).toBe(401)
    expect((await ask(path, { authorization: `Bearer ${administrator}` })).status).toBe(200)
  }
  expect((await ask('/identity/v3', {})).status).not.toBe(401)
  // Each came on another connection: equal refusals are in the log once, and counted from then on.
  const refused = logLines.filter((line) => line.includes('a client was refused'))
  expect(refused.map((line) => JSON.parse(line))).toMatchObject(
    ['CALLER_TOKEN_MISSING', 'CALLER_TOKEN_INVALID'].map((reason) => ({
      ...{ level: 40, reason, protocol: 'http', address: '127.0.0.1' },
    })),
  )
})

test.each([{}, { public_url: 'http://localhost:8180' }, { public_url: 'http://[::1]:8180/x' }])(
  'where gRPC is open to this machine and HTTP to no other, a check needs none: %j',
  async (http) => {
    const config = newFile(JSON.stringify({ http }), 'portcullis.json')
    const { sidecar } = await runSidecar({ config, flags: LISTENING })
    expect((await post(sidecar.httpAddress ?? '', CHECK, QUESTION)).status).toBe(200)
  },
)

test('a caller acts with their rights, and the audit trail says that it was over HTTP', async () => {
  const { sidecar, folder } = await runSidecar({ flags: LISTENING })
  const token = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  const create = (headers: object) =>
    post(sidecar.httpAddress ?? '', ACCOUNTS, JSON.stringify({ account: ACCOUNT }), {
      ...JSON_TYPE,
      ...headers,
    })
  expect((await create({})).status).toBe(401)
  expect((await create({ authorization: [`Bearer ${token}`, `Bearer ${token}`] })).status).toBe(401)
  expect((await create({ authorization: `Bearer ${token}` })).status).toBe(200)
  const trail = await sidecar.administration.records.audit(ACCOUNT, { after: '0', size: 10 })
  expect(trail.map(({ details }) => details.by)).toMatchObject([{ protocol: 'http', address: '127.0.0.1' }])
})

test('a withdrawn caller loses the streams that are open', async () => {
  const token = 'report-job'.repeat(4)
  const caller = { name: 'job', token_sha256: createHash('sha256').update(token).digest('hex') }
  const config = newFile(JSON.stringify({ callers: [caller] }), 'portcullis.json')
  const socket = join(newFolder(), 'grpc.sock')
  const { sidecar } = await runSidecar({ config, flags: { ...LISTENING, 'grpc.address': `unix:${socket}` } })
  const headers = { 'content-type': 'application/connect+json', authorization: `Bearer ${token}` }
  const watching = post(sidecar.httpAddress ?? '', WATCH, enveloped('{}'), headers)
  // The call is open when a later one of the same kind has its first answer.
  const short = { ...headers, 'connect-timeout-ms': '50' }
  await eventually(async () => {
    const { body } = await post(sidecar.httpAddress ?? '', WATCH, enveloped('{}'), short)
    return envelopesIn(body).length > 1
  })
  writeFileSync(config, JSON.stringify({ callers: [] }))
  sidecar.reload()
  const [first, last] = envelopesIn((await watching).body)
  expect(JSON.parse(first?.bytes.toString() ?? '')).toHaveProperty('matrix')
  expect(JSON.parse(last?.bytes.toString() ?? '')).toMatchObject({ error: { code: 'unauthenticated' } })
})

describe('pages', async () => {
  const ORIGIN = 'https://console.example'
  const http = { authzen: true, jwks: true, cors: { origins: [ORIGIN] } }
  const config = newFile(JSON.stringify({ http }), 'portcullis.json')
  const { sidecar } = await runSidecar({ config, flags: LISTENING })
  const address = sidecar.httpAddress ?? ''
  const preflight = (path: string, origin: string) =>
    post(
      address,
      path,
      '',
      {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,authorization',
      },
      'OPTIONS',
    )

  test('of a listed origin may call', async () => {
    const { status, headers } = await preflight(CHECK, ORIGIN)
    expect([status, headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': ORIGIN,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': expect.stringContaining('Authorization'),
      },
    ])
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
    const answer = await post(address, CHECK, QUESTION, { ...JSON_TYPE, origin: ORIGIN })
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, ORIGIN])
    expect(answer.headers.vary).toMatch(/\bOrigin\b/)
  })

  test('must ask before: a type that forms can send is refused', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', origin: ORIGIN }
    expect((await post(address, CHECK, QUESTION, form)).status).toBe(415)
  })

  test.each([
    ['another origin', CHECK, 'https://example.com'],
    ['no origin at all', CHECK, 'null'],
    ['the same name over http', CHECK, 'http://console.example'],
    ['another port', CHECK, `${ORIGIN}:8443`],
    ['a listed origin at the identity endpoint', '/identity/v3', ORIGIN],
    ['a listed origin at the document', '/openapi.json', ORIGIN],
    ['a listed origin at AuthZEN', '/access/v1/evaluation', ORIGIN],
    ['a listed origin at the metadata of AuthZEN', '/.well-known/authzen-configuration', ORIGIN],
    ['a listed origin at the keys', '/.well-known/jwks.json', ORIGIN],
  ])('of %s may not', async (_claim, path, origin) => {
    for (const answer of [
      await preflight(path, origin),
      await post(address, path, QUESTION, { ...JSON_TYPE, origin }),
    ]) {
      expect(answer.status).toBe(403)
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })
})
