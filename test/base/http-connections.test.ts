/**
 * The connections that clients of HTTP may hold: when there is no room, the longest wait is evicted, and
 * health checks are answered in any case.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  ConnectionTable,
  connectionSource,
  type HeldConnection,
} from '../../sidecar/base/net/connection-table.ts'
import { HttpConnections } from '../../sidecar/base/net/http-connections.ts'
import { ownConnections } from '../../sidecar/base/net/listen.ts'
import { stopParsing } from '../../sidecar/base/net/stop-parsing.ts'
import { startIdentity, TOKENS } from '../support/identity/identity.ts'
import { eventually, passing, whenTheFileEnds } from '../support/suite/resources.ts'

/** A connection, and what came on it. */
class Client {
  readonly socket: Socket
  received = ''

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1').on('error', () => {})
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text
    })
    whenTheFileEnds(() => void this.socket.destroy())
  }

  send(text: string): this {
    this.socket.write(text)
    return this
  }

  get closed(): boolean {
    return this.socket.closed
  }

  /** Resolves with the status of the last response. */
  async answer(): Promise<number> {
    return eventually(() => Number(/^HTTP\/1.1 (\d+) .*\r\n\r\n/s.exec(this.received)?.[1]) || undefined)
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: any\r\n\r\n`
const post = 'POST / HTTP/1.1\r\nHost: any\r\nContent-Length: 10\r\n\r\nhalf'

/** A server that answers `/slow` on request, and everything else at once. */
async function start({ connections = 3, bodiesStream = false } = {}) {
  const bounds: string[] = []
  const slow: (() => void)[] = []
  const table = new HttpConnections({ connections, bodiesStream }, (bound) => bounds.push(bound))
  const handle: RequestListener = (request, response) => {
    const hasRoom = table.began(request, response)
    const answer = () => response.writeHead(hasRoom || request.url === '/healthz' ? 200 : 503).end()
    if (request.method === 'POST') request.resume().once('end', answer)
    if (request.url === '/watch') table.lasts(request)
    if (request.url === '/watch') response.writeHead(200).write('first')
    else if (request.method === 'POST' || request.url === '/slow') slow.push(answer)
    else answer()
  }
  const server = createServer(handle)
  const listening = await table.serve(server, 'http', '127.0.0.1:0', ownConnections())
  const port = Number(listening.address.split(':').at(-1))
  whenTheFileEnds(async () => {
    listening.close()
    server.close()
    await table.drain(server, 0)
  })
  return { bounds, slow, open: () => new Client(port), port }
}

test.each<[what: string, sent: string, expected: readonly boolean[]]>([
  ['that have sent nothing', '', [true, false, false]],
  ['with unfinished headers', 'GET / HTTP/1.1\r\nHost', [true, false, false]],
  ['with an unfinished body', post, [true, false, false]],
  ['with a response that may go on for ever', get('/watch'), [true, false, false]],
  // The first one has a place that is kept for those that were answered.
  ['idle after a request', get('/'), [false, true, false]],
])(
  'of connections %s, the one that waits for longest is evicted for a new one',
  async (_what, sent, expected) => {
    const { open, bounds } = await start()
    const waiting: Client[] = []
    for (let index = 0; index < 3; index++) {
      const client = open().send(sent)
      waiting.push(client)
      if (sent.endsWith('\r\n\r\n')) await client.answer()
      else await once(client.socket, 'connect')
    }
    expect(await open().send(get('/')).answer()).toBe(200)
    await eventually(() => waiting.some(({ closed }) => closed))
    expect(waiting.map(({ closed }) => closed)).toEqual(expected)
    expect(bounds).toEqual(['connections'])
  },
)

test('while the server works for all connections, a few more get answers to health checks alone', async () => {
  const { open, slow } = await start()
  const served = [open(), open(), open()].map((client) => client.send(get('/slow')))
  await eventually(() => slow.length === 3)
  const probe = open().send(get('/healthz'))
  expect(await probe.answer()).toBe(200)
  // The probe has its answer, and its connection is evicted.
  expect(await open().send(get('/')).answer()).toBe(503)
  await eventually(() => probe.closed)
  for (const answer of slow) answer()
  expect(await Promise.all(served.map((client) => client.answer()))).toEqual([200, 200, 200])
})

test('where bodies are streamed, a body under way is work', async () => {
  const { open, slow } = await start({ bodiesStream: true })
  const clients = [open(), open(), open()].map((client) => client.send(post))
  await eventually(() => slow.length === 3)
  expect(await open().send(get('/')).answer()).toBe(503)
  expect(clients.map(({ closed }) => closed)).toEqual([false, false, false])
})

test('a connection with more than 4 requests that are not answered is closed, and no further one is begun', async () => {
  const { open, bounds, slow } = await start()
  const client = open().send(get('/slow').repeat(4))
  await eventually(() => slow.length === 4)
  expect(client.closed).toBe(false)
  client.send(get('/slow').repeat(1_000))
  await eventually(() => client.closed)
  expect(slow).toHaveLength(5)
  expect(bounds).toEqual(['requests'])
})

test('Node has the private part of its parser that stops further requests of a read', async () => {
  const begun: [path: string | undefined, isStopped: boolean][] = []
  const server = createServer((request) => {
    begun.push([request.url, stopParsing(request.socket)])
    request.socket.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenTheFileEnds(() => void server.close())
  const { port } = server.address() as AddressInfo
  const client = new Client(port).send(['/1', '/2', '/3'].map(get).join(''))
  await eventually(() => client.closed)
  expect(begun, 'Node changed `socket.parser.onIncoming`: see sidecar/base/net/stop-parsing.ts').toEqual([
    ['/1', true],
  ])
})

describe('the identity endpoint', () => {
  test('gives up the oldest of unfinished bodies where they are too many bytes together', async () => {
    const { port, ask } = await startIdentity()
    const head = `POST ${TOKENS} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 114688\r\n\r\n`
    const clients: Client[] = []
    for (let index = 0; index < 330; index++)
      clients.push(new Client(port).send(head + 'x'.repeat(index === 329 ? 10 : 114_687)))
    // 32 MiB hold about 290 of them.
    await eventually(() => clients.filter(({ closed }) => closed).length >= 30)
    expect(clients.slice(-200).filter(({ closed }) => closed)).toEqual([])
    expect((await ask({ path: '/healthz' })).status).toBe(200)
    for (const { socket } of clients) socket.destroy()
  })

  test('disconnects a client that does not read its response', async () => {
    const { port } = await startIdentity({ times: { http: { keepAliveMs: 300, checkIntervalMs: 50 } } })
    const client = new Client(port)
    client.socket.pause()
    client.send(`GET /identity/v3 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`.repeat(20))
    await passing(1_000)
    client.socket.resume()
    await eventually(() => client.closed)
  })
})

test.each<[address: string | undefined, source: string]>([
  ['127.0.0.1', 'this machine'],
  ['127.8.9.10', 'this machine'],
  ['::1', 'this machine'],
  ['::ffff:127.0.0.1', 'this machine'],
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:1::', '2001:db8:0:1::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, ''],
])('the source of %s is %j', (address, source) => {
  expect(connectionSource(address)).toBe(source)
})

describe('a table of connections', () => {
  type State = Partial<Pick<HeldConnection, 'sinceMs' | 'isWorking' | 'hasAnswered'>>

  class Held implements HeldConnection {
    readonly source: string
    sinceMs: number
    readonly isWorking: boolean
    hasAnswered: boolean
    gone = false

    constructor(source: string, { sinceMs = 0, isWorking = false, hasAnswered = false }: State = {}) {
      this.source = source
      this.sinceMs = sinceMs
      this.isWorking = isWorking
      this.hasAnswered = hasAnswered
    }

    giveWay(): void {
      this.gone = true
    }
  }
  const full = (...held: Held[]) => {
    const table = new ConnectionTable<Held>({ connections: held.length, connectionsPerSource: 100 })
    for (const each of held) table.add(each)
    return table
  }
  const gone = (held: readonly Held[]) => held.map((each) => each.gone)
  const room = (table: ConnectionTable<Held>, source: string) => table.makeRoom(source, () => {})
  const many = (...states: State[]) => states.map((state) => new Held('many', state))

  test('takes from the source with the most, and there the one that has waited longest', () => {
    const held = [new Held('few'), ...many({ sinceMs: 2 }, { sinceMs: 1 }, { sinceMs: 3 })]
    expect(room(full(...held), 'new')).toBe(undefined)
    expect(gone(held)).toEqual([false, false, true, false])
  })

  test('takes nothing from a peer that has no more than the newcomer', () => {
    const held = [new Held('few'), ...many({ isWorking: true }, { isWorking: true })]
    expect(room(full(...held), 'many')).toBe('connections')
    expect(gone(held)).toEqual([false, false, false])
  })

  test('keeps half of the places of a source for the oldest that were answered, however long they wait', () => {
    const answered = { hasAnswered: true }
    const held = many({ sinceMs: 9 }, answered, answered, { sinceMs: 1, ...answered }, { sinceMs: 2 })
    const table = full(...held)
    expect([room(table, 'new'), gone(held)]).toEqual([undefined, [false, false, false, true, false]])
    table.add(new Held('new'))
    expect([room(table, 'new'), gone(held)]).toEqual([undefined, [false, false, false, true, true]])
  })

  test('takes what has come since it looked before those with a kept place', () => {
    const held = many({ hasAnswered: true }, { hasAnswered: true }, { sinceMs: 1 }, { sinceMs: 2 })
    const table = full(...held)
    for (let index = 0; index < 10; index++) {
      const arriving = new Held('many', { sinceMs: 3 + index })
      expect(room(table, 'many')).toBe(undefined)
      table.add(arriving)
    }
    expect(gone(held)).toEqual([false, false, true, true])
  })

  test('takes the newest of those where the server works for all others', () => {
    const held = many({ hasAnswered: true }, { hasAnswered: true }, { isWorking: true }, { isWorking: true })
    expect(room(full(...held), 'new')).toBe(undefined)
    expect(gone(held)).toEqual([false, true, false, false])
  })

  test.each<[what: string, hasAnswered: boolean]>([
    ['that hold a call', false],
    ['that were answered and hold a call', true],
  ])('a flood of connections %s pushes out its own', (_what, hasAnswered) => {
    const table = new ConnectionTable<Held>({ connections: 1_000, connectionsPerSource: 100 })
    let nowMs = 0
    const arrives = (state: State = {}) => {
      const held = new Held('this machine', { sinceMs: ++nowMs, ...state })
      expect(room(table, held.source)).toBe(undefined)
      table.add(held)
      return held
    }
    const flood = (count: number) => {
      for (let arrived = 0; arrived < count; arrived++) arrives().hasAnswered = hasAnswered
    }
    const before = Array.from({ length: 20 }, () => arrives({ hasAnswered: true }))
    flood(1_000)
    const during: Held[] = []
    for (let index = 0; index < 20; index++) {
      // A client that connects, asks when 40 others have come, and leaves.
      const client = arrives()
      flood(40)
      during.push(client)
      table.delete(client)
    }
    // One that asks again and again.
    const kept = arrives()
    for (let asked = 0; asked < 20; asked++) {
      Object.assign(kept, { hasAnswered: true, sinceMs: ++nowMs })
      flood(40)
    }
    expect(gone([...before, ...during, kept])).toEqual(Array(41).fill(false))
    expect(table.size).toBe(100)
  })

  test('does not take what is in use again since it was looked at', () => {
    const held = many({ sinceMs: 1 }, { sinceMs: 2 }, { sinceMs: 3 })
    const table = full(...held)
    expect(room(table, 'new')).toBe(undefined)
    Object.assign(held[1] ?? {}, { sinceMs: 9 })
    table.add(new Held('new', { sinceMs: 9 }))
    expect(room(table, 'new')).toBe(undefined)
    expect(gone(held)).toEqual([true, false, true])
  })
})
