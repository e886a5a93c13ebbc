/** Streams over HTTP/1.1: answers as they come, deadlines, clients that leave, and the end of the sidecar. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { CHECK, enveloped, envelopesIn, post } from '../support/contract/contract.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, passing } from '../support/suite/resources.ts'

const LISTENING = { 'http.address': '127.0.0.1:0', 'http.connect': true }
const WATCH = '/portcullis.v1.AuthorizationService/WatchMatrix'
const HEALTH = '/grpc.health.v1.Health/Watch'
const STREAM = { 'content-type': 'application/connect+json' }

/** Begins a call and reads its answer as it comes. */
async function begin(address: string, path: string) {
  const asking = request(`http://${address}`, { path, method: 'POST', agent: false, headers: STREAM })
  asking.end(enveloped('{}'))
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  response.on('data', (part: Buffer) => parts.push(part))
  response.on('error', () => {})
  return { response, messages: () => envelopesIn(Buffer.concat(parts)), leave: () => asking.destroy() }
}

test('a watch has the matrix at once, and ends without an error when the sidecar stops', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const { response, messages } = await begin(sidecar.httpAddress ?? '', WATCH)
  await eventually(() => messages().length === 1)
  const ended = once(response, 'end')
  await sidecar.close()
  await ended
  expect(messages().map(({ flags, bytes }) => [flags, flags === 2 ? bytes.toString() : ''])).toEqual([
    [0, ''],
    [2, '{}'],
  ])
})

test('a watch of health gets NOT_SERVING, and ends without an error when the sidecar stops', async () => {
  const { sidecar } = await runSidecar({ flags: { ...LISTENING, drain_ms: 600_000 } })
  const { response, messages } = await begin(sidecar.httpAddress ?? '', HEALTH)
  await eventually(() => messages().length === 1)
  const ended = once(response, 'end')
  await sidecar.close()
  await ended
  const said = messages().map(({ bytes }) => JSON.parse(bytes.toString()))
  expect(said).toEqual([{ status: 'SERVING' }, { status: 'NOT_SERVING' }, {}])
})

test('a call that does not end by itself is ended when the sidecar stops', async () => {
  const { sidecar } = await runSidecar({ flags: { ...LISTENING, drain_ms: 50 } })
  const address = sidecar.httpAddress ?? ''
  const half = enveloped(Buffer.alloc(100)).subarray(0, 50)
  const asking = beginBody(address, CHECK, 'application/grpc-web+proto', half)
  const answered = once(asking, 'response') as Promise<[IncomingMessage]>
  // The answer to another call shows that this one was begun.
  await post(address, CHECK, '{}')
  await sidecar.close()
  const [response] = await answered
  expect((await buffer(response)).toString()).toContain('grpc-message: the sidecar is stopping')
})

test('a watch ends at its deadline', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const headers = { ...STREAM, 'connect-timeout-ms': '1000' }
  const { body } = await post(sidecar.httpAddress ?? '', WATCH, enveloped('{}'), headers)
  const [, last] = envelopesIn(body)
  expect(JSON.parse(last?.bytes.toString() ?? '')).toMatchObject({ error: { code: 'deadline_exceeded' } })
})

test('a watch that its client left is given up', async () => {
  const { sidecar } = await runSidecar({ flags: LISTENING })
  const watchAndLeave = async () => {
    const { messages, leave } = await begin(sidecar.httpAddress ?? '', WATCH)
    await eventually(() => messages().length === 1)
    expect(messages()[0]?.flags).toBe(0)
    leave()
  }
  // A client may have 1,000 watches at a time.
  for (let round = 0; round < 21; round++) await Promise.all(Array.from({ length: 50 }, watchAndLeave))
})

/** Sends the beginning of a body. */
function beginBody(address: string, path: string, type: string, bytes: Buffer): ClientRequest {
  const headers = { 'content-type': type, 'transfer-encoding': 'chunked' }
  const asking = request(`http://${address}`, { path, method: 'POST', agent: false, headers })
  asking.on('error', () => {})
  asking.write(bytes)
  return asking
}

test('a message whose rest does not come is not waited for', async () => {
  const { sidecar } = await runSidecar({ flags: { ...LISTENING, 'grpc.request_timeout_ms': 100 } })
  const half = enveloped(Buffer.alloc(100)).subarray(0, 50)
  const asking = beginBody(sidecar.httpAddress ?? '', CHECK, 'application/grpc-web+proto', half)
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  expect((await buffer(response)).toString()).toContain('grpc-status: 4\r\n')
})

test('all requests in flight together hold a bounded number of bytes', async () => {
  const { sidecar } = await runSidecar({ flags: { ...LISTENING, 'grpc.max_buffer_bytes': 1_048_576 } })
  const address = sidecar.httpAddress ?? ''
  const half = Buffer.alloc(700_000, ' ')
  const first = beginBody(address, `${CHECK}Batch`, 'application/json', half)
  const second = beginBody(address, `${CHECK}Batch`, 'application/json', half)
  const [refused] = await Promise.race([first, second].map((asking) => once(asking, 'response')))
  expect(refused.statusCode).toBe(429)
  expect(JSON.parse((await buffer(refused)).toString())).toMatchObject({ code: 'resource_exhausted' })
  for (const asking of [first, second]) asking.destroy()
  // Their bytes are free again.
  const credentials = { headers: [{ name: 'x', value: 'x'.repeat(60_000) }] }
  const large = JSON.stringify({ checks: Array(12).fill({ api: 'balance', credentials }) })
  await eventually(async () => (await post(address, `${CHECK}Batch`, large)).status === 200)
})

test('a client that leaves its answer unread is disconnected', async () => {
  const { sidecar } = await runSidecar({
    flags: { ...LISTENING, 'grpc.max_batch_length': 15_000, 'grpc.reader_timeout_ms': 100 },
  })
  const address = sidecar.httpAddress ?? ''
  const check = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }
  const body = JSON.stringify({ checks: Array.from({ length: 15_000 }, () => check) })
  const [host, port] = address.split(':')
  const socket = connect(Number(port), host)
  socket.write(
    `POST ${CHECK}Batch HTTP/1.1\r\nhost: ${address}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  // On a busy machine the answer takes its time. Of what follows, Node reads a buffer and no more.
  await once(socket, 'readable')
  await passing(1_000)
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'close')
  const received = Buffer.concat(parts)
  const length = Number(/Content-Length: (\d+)/.exec(received.toString())?.[1])
  expect(received.length).toBeLessThan(length)
})
