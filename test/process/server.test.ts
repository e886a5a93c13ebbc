/** The gRPC server: health, reflection, accepted and refused addresses, and an orderly shutdown. */
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { ServiceDefinition } from '@grpc/proto-loader'
import { describe, expect, test, vi } from 'vitest'
import { BlackBox, invalid, type Message, protosOf, refused } from '../support/contract/black-box.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const SERVICE = 'portcullis.v1.AuthorizationService'
const health = protosOf('grpc-health-check', 'proto/health/v1/health.proto')
const healthOf = (address: string) =>
  new BlackBox(address, health['grpc.health.v1.Health'] as ServiceDefinition)

const running = await runSidecar()
const good: Message = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }

describe('health', () => {
  test.each([{ service: '' }, { service: SERVICE }])('the service `$service` is serving', async (request) => {
    expect(await healthOf(running.address).ask('check', request)).toEqual({ status: 'SERVING' })
  })

  test('an unknown service is NOT_FOUND', async () => {
    const asking = healthOf(running.address).ask('check', { service: 'nothing' })
    expect(await refused(asking)).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('every service is listed', async () => {
    const { statuses } = await healthOf(running.address).ask('list', {})
    const serving = { status: 'SERVING' }
    const services = ['', SERVICE, 'portcullis.v1.DirectoryService', 'envoy.service.auth.v3.Authorization']
    expect(statuses).toEqual(Object.fromEntries(services.map((name) => [name, serving])))
  })

  test('a watch of an unknown service gets SERVICE_UNKNOWN and stays open', async () => {
    const watch = healthOf(running.address).follow('watch', { service: 'nothing' })
    const ended = vi.fn()
    watch.on('error', () => {}).on('end', ended)
    const [answer] = await once(watch, 'data')
    expect(answer).toEqual({ status: 'SERVICE_UNKNOWN' })
    await new BlackBox(running.address).ask('check', good)
    expect(ended).not.toHaveBeenCalled()
    watch.cancel()
  })
})

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const protos = protosOf('@grpc/reflection', `build/proto/grpc/reflection/${version}/reflection.proto`)
  const service = protos[`grpc.reflection.${version}.ServerReflection`] as ServiceDefinition
  const ask = async (request: Message): Promise<Message> => {
    const stream = new BlackBox(running.address, service).converse('serverReflectionInfo')
    stream.end(request)
    for await (const answer of stream as AsyncIterable<Message>) return answer
    throw new Error('reflection did not answer')
  }

  test('lists the services', async () => {
    const { list_services_response } = await ask({ list_services: '' })
    const { service: services } = list_services_response as { service: { name: string }[] }
    const names = services.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining([SERVICE, 'grpc.health.v1.Health', 'envoy.service.auth.v3.Authorization']),
    )
  })

  test('reads no question of more bytes than a name can have', async () => {
    const many = Buffer.alloc(1_000_000, Buffer.from([10, 0])) as unknown as Message
    expect(await refused(ask(many))).toEqual(invalid(['the request', 'expected at most 16384 bytes']))
  })

  test.each([
    { what: 'the service', request: { file_containing_symbol: SERVICE }, holds: 'AuthorizationService' },
    { what: 'a message', request: { file_containing_symbol: 'portcullis.v1.Scope' }, holds: 'Scope' },
    {
      what: 'a message of Envoy',
      request: { file_containing_symbol: 'envoy.service.auth.v3.OkHttpResponse' },
      holds: 'headers_to_remove',
    },
    {
      what: 'a file by its name',
      request: { file_by_filename: 'portcullis/v1/matrix.proto' },
      holds: 'TokenKind',
    },
  ])('describes $what', async ({ request, holds }) => {
    const { file_descriptor_response } = await ask(request)
    const { file_descriptor_proto } = file_descriptor_response as { file_descriptor_proto: Buffer[] }
    expect(file_descriptor_proto.some((file) => file.includes(holds))).toBe(true)
  })
})

describe('a TCP address', () => {
  test('a second sidecar on the same address fails because the address is in use', async () => {
    const starting = runSidecar({ flags: { 'grpc.address': running.address } })
    await expect(starting).rejects.toThrow(new Error(`grpc address ${running.address} is in use`))
  })

  test.each(['0.0.0.0:0', '[::]:0', '192.0.2.1:0', 'example.com:0'])(
    'an address that other machines can reach is refused without TLS: %s',
    async (address) => {
      await expect(runSidecar({ flags: { 'grpc.address': address } })).rejects.toThrow(
        new Error(
          `grpc address ${address} can be reached from other machines: expected grpc.tls, which requires client certificates`,
        ),
      )
    },
  )

  test('TLS on a Unix socket is refused, because a Unix socket has none', async () => {
    const address = `unix:${newFolder()}/sidecar.sock`
    const file = newFile(
      JSON.stringify({ grpc: { address, tls: { certificate: 'a', key: 'b', client_ca: 'c' } } }),
    )
    await expect(runSidecar({ config: file, flags: { 'grpc.address': address } })).rejects.toThrow(
      new Error(
        `grpc.address ${address} and grpc.tls: a Unix socket has no TLS; expected HOST:PORT in grpc.address, or no grpc.tls`,
      ),
    )
  })

  test.each([
    '127.0.0.1',
    '127.0.0.1:65536',
    ':50051',
    'unix:',
    'http://127.0.0.1:80',
    `unix:/${'x'.repeat(107)}`,
  ])('an invalid address is refused, and the error names the key: %s', async (address) => {
    await expect(runSidecar({ flags: { 'grpc.address': address } })).rejects.toThrow(
      /^grpc\.address: expected /,
    )
  })

  test.each([
    { 'grpc.address': '0.0.0.0:0' },
    { 'grpc.address': 'nowhere' },
    { 'http.address': '0.0.0.0:0' },
    { 'http.address': 'unix:/tmp/x.sock' },
  ])('an invalid configuration creates no files: %j', async (flags) => {
    const folder = join(newFolder(), 'data')
    await expect(runSidecar({ folder, flags })).rejects.toThrow()
    expect(existsSync(folder)).toBe(false)
  })

  test.each(['localhost:0', '[::1]:0', '127.0.0.2:0'])(
    '%s is an address of this machine',
    async (address) => {
      const other = await runSidecar({ flags: { 'grpc.address': address } })
      expect(other.address.split(':').at(-1)).not.toBe('0')
      expect(await new BlackBox(other.address).ask('check', good)).toMatchObject(ALLOWED)
    },
  )
})

describe('a Unix socket', () => {
  const runOn = (path: string) => runSidecar({ flags: { 'grpc.address': `unix:${path}` } })

  test('is open to the owner and the group, in a new folder that only the owner may enter', async () => {
    const path = join(newFolder(), 'made', 'sidecar.sock')
    const { address } = await runOn(path)
    expect(address).toBe(`unix:${path}`)
    expect(statSync(path).mode & 0o777).toBe(0o660)
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    expect(await new BlackBox(address).ask('check', good)).toMatchObject(ALLOWED)
  })

  test('does not change the mode of an existing folder', async () => {
    const folder = newFolder()
    chmodSync(folder, 0o750)
    await runOn(join(folder, 'sidecar.sock'))
    expect(statSync(folder).mode & 0o777).toBe(0o750)
  })

  test('is removed when the sidecar closes, and the next sidecar can use the path', async () => {
    const path = join(newFolder(), 'sidecar.sock')
    const first = await runOn(path)
    await first.sidecar.close()
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
    expect(await new BlackBox((await runOn(path)).address).ask('check', good)).toMatchObject(ALLOWED)
  })

  test('of a killed server is replaced', async () => {
    const path = join(newFolder(), 'sidecar.sock')
    await leaveSocketBehind(path)
    expect(statSync(path).isSocket()).toBe(true)
    expect(await new BlackBox((await runOn(path)).address).ask('check', good)).toMatchObject(ALLOWED)
  })

  test('of a running server is not replaced', async () => {
    const path = join(newFolder(), 'sidecar.sock')
    const first = await runOn(path)
    await expect(runOn(path)).rejects.toThrow(new Error(`grpc address unix:${path} is in use`))
    expect(await new BlackBox(first.address).ask('check', good)).toMatchObject(ALLOWED)
  })

  test.each([
    { what: 'a file', make: (path: string) => writeFileSync(path, 'precious') },
    { what: 'a folder', make: (path: string) => mkdirSync(path) },
  ])('$what at its path is not changed', async ({ make }) => {
    const path = join(newFolder(), 'sidecar.sock')
    make(path)
    const before = statSync(path).ino
    await expect(runOn(path)).rejects.toThrow(
      new Error(`grpc address unix:${path}: expected a socket or an unused path, found another kind of file`),
    )
    expect(statSync(path).ino).toBe(before)
  })
})

/** Leaves a socket that no process listens on, as kill -9 does. */
async function leaveSocketBehind(path: string): Promise<void> {
  const server: Server = createServer()
  await new Promise<void>((resolve) => server.listen(`${path}.moved`, resolve))
  // Closing only removes the path that the server listened on, so the renamed socket stays.
  renameSync(`${path}.moved`, path)
  await new Promise((resolve) => server.close(resolve))
}

describe('the shutdown', () => {
  test('health watches get NOT_SERVING and end, and do not hold up the sidecar', async () => {
    const ending = await runSidecar({ flags: { drain_ms: 600_000 } })
    const services = ['', SERVICE, 'nothing']
    const watches = services.map((service) => {
      const watch = healthOf(ending.address).follow('watch', { service })
      return (watch as AsyncIterable<Message>)[Symbol.asyncIterator]()
    })
    const statuses = async () =>
      (await Promise.all(watches.map((each) => each.next()))).map(({ value }) => value?.status)
    expect(await statuses()).toEqual(['SERVING', 'SERVING', 'SERVICE_UNKNOWN'])
    const closed = ending.sidecar.close()
    expect(await statuses()).toEqual(['NOT_SERVING', 'NOT_SERVING', undefined])
    expect(await statuses()).toEqual([undefined, undefined, undefined])
    await closed
    expect(await refused(new BlackBox(ending.address).ask('check', good))).toMatchObject({
      code: 'UNAVAILABLE',
    })
  })

  test('a stream that does not end is closed after the drain time', async () => {
    const ending = await runSidecar({ flags: { drain_ms: 500 } })
    const stream = new BlackBox(ending.address).converse('checkStream')
    const answers = (stream as AsyncIterable<Message>)[Symbol.asyncIterator]()
    stream.write({ id: 'one', check: good })
    expect((await answers.next()).value).toMatchObject({ id: 'one' })
    const [outcome] = await Promise.all([refused(answers.next()), ending.sidecar.close()])
    // The client must learn that no answer will come.
    expect(['UNAVAILABLE', 'CANCELLED']).toContain(outcome.code)
  })

  test('a watch of the matrix ends without an error', async () => {
    const ending = await runSidecar()
    const watch = new BlackBox(ending.address).follow('watchMatrix')
    const answers = (watch as AsyncIterable<Message>)[Symbol.asyncIterator]()
    expect((await answers.next()).value).toMatchObject({ matrix: { digest: ending.sidecar.matrixDigest } })
    await ending.sidecar.close()
    expect(await answers.next()).toMatchObject({ done: true })
  })

  test('closing twice has the effect of closing once', async () => {
    const ending = await runSidecar()
    await Promise.all([ending.sidecar.close(), ending.sidecar.close()])
    await ending.sidecar.close()
  })
})
