/**
 * curl and buf ask in the forms that people type; Connect's client asks over HTTP/2, where streams go in both
 * directions.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DescMethodBiDiStreaming } from '@bufbuild/protobuf'
import { fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { holdsToTheTable } from '../../parity/answers.ts'
import { type Sidecars, startSidecars } from '../../parity/people.ts'
import { streamed } from '../../parity/protocols/connect.ts'
import { CHECK, errorOf, methodOf } from '../../support/contract/contract.ts'
import { run, runBuf } from '../../support/interop/command.ts'
import { inHttp1, newCertificateFiles, prepareHttps, runHttps, trust } from '../../support/interop/https.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { ACCOUNT, issued, populate, runSidecar, type SidecarOptions } from '../../support/sidecar/sidecar.ts'

const LISTENING = { 'http.address': '127.0.0.1:0', 'http.connect': true }
const running = await runSidecar({ flags: LISTENING })
const secrets = await populate(running)
const { value } = await issued(running, secrets)
const url = `http://${running.sidecar.httpAddress}${CHECK}`
const question = (name: string, credential: string) =>
  JSON.stringify({ api: 'balance', credentials: { headers: [{ name, value: credential }] } })

const [curl, buf] = await Promise.all([
  obtained('curl', () => run('curl', ['--version'])),
  obtained('buf', () => runBuf(['--version'])),
])

test.skipIf(!curl.ok).each([[[]], [['--json']], [['--http1.0']]])('curl asks, with %j', async (flags) => {
  const data = flags.includes('--json') ? [] : ['-d']
  const ask = async (body: string) => JSON.parse(await run('curl', ['-sS', ...flags, ...data, body, url]))
  expect(await ask(question('X-Auth-Token', value))).toMatchObject({ allowed: true, verified: true })
  expect(await ask(question('X-Token', 'nobody'))).toMatchObject({
    allowed: false,
    reason: 'REASON_CREDENTIAL_INVALID',
  })
})

test.skipIf(!buf.ok).each(['connect', 'grpcweb'])('buf asks by the protocol %s', async (protocol) => {
  const args = [
    'curl',
    '--schema',
    'proto',
    '--protocol',
    protocol,
    '--data',
    question('X-Auth-Token', value),
    url,
  ]
  expect(JSON.parse(await runBuf(args))).toMatchObject({ allowed: true, verified: true })
})

prepareHttps()
describe.skipIf(!inject('openssl').ok)('over HTTP/2', () => {
  const claims = { kind: 'static_token', scope: { account: ACCOUNT } }

  async function runSecure({ flags, times }: Pick<SidecarOptions, 'flags' | 'times'> = {}) {
    const secure = await runHttps({ times, flags: { ...flags, 'http.connect': true } })
    const token = readFileSync(join(secure.folder, 'administrator-token'), 'utf8').trim()
    return { ...secure, token }
  }

  function connectTransport(protocol: string, address: string) {
    const create = protocol === 'Connect' ? createConnectTransport : createGrpcWebTransport
    return create({
      baseUrl: `https://${address}`,
      httpVersion: '2',
      useBinaryFormat: protocol !== 'Connect',
      nodeOptions: trust(),
    })
  }

  const asked = (type: string, token: string) => ({
    ':method': 'POST',
    ':path': CHECK,
    'content-type': type,
    authorization: `Bearer ${token}`,
  })

  test.each(['Connect', 'gRPC-Web'])('%s has streams in both directions, for callers', async (protocol) => {
    const { http, token } = await runSecure()
    const transport = connectTransport(protocol, http)
    const method = methodOf('CheckStream') as DescMethodBiDiStreaming
    let answered: () => void = () => {}
    const answers: JsonObject[] = []
    // Each question waits for the answer to the last one, so both directions are open at once.
    async function* questions() {
      for (const [id, api] of [
        ['a', 'balance'],
        ['b', 'reports'],
        ['c', 'no such API'],
      ]) {
        const next = new Promise<void>((resolve) => {
          answered = resolve
        })
        yield fromJson(method.input, { id: id as string, check: { api: api as string, token: claims } })
        await next
      }
    }
    const converse = async (headers: Record<string, string>) => {
      const { message } = await transport.stream(method, undefined, 20_000, headers, questions())
      for await (const answer of message) {
        answers.push(toJson(method.output, answer, { alwaysEmitImplicit: true }) as JsonObject)
        answered()
      }
    }
    await converse({ authorization: `Bearer ${token}` })
    expect(answers).toMatchObject([
      { id: 'a', result: { allowed: true } },
      { id: 'b', result: { allowed: true } },
      { id: 'c', result: { allowed: false, reason: 'REASON_UNKNOWN_API' } },
    ])
    const refused = await converse({}).catch(errorOf)
    expect(refused).toMatchObject({
      error: 'Unauthenticated',
      message: expect.stringContaining('caller token'),
    })
  })

  test('a stream without a credential is refused before anything of it arrives', async () => {
    const { http: address, token } = await runSecure()
    const session = connect(`https://${address}`, trust())
    session.on('error', () => {})
    for (const type of ['application/connect+json', 'application/grpc-web+proto'])
      for (const authorization of [{}, { authorization: `Bearer ${token}x` }]) {
        const { authorization: _, ...stranger } = asked(type, token)
        const stream = session.request({ ...stranger, ':path': `${CHECK}Stream`, ...authorization })
        const parts: Buffer[] = []
        stream.on('error', () => {}).on('data', (part: Buffer) => parts.push(part))
        // The request has no end: the answer cannot have waited for it.
        await once(stream, 'end')
        expect(Buffer.concat(parts).toString()).toMatch(/"code":"unauthenticated"|grpc-status: 16\r/)
        stream.destroy()
      }
    session.destroy()
  })

  let sidecars: Sidecars
  beforeAll(async () => {
    const { files } = newCertificateFiles()
    sidecars = await startSidecars({
      'http.tls.certificate': files.certificate,
      'http.tls.key': files.key,
    })
  })
  for (const protocol of ['Connect', 'gRPC-Web'])
    holdsToTheTable(
      streamed(protocol, (address) => connectTransport(protocol, address)),
      () => sidecars,
    )

  test('a stream outlives the time that a request may take, and a silent client that is there', async () => {
    const http = { headersMs: 150, requestMs: 150, keepAliveMs: 250 }
    const { http: address, token } = await runSecure({ times: { http } })
    const transport = connectTransport('Connect', address)
    const method = methodOf('CheckStream') as DescMethodBiDiStreaming
    const question = { id: 'q', check: { api: 'balance', token: claims } }
    async function* questions() {
      yield fromJson(method.input, question)
      await sleep(4 * http.keepAliveMs)
      yield fromJson(method.input, question)
    }
    const headers = { authorization: `Bearer ${token}` }
    const { message } = await transport.stream(method, undefined, 20_000, headers, questions())
    expect(await Array.fromAsync(message)).toHaveLength(2)
  })

  test('a request that took too long is answered once, also where it ends after that', async () => {
    const { http: address, token } = await runSecure({ times: { http: { headersMs: 100, requestMs: 100 } } })
    // Without a window the answer stays on its way, and the request open.
    const session = connect(`https://${address}`, { ...trust(), settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    for (const type of ['application/json', 'application/grpc-web+json']) {
      const stream = session.request(asked(type, token))
      stream.on('error', () => {})
      const [{ ':status': status }] = await once(stream, 'response')
      expect(status).toBe(408)
      stream.end(Buffer.alloc(7))
      // The server has read the end before it answers the ping.
      await new Promise((resolve) => session.ping(resolve))
      stream.close()
    }
    session.destroy()
    expect((await inHttp1(address, { path: '/healthz' })).status).toBe(200)
  })

  test('a client that leaves its answer unread loses the call', async () => {
    const { http: address, token } = await runSecure({ flags: { 'grpc.reader_timeout_ms': 100 } })
    const session = connect(`https://${address}`, { ...trust(), settings: { initialWindowSize: 0 } })
    session.on('error', () => {})
    for (const type of ['application/json', 'application/grpc-web+json']) {
      const stream = session.request(asked(type, token))
      stream.on('error', () => {})
      stream.end(Buffer.alloc(7))
      await once(stream, 'close').catch(() => {})
      // A code, because the client would take the part that it has for the whole answer.
      expect(stream.rstCode).toBe(8)
    }
    session.destroy()
  })

  test.skipIf(!buf.ok)('buf finds the contract by reflection', async () => {
    const { http, token } = await runSecure()
    const data = JSON.stringify({ api: 'balance', token: claims })
    const authorization = `Authorization: Bearer ${token}`
    const args = ['curl', '--insecure', '--header', authorization, '--reflect-header', authorization]
    expect(JSON.parse(await runBuf([...args, '--data', data, `https://${http}${CHECK}`]))).toMatchObject({
      allowed: true,
    })
  })
})

afterAll(() => running.sidecar.close())
