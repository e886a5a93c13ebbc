/**
 * A client can find its call in the log and in the audit trail: by the id that it gave, or by the id of a
 * failure.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { PortcullisError } from '../../clients/typescript/error.ts'
import { everyProtocol } from '../parity/people.ts'
import { BlackBox, type Message, refused } from '../support/contract/black-box.ts'
import { askAt, type Request, TOKENS } from '../support/identity/identity.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../support/proxies/proxied.ts'
import { operatorOf } from '../support/sidecar/operator.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventuallyHolds } from '../support/suite/resources.ts'

describe('over gRPC', async () => {
  const running = await runSidecar()
  const secrets = await populate(running)
  const box = new BlackBox(running.address)
  const lines = () => running.logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
  const aboutRequest = (id: unknown) => lines().filter((line) => line.request_id === id)
  const wrongLogin = {
    password: { user_name: 'account', account: ACCOUNT, password: 'wrong' },
    scope: { account: ACCOUNT },
  }

  test('a refused call has the id that its client gave: in the answer, in the trace and in the line of each refusal', async () => {
    const id = randomUUID()
    const told = await refused(box.ask('issue', wrongLogin, { metadata: { 'x-request-id': id } }))
    expect(told).toMatchObject({ reason: 'LOGIN_FAILED', metadata: { request_id: id } })
    await eventuallyHolds(() =>
      expect(aboutRequest(id)).toEqual([
        expect.objectContaining({ level: 20, code: 'UNAUTHENTICATED', reason: 'LOGIN_FAILED' }),
        expect.objectContaining({ level: 40, msg: 'a login failed' }),
      ]),
    )
  })

  test('a refused call without an id gets none, and an invalid id is not repeated', async () => {
    for (const metadata of [{}, { 'x-request-id': secrets.staticToken }]) {
      const told = await refused(box.ask('issue', wrongLogin, { metadata }))
      expect(told.metadata).toEqual({})
    }
    expect(running.logLines.join('')).not.toContain(secrets.staticToken)
  })

  test('an unexpected error has an id, which is in its line with the stack', async () => {
    const operator = operatorOf(running)
    const { records } = running.sidecar.administration
    const get = vi.spyOn(records, 'account').mockImplementation(async () => {
      throw new Error('a defect')
    })
    const ids: unknown[] = []
    for (let call = 0; call < 2; call++) {
      const error = await operator.directory
        .getAccount({ account: ACCOUNT })
        .catch((caught: unknown) => caught)
      expect(error).toMatchObject({ code: 'INTERNAL', message: 'internal error' })
      const { request_id: id } = (error as PortcullisError).metadata
      expect(aboutRequest(id)).toEqual([
        expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'a defect' }) }),
      ])
      ids.push(id)
    }
    get.mockRestore()
    expect(new Set(ids).size).toBe(2)
  })

  test('a revocation has the id in the log and in the audit trail', async () => {
    const id = randomUUID()
    const login = {
      ...wrongLogin,
      password: { ...wrongLogin.password, password: secrets.passwordOf('account') },
    }
    const { value } = await box.ask('issue', login)
    await box.ask('revoke', { value }, { metadata: { 'x-auth-token': String(value), 'x-request-id': id } })
    expect(aboutRequest(id)).toEqual([expect.objectContaining({ level: 30, msg: 'a token was revoked' })])
    const records = await running.sidecar.administration.records.audit(ACCOUNT, { after: '', size: 1000 })
    const record = records.findLast(({ action }) => action === 'token.revoke')
    expect(record?.details.by).toMatchObject({ protocol: 'grpc', request_id: id })
  })

  test('a change of the directory has a line with who made it, and ten a minute have', async () => {
    const operator = operatorOf(running)
    for (let project = 0; project < 12; project++)
      await operator.directory.createProject({ account: ACCOUNT, name: `made-${project}` })
    const changes = () => lines().filter(({ msg }) => msg === 'the directory was changed')
    expect(changes()).toHaveLength(10)
    expect(changes()[0]).toMatchObject({ level: 30, operation: 'createProject', caller: 'administrator' })
  })
})

describe('an unexpected error has an id in the answer and in its line', async () => {
  const { flags, config } = everyProtocol()
  const running = await runSidecar({ flags, config })
  const operator = readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim()
  const port = Number(running.sidecar.httpAddress?.split(':').at(-1))
  const asProxy = { 'x-portcullis-proxy-secret': PROXY_SECRET, 'x-auth-token': 'a' }
  const byHttp = async (request: Request) => {
    const { headers, json } = await askAt(port, request)
    const shown = headers['x-openstack-request-id']
    // Where the body is for the client that sent the request to the proxy, the id is in it, too.
    if (json?.error?.message?.includes('operator')) expect(json.error.request_id).toBe(shown)
    return shown
  }
  const post = (path: string, body: object): Request => ({
    ...{ method: 'POST', path, body },
    headers: { 'content-type': 'application/json', authorization: `Bearer ${operator}` },
  })

  test.each<[protocol: string, ask: () => Promise<unknown>]>([
    [
      'gRPC',
      async () =>
        (await refused(new BlackBox(running.address).ask('plan', { apis: ['iam'] }))).metadata.request_id,
    ],
    ['Connect', () => byHttp(post('/portcullis.v1.AuthorizationService/Plan', { apis: ['iam'] }))],
    ['AuthZEN', () => byHttp(post('/access/v1/evaluation', {}))],
    ['the identity endpoint', () => byHttp({ path: TOKENS, headers: { 'x-auth-token': 'a' } })],
    ['/authorize', () => byHttp({ path: '/authorize/iam', headers: asProxy })],
    ['ext_authz over HTTP', () => byHttp({ path: '/ext-authz/api=iam/a', headers: asProxy })],
    [
      'ext_authz over gRPC',
      async () => {
        const { body } = await new EnvoyClient(running.address).ask({ context: { api: 'iam' } })
        return (body as { error: Message }).error.request_id
      },
    ],
  ])('%s', async (_protocol, ask) => {
    const engine = vi.spyOn(running.sidecar.rules, 'engine', 'get').mockImplementation(() => {
      throw new Error('a defect')
    })
    const id = await ask()
    engine.mockRestore()
    expect(id).toMatch(/^req-/)
    const lines = running.logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter((line) => line.request_id === id)).toEqual([
      expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'a defect' }) }),
    ])
  })
})
