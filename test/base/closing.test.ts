/**
 * A client of HTTP/1.1 that is refused while it is still sending gets the whole answer, and its connection is
 * not reset under it. One that sends its next request while a long answer is still leaving gets both answers.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import { expect, test, vi } from 'vitest'
import { WatchedCertificates } from '../../sidecar/base/net/certificates.ts'
import { HttpConnections } from '../../sidecar/base/net/http-connections.ts'
import { discard } from '../../sidecar/base/net/linger.ts'
import { ownConnections } from '../../sidecar/base/net/listen.ts'
import { SecureServers } from '../../sidecar/http/secure.ts'
import { CERTIFICATE, KEY } from '../support/proxies/self-signed.ts'
import { runEgress, startTarget } from '../support/sidecar/egress.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, passing, whenTheFileEnds } from '../support/suite/resources.ts'

const { sidecar } = await runSidecar({ flags: { 'http.address': '127.0.0.1:0', 'http.connect': true } })
const target = await startTarget()
const { egress } = await runEgress([{ path: '/a/', url: target.url }])
const http = sidecar.httpAddress ?? ''

const STREAM = '/portcullis.v1.AuthorizationService/WatchChanges'

/** Far more than the system keeps for both sides, and than the sidecar may read. */
const TOO_MUCH_BYTES = 67_108_864

const half = (head: string, host: string) =>
  `${head} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000\r\n\r\n${'a'.repeat(100)}`

test.each<[what: string, address: string, sent: string, status: number]>([
  [
    'a call whose message is too long',
    http,
    half('POST /portcullis.v1.AuthorizationService/Check', http),
    429,
  ],
  ['a login that is too long', http, half('POST /identity/v3/auth/tokens', http), 413],
  ['a request that is not HTTP', http, 'nonsense\r\n\r\n', 400],
  ['headers that are too long', http, `GET / HTTP/1.1\r\nHost: ${http}\r\nA: ${'a'.repeat(200_000)}`, 431],
  ['a request that no target of the egress gets', egress, half('POST /b', egress), 404],
  ['a request to the egress that is not HTTP', egress, 'nonsense\r\n\r\n', 400],
])('%s: the client reads its answer, and may go on sending', async (_what, address, sent, status) => {
  const [host = '', port] = address.split(':')
  const socket = connect({ host, port: Number(port), allowHalfOpen: true }).setEncoding('latin1')
  whenTheFileEnds(() => void socket.destroy())
  const errors: Error[] = []
  let received = ''
  socket
    .on('error', (error) => errors.push(error))
    .on('data', (part: string) => {
      received += part
    })
  socket.write(sent)
  await eventually(() => socket.readableEnded)
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  for (let more = 0; more < 5; more++) {
    socket.write('a'.repeat(1_000))
    await passing(5)
  }
  expect(errors).toEqual([])
  socket.end()
  await once(socket, 'close')
  expect(errors).toEqual([])
})

const CALL = '/portcullis.v1.DirectoryService/UpdateServiceUser'
const CONNECT = 'Content-Type: application/connect+json\r\n'
const endless = (head: string, host: string, more = '') =>
  `${head} HTTP/1.1\r\nHost: ${host}\r\n${more}Content-Length: 1000000000\r\n\r\n`

test.each<[what: string, address: string, sent: string, status: number]>([
  ['a call that is too long', http, endless(`POST ${CALL}`, http), 429],
  ['a stream without a credential', http, endless(`POST ${STREAM}`, http, CONNECT), 200],
  ['a request without a Host', http, 'POST / HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n', 400],
  ['a request that is answered without its body', http, endless('GET /healthz', http), 200],
  ['a request that is not HTTP', http, 'nonsense\r\n\r\n', 400],
  ['a request that no target of the egress gets', egress, endless('POST /b', egress), 404],
])('%s, and a body without an end: little of it is read, and the connection closes', async (...row) => {
  const [, address, sent, status] = row
  const [host = '', port] = address.split(':')
  const socket = connect({ host, port: Number(port), allowHalfOpen: true }).setEncoding('latin1')
  let [received, taken] = ['', 0]
  socket
    .on('error', () => {})
    .on('data', (part: string) => {
      received += part
    })
  socket.write(sent)
  const part = Buffer.alloc(65_536, 'a')
  const more = (error?: Error | null) => {
    if (error || taken >= TOO_MUCH_BYTES) return void socket.destroy()
    taken += part.length
    socket.write(part, more)
  }
  more()
  await eventually(() => socket.closed)
  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(taken).toBeLessThan(TOO_MUCH_BYTES)
})

test('the dropped bytes of all connections have one turn at a time', async () => {
  vi.useFakeTimers()
  const bodies = [0, 1, 2].map(() => Readable.from(Array(4).fill(Buffer.alloc(65_536))))
  let parts = 0
  for (const body of bodies) {
    body.on('data', () => parts++)
    discard(body as IncomingMessage)
  }
  // The first part of each has no turn before it.
  for (let turn = 0; turn < 9; turn++) {
    await vi.advanceTimersByTimeAsync(turn === 0 ? 0 : 1)
    expect(parts).toBe(bodies.length + turn)
  }
  await vi.runAllTimersAsync()
  vi.useRealTimers()
})

test('a client that is refused before its short body has arrived keeps its connection', async () => {
  const [host = '', port] = http.split(':')
  const socket = connect(Number(port), host).setEncoding('latin1')
  whenTheFileEnds(() => void socket.destroy())
  let received = ''
  socket.on('data', (part: string) => {
    received += part
  })
  const answers = () => received.split('HTTP/1.1 ').length - 1
  for (let asked = 1; asked <= 3; asked++) {
    socket.write(`GET /identity/v3/auth/catalog HTTP/1.1\r\nHost: ${http}\r\nContent-Length: 200000\r\n\r\n`)
    await eventually(() => answers() === asked)
    socket.write('a'.repeat(200_000))
  }
  expect(received.match(/HTTP\/1.1 401/g)).toHaveLength(3)
})

test('with TLS, a request that arrives while a long answer is still leaving is answered after it', async () => {
  const folder = newFolder()
  const files = { certificate: join(folder, 'certificate'), key: join(folder, 'key') }
  writeFileSync(files.certificate, CERTIFICATE)
  writeFileSync(files.key, KEY, { mode: 0o600 })
  const secure = new SecureServers(
    new WatchedCertificates('tls', files, { onChanged: () => {}, onRefused: () => {} }),
    {
      ...{ headersMs: 60_000, requestMs: 60_000, checkIntervalMs: 60_000, keepAliveMs: 60_000 },
      ...{ headerBytesMax: 65_536, requestsPerConnectionMax: 10, hstsDays: 1 },
      refuse: (_code, connection) => connection.destroy(),
      answer: () => ({ status: 400, headers: {}, body: '' }),
    },
  )
  const asked = Promise.withResolvers<void>()
  const LONG = 'long'.repeat(4_000_000)
  const server = secure.create((request, response) => {
    if (request.method === 'GET') response.end(LONG)
    else {
      asked.resolve()
      void text(request).then((body) => response.end(`read ${body}`))
    }
  })
  const table = new HttpConnections({ connections: 10, bodiesStream: true }, () => {})
  const listening = await table.serve(server, 'http', '127.0.0.1:0', ownConnections())
  const port = Number(listening.address.split(':').at(-1))
  const wire = heldBack(port)
  const client = connectTls({ socket: wire.stream, rejectUnauthorized: false })
  whenTheFileEnds(async () => {
    wire.stream.destroy()
    listening.close()
    await table.drain(server, 0)
    secure.close()
  })
  await once(client, 'secureConnect')
  client.write('GET / HTTP/1.1\r\nHost: any\r\n\r\n')
  await once(client.pause(), 'readable')
  // Two records, which arrive together.
  wire.hold()
  client.write('POST / HTTP/1.1\r\nHost: any\r\nConnection: close\r\nContent-Length: 4\r\n\r\n')
  client.write('body', () => wire.release())
  await asked.promise
  const received = await text(client)
  expect(received.length).toBeGreaterThan(LONG.length)
  expect(received.slice(-100)).toContain('read body')
})

/** A connection that can hold back what is sent, and then send it at once. */
function heldBack(port: number) {
  const socket = connect(port, '127.0.0.1')
  let held: Buffer[] | undefined
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (part: Buffer, _encoding, done) => {
      if (held === undefined) return void socket.write(part, done)
      held.push(part)
      done()
    },
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (part) => stream.push(part) || socket.pause()).on('end', () => stream.push(null))
  return {
    stream,
    hold: () => {
      held = []
    },
    release: () => {
      socket.write(Buffer.concat(held ?? []))
      held = undefined
    },
  }
}
