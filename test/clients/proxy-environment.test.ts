/**
 * Connections to loopback and Unix sockets never use the proxy of the environment, in any program that is
 * shipped. Those to another machine use it over TLS alone.
 */
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { ClientOptions } from '../../clients/typescript/index.ts'
import { FakeUpstream } from '../support/identity/upstream.ts'
import { run, serve } from '../support/processes/processes.ts'
import { startForwardProxy } from '../support/proxies/forward-proxy.ts'
import { CERTIFICATE, KEY } from '../support/proxies/self-signed.ts'
import { connect } from '../support/sidecar/client.ts'
import { ask, startTarget } from '../support/sidecar/egress.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { startEndpoint } from '../support/signals/otlp.ts'
import { eventually, freePort, newFile, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const CALLER = 'proxied-caller-token-0123456789abcdef'
const callerTokenFile = newFile(CALLER)
const caller = { name: 'program', token_file: callerTokenFile, rights: ['everything'] }
const folder = join(newFolder(), 'data')
const secrets = await populate(await runSidecar({ folder }))
const token = newFile(`X-Token: ${secrets.staticToken}`)

const proxy = await startForwardProxy(['server.example'])
const { environment } = proxy
beforeEach(() => proxy.forget())
const expectUnseen = () => expect(proxy.seen).toEqual([])

const configOf = (config: object) =>
  newFile(JSON.stringify({ callers: [caller], ...config }), 'portcullis.json')

describe('on this machine no connection goes through it:', async () => {
  const target = await startTarget()
  const endpoint = await startEndpoint()
  const upstream = await FakeUpstream.start([
    { account: '700', name: 'remote', password: 'a-password-of-the-cloud', roles: { '': ['member'] } },
  ])
  const config = configOf({
    callers: [{ ...caller, profiles: ['job', 'cloud'] }],
    http: { address: '127.0.0.1:0' },
    health: { address: '127.0.0.1:0' },
    egress: {
      address: '127.0.0.1:0',
      routes: [{ path: '/', url: target.url, api: 'balance', profile: 'job', callers: 'anyone' }],
    },
    traces: { otlp: { url: `${endpoint.origin}/v1/traces` }, sample_percent: 100 },
    decision_log: { otlp: { url: `${endpoint.origin}/v1/logs` } },
    upstreams: { cloud: { auth_url: upstream.url } },
    profiles: {
      job: { account: ACCOUNT, user_name: 'account', password_file: newFile(secrets.passwordOf('account')) },
      cloud: {
        upstream: 'cloud',
        ...{ account: '700', user_name: 'remote', password_file: newFile('a-password-of-the-cloud') },
      },
    },
  })
  const socket = `unix:${join(newFolder(), 'grpc.sock')}`
  const hub = await serve(['--data', folder, '--config', config, '--http', '127.0.0.1:0'], { environment })
  const { grpc: address, health = '', egress = '' } = hub.ready as typeof hub.ready & { egress?: string }
  const beside = await serve(['--data', folder, '--config', configOf({}), '--grpc', socket], { environment })
  expect(beside.ready.grpc).toBe(socket)
  const follower = configOf({ directory: { hub: { addresses: [address], token_file: callerTokenFile } } })

  const agent = newFile(
    JSON.stringify({
      sidecar: { address, caller_token_file: callerTokenFile },
      tokens: [{ profile: 'job', apis: ['balance'], file: join(newFolder(), 'token') }],
    }),
    'agent.json',
  )
  const byCaller = ['--caller-token-file', callerTokenFile]

  test.each<[what: string, words: readonly string[]]>([
    ['a check', ['check', 'balance', '-H', `@${token}`, '--address', address]],
    [
      'a check at a name',
      ['check', 'balance', '-H', `@${token}`, '--address', address.replace('127.0.0.1', 'localhost')],
    ],
    ['a check at a Unix socket', ['check', 'balance', '-H', `@${token}`, '--address', socket]],
    [
      'a token of a profile',
      ['token', '--profile', 'job', '--api', 'balance', ...byCaller, '--address', address],
    ],
    ['administration', ['account', 'list', ...byCaller, '--address', address]],
    ['the health service', ['health', '--address', address]],
    ['the health listener', ['health', '--health', health]],
    ['the agent', ['agent', '--config', agent, '--once']],
    ['doctor, of a directory', ['doctor', '--config', config, '--data', folder, '--grpc', address]],
    [
      'doctor, of a follower',
      ['doctor', '--config', follower, '--data', newFolder(), '--grpc', 'unix:/nowhere'],
    ],
  ])('%s', async (_what, words) => {
    const { code, stderr } = await run(words, { environment })
    expect(code, stderr).toBe(0)
    expectUnseen()
  })

  test('PostgreSQL', async () => {
    const url = `postgres://user@127.0.0.1:${await freePort()}/directory`
    const words = ['doctor', '--config', configOf({ directory: { url } }), '--data', newFolder()]
    const { code, stdout } = await run([...words, '--grpc', 'unix:/nowhere'], { environment })
    expect(stdout).toMatch('ECONNREFUSED')
    expect(code).toBe(1)
    expectUnseen()
  })

  test('requests of a sidecar: to a hub, an upstream, a target of egress, endpoints of OpenTelemetry', async () => {
    const { ready } = await serve(['--data', newFolder(), '--config', follower], { environment })
    const following = connect(ready.grpc, { callerToken: CALLER })
    whenTheFileEnds(() => following.close())
    const credentials = { 'X-Token': secrets.staticToken }
    expect((await following.check({ api: 'balance', credentials })).allowed).toBe(true)
    const client = connect(address, { callerToken: CALLER })
    whenTheFileEnds(() => client.close())
    await client.issue({ profile: 'cloud', scope: { account: '700' } })
    expect(upstream.count('POST')).toBe(1)
    expect((await ask(egress, '/items')).status).toBe(200)
    await client.check({ api: 'balance', credentials })
    for (const path of ['/v1/traces', '/v1/logs'])
      await eventually(() => endpoint.received.some((each) => each.path === path))
    expectUnseen()
  })
})

describe('another machine', async () => {
  const [certificate, key] = [newFile(CERTIFICATE), newFile(KEY)]
  const tls = { certificate, key, client_ca: certificate, any_client: true }
  const pem = { ca: Buffer.from(CERTIFICATE), certificate: Buffer.from(CERTIFICATE), key: Buffer.from(KEY) }
  const hubTls = { ca: certificate, certificate, key }
  const secured = await runSidecar({ folder, config: configOf({ grpc: { tls } }) })
  const plain = await runSidecar({ folder })
  const elsewhere = (of: { address: string }) => of.address.replace('127.0.0.1', 'server.example')
  /** Reaches this machine, and is not loopback. */
  const anywhere = plain.address.replace('127.0.0.1', '0.0.0.0')
  const question = { api: 'balance', credentials: { 'X-Token': secrets.staticToken } }

  async function check(at: string, options: ClientOptions) {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
    const client = connect(at, options)
    try {
      return (await client.check(question)).allowed
    } finally {
      client.close()
      vi.unstubAllEnvs()
    }
  }

  test('is not reached through it in plaintext, where that is allowed', async () => {
    expect(await check(anywhere, { allowPlaintext: true })).toBe(true)
    expectUnseen()
  })

  test('is reached through it over TLS, and the proxy sees no token', async () => {
    const files = ['--ca', certificate, '--cert', certificate, '--key', key]
    expect(await check(elsewhere(secured), { tls: pem })).toBe(true)
    const words = ['check', 'balance', '-H', `@${token}`, '--address', elsewhere(secured), ...files]
    expect((await run(words, { environment })).code).toBe(0)
    const hub = { addresses: [elsewhere(secured)], token_file: callerTokenFile, tls: hubTls }
    await serve(['--data', newFolder(), '--config', configOf({ directory: { hub } })], { environment })
    expect([...new Set(proxy.seen)]).toEqual([`CONNECT ${elsewhere(secured)} HTTP/1.1`])
    expect(proxy.seen.length).toBeGreaterThanOrEqual(3)
    expect([secrets.staticToken, CALLER].filter((secret) => proxy.sent().includes(secret))).toEqual([])
  })

  test('that is this machine is not reached through it over TLS either', async () => {
    expect(await check(secured.address, { tls: { ...pem, serverName: 'server.example' } })).toBe(true)
    expectUnseen()
  })
})
