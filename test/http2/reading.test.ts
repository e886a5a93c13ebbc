/**
 * All plain sockets are read into one buffer. Nothing of one connection may be seen, or missed, because of
 * another one.
 */
import { connect, createServer, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type Methods, STATUS, type UnaryMethod } from '../../sidecar/contract/call.ts'
import type { Application } from '../../sidecar/transports/http2/application.ts'
import { readInto } from '../../sidecar/transports/http2/read-buffer.ts'
import { StreamTable } from '../../sidecar/transports/http2/stream-table.ts'
import { GrpcApplication } from '../../sidecar/transports/sockets/application.ts'
import { constant, serve } from '../support/http2/constant.ts'
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  messageFrame,
  PREFACE,
} from '../support/http2/frames.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { openRaw } from '../support/interop/raw-connection.ts'
import { eventually, passing, whenTheFileEnds, working } from '../support/suite/resources.ts'

test('plain sockets are read into the same memory', async () => {
  const lent: ArrayBufferLike[] = []
  const server = createServer((socket) => readInto(socket, ({ buffer }) => lent.push(buffer)).resume())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const clients = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  for (const client of clients) client.write('hello')
  await eventually(() => lent.length >= 2)
  expect(new Set(lent).size).toBe(1)
  for (const client of clients) client.destroy()
  server.close()
})

test('a socket that is not plain is read as any stream', async () => {
  const stream = new PassThrough()
  const read: string[] = []
  expect(readInto(stream, (bytes) => read.push(bytes.toString()))).toBe(stream)
  stream.end('hello')
  await eventually(() => read.join('') === 'hello')
})

test('the rest of a turn stays as it was, whatever other connections send', async () => {
  const bodies = new Map<string, number>()
  const plain = constant(Buffer.from('hello'))
  const app: Application<undefined> = {
    ...plain,
    data: (stream, bytes, start, end) => {
      const body = bytes.toString('latin1', start, end)
      bodies.set(body, (bodies.get(body) ?? 0) + 1)
      working(1)
      plain.data(stream, bytes, start, end)
    },
  }
  const { port, close } = await serve(app)
  whenTheFileEnds(close)
  const CALLS = 50
  const clients = ['a', 'b', 'c'].map((letter) => {
    const { socket } = openRaw(`127.0.0.1:${port}`)
    const calls = Array.from({ length: CALLS }, (_, index) => {
      const stream = 2 * index + 1
      return Buffer.concat([
        frame(FRAME.headers, { flags: END_HEADERS, stream, payload: callOf('/') }),
        frame(FRAME.data, { flags: END_STREAM, stream, payload: Buffer.from(letter.repeat(100)) }),
      ])
    })
    socket.write(Buffer.concat([PREFACE, ...calls]))
    return socket
  })
  await eventually(() => [...bodies.values()].reduce((sum, count) => sum + count, 0) === 3 * CALLS)
  expect([...bodies]).toEqual(['a', 'b', 'c'].map((letter) => [letter.repeat(100), CALLS]))
  for (const client of clients) client.destroy()
})

test('a request that is still being answered is not what arrives after it', async () => {
  const asked: string[] = []
  const later: UnaryMethod = async (request) => {
    await passing(50)
    asked.push(request.toString('latin1'))
    return request
  }
  const methods: Methods = new Map([['/a.Service/Later', { type: 'unary', handle: later }]])
  const app = new GrpcApplication(methods, {
    maxMessageBytes: 100_000,
    statusOf: () => ({ code: STATUS.INTERNAL, message: '' }),
    metadataNames: new Set(),
  })
  const { port, close } = await serve(app)
  whenTheFileEnds(close)
  const { socket } = openRaw(`127.0.0.1:${port}`)
  const open = (stream: number) =>
    frame(FRAME.headers, { flags: END_HEADERS, stream, payload: callOf('/a.Service/Later') })
  const message = messageFrame(Buffer.from('what was asked'))
  const call = frame(FRAME.data, { flags: END_STREAM, stream: 1, payload: message })
  await send(socket, Buffer.concat([PREFACE, open(1), call]))
  // A message whose rest never comes covers what was read before.
  const noise = frame(FRAME.data, { stream: 3, payload: Buffer.alloc(16_000, 0xff) })
  await send(socket, Buffer.concat([open(3), noise, noise, noise]))
  await eventually(() => asked.length > 0)
  expect(asked).toEqual(['what was asked'])
  socket.destroy()
})

/** Sends bytes, and gives the server the time to read them by themselves. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  await new Promise((resolve) => socket.write(bytes, resolve))
  await passing(2)
}

test('the table of streams holds what a Map would hold', () => {
  const random = randomFrom(7)
  const map = new Map<number, { id: number }>()
  const table = new StreamTable<{ id: number }>()
  let last = -1
  for (let step = 0; step < 40_000; step++) {
    // The table fills and empties, and some streams stay for long.
    const filling = Math.floor(step / 5_000) % 2 === 0
    if (map.size === 0 || random() < (filling ? 0.52 : 0.48)) {
      last += 2 * (1 + Math.floor(random() * 3))
      map.set(last, { id: last })
      table.add({ id: last })
    } else {
      const ids = [...map.keys()]
      const id = ids[Math.floor(random() ** 2 * ids.length)] as number
      map.delete(id)
      table.delete(id)
      table.delete(id)
    }
    if (step % 50 !== 0) continue
    expect(table.size).toBe(map.size)
    expect(table.list().sort((a, b) => a.id - b.id)).toEqual([...map.values()])
    const first = Math.max(1, last - 400)
    const asked = Array.from({ length: Math.ceil((last + 10 - first) / 2) }, (_, index) => first + 2 * index)
    expect(asked.map((id) => table.get(id)?.id)).toEqual(asked.map((id) => map.get(id)?.id))
  }
})
