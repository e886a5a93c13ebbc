/** Bodies are streamed in both directions, and the side that leaves ends both. */
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, recorded, runEgress, startTarget, type Wish } from '../support/sidecar/egress.ts'
import { eventually, passing } from '../support/suite/resources.ts'

/** Answers as the path says. */
const peculiar = await startTarget(async (incoming, response) => answerAs(incoming, response))
const held: { incoming: IncomingMessage; response: ServerResponse }[] = []
const bodies: string[] = []
const EARLY_BYTES = 10_000_000

async function answerAs(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name] = /^\/(\w+)/.exec(incoming.url ?? '') ?? []
  if (name === 'early') response.writeHead(413, { connection: 'close' }).end(Buffer.alloc(EARLY_BYTES))
  else if (name === 'reset') incoming.once('data', () => incoming.socket.destroy())
  else if (name === 'hold') held.push({ incoming, response })
  else if (name === 'echo') incoming.pipe(response)
  else if (name === 'cut') {
    response.writeHead(200).write('half', () => response.socket?.destroy())
  } else {
    const { body, headers } = await recorded(incoming)
    expect(headers).not.toHaveProperty('expect')
    bodies.push(body)
    response.end('ok')
  }
}

const { egress } = await runEgress([
  { path: '/peculiar/', url: peculiar.url, timeout_ms: 600_000, max_concurrent: 2 },
  { path: '/callers/', url: peculiar.url, callers: ['report-job'] },
  { path: '/nowhere/', url: 'http://127.0.0.1:1/' },
])
const to = (path: string, wish?: Wish) => ask(egress, path, wish)

/** A request whose body the test writes. */
function open(path: string, headers: Record<string, string> = {}): ClientRequest {
  const [host, port] = egress.split(':')
  return request({ host, port, path, method: 'POST', headers, agent: false }).on('error', () => {})
}

describe('bodies', () => {
  test('are streamed in both directions: the answer to the first part comes before the second is sent', async () => {
    const sending = open('/peculiar/echo', { 'transfer-encoding': 'chunked' })
    sending.write('one')
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    expect(String((await once(response, 'data'))[0])).toBe('one')
    sending.write('two')
    expect(String((await once(response, 'data'))[0])).toBe('two')
    sending.end()
    await once(response.resume(), 'end')
  })

  test('of a client that waits for a 100 are read', async () => {
    const sending = open('/peculiar/', { expect: '100-continue', 'content-length': '3' })
    sending.flushHeaders()
    await once(sending, 'continue')
    sending.end('abc')
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(200)
    expect(bodies).toEqual(['abc'])
    await once(response.resume(), 'end')
  })

  test('of a refused request are not asked for', async () => {
    const sending = open('/callers/', { expect: '100-continue', 'content-length': '3' })
    sending.flushHeaders()
    let continued = false
    sending.on('continue', () => {
      continued = true
    })
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    expect({ status: response.statusCode, continued, connection: response.headers.connection }).toEqual({
      status: 407,
      continued: false,
      connection: 'close',
    })
    sending.destroy()
  })

  test('an early answer arrives although the body goes on', async () => {
    const sending = open('/peculiar/early', { 'transfer-encoding': 'chunked' })
    sending.write('x'.repeat(100_000))
    const [response] = (await once(sending, 'response')) as [IncomingMessage]
    // The answer has not gone out as a whole when the target has ended it.
    await passing(50)
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) bytes += chunk.length
    expect({ status: response.statusCode, bytes }).toEqual({ status: 413, bytes: EARLY_BYTES })
    sending.destroy()
  })

  test('an answer that breaks off breaks off here too', async () => {
    await expect(to('/peculiar/cut')).rejects.toThrow('aborted')
  })

  test.each(['/nowhere/', '/peculiar/reset'])(
    'that cannot be sent do not cost the client its answer: %s',
    async (path) => {
      const sending = open(path, { 'transfer-encoding': 'chunked' })
      sending.write('x')
      const [response] = (await once(sending, 'response')) as [IncomingMessage]
      expect(response.statusCode).toBe(502)
      sending.destroy()
    },
  )

  test('where the client leaves while it waits for an answer, the target learns of it', async () => {
    const sending = open('/peculiar/hold')
    sending.end()
    const { response } = await eventually(() => held.pop())
    const closed = once(response, 'close')
    sending.destroy()
    await closed
  })

  test('where the client leaves, the request at the target ends, and its place is free again', async () => {
    // As many as the route takes; so one that is not given back would be missed.
    for (let round = 0; round < 4; round++) {
      const sending = open('/peculiar/hold', { 'transfer-encoding': 'chunked' })
      sending.write('part')
      const { response } = await eventually(() => held.pop())
      const closed = once(response, 'close')
      sending.destroy()
      await closed
    }
    await eventually(async () => (await to('/peculiar/')).status === 200)
  })
})

test('more requests at once than the route takes are refused', async () => {
  const sent = [open('/peculiar/hold'), open('/peculiar/hold')]
  for (const each of sent) each.end()
  await eventually(() => held.length === 2)
  expect(await to('/peculiar/')).toMatchObject({
    status: 503,
    headers: { 'portcullis-reason': 'TOO_MANY_REQUESTS', 'retry-after': '1' },
  })
  for (const { response } of held.splice(0)) response.end()
  await eventually(async () => (await to('/peculiar/')).status === 200)
})
