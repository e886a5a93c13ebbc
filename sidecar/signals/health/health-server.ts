/**
 * The health listener: a plain HTTP server for probes and for Prometheus, and for nothing else. It may be
 * reached from other machines, so it answers nothing that is secret, and everything that a client may use of
 * it is bounded. A connection has one request and a short life, and where there are as many as there may be,
 * those that waited longest are evicted. So a probe is always answered.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { readiness } from '../../base/health.ts'
import { Counts } from '../../base/meters.ts'
import {
  countSilentRefusals,
  type EarlyBound,
  earlyRefusalOf,
  lacksHost,
} from '../../base/net/early-refusals.ts'
import { originForm } from '../../base/net/http-request.ts'
import { endAndLinger, lingers } from '../../base/net/linger.ts'
import { listenOn } from '../../base/net/listen.ts'
import { Reports } from '../../base/net/reports.ts'
import { answerText, WrittenResponse } from '../../base/net/written-response.ts'
import { Scrapes } from './scrapes.ts'
import type { HealthSource } from './source.ts'

export interface HealthServer {
  /** The address with the port that was bound. */
  readonly address: string
  close(): void
}

/** Most connections. */
export const CONNECTIONS_MAX = 64

/** How long a connection may last in all, in milliseconds. Prometheus waits 10 seconds for an answer. */
const CONNECTION_MS_MAX = 10_000

/** Most bytes of headers. */
export const HEADER_BYTES_MAX = 8_192

const LIMITS = { headerBytesMax: HEADER_BYTES_MAX, inTime: 'the headers sooner' }

/** The counter of every listener, which has a description where the others count. */
const BOUNDS_EXCEEDED = 'portcullis_bounds_exceeded_total'
const SERIES_MAX = 20

/** @throws Error if the address is in use, or cannot be bound */
export async function startHealthServer(
  source: HealthSource,
  address: string,
  connectionMs = CONNECTION_MS_MAX,
): Promise<HealthServer> {
  const refused = new Counts(BOUNDS_EXCEEDED, '', ['listener', 'bound'], SERIES_MAX)
  const reports = new Reports((counts) =>
    source.log?.warn(
      { listener: 'health', exceeded: counts },
      'connections or requests were refused because a limit was reached',
    ),
  )
  const count = (bound: EarlyBound | 'connections') => {
    refused.add(refused.cell('health', bound))
    reports.add(bound)
  }
  const connections = new Connections(connectionMs, () => count('connections'))
  const scrapes = source.metrics && new Scrapes(source, refused)
  const newServer = () => {
    const server: Server = createServer(
      // A connection has a time limit, whatever it waits for.
      {
        ServerResponse: WrittenResponse,
        maxHeaderSize: HEADER_BYTES_MAX,
        requireHostHeader: false,
        headersTimeout: 0,
        requestTimeout: 0,
      },
      (request, response) => {
        if (!lacksHost(request)) return answer(source, scrapes, request, response)
        count('host')
        sendJson(response, 400, { error: 'expected a Host header' })
      },
    )
    const end = (code: string | undefined, socket: Socket) => endEarly(code, socket, count)
    countSilentRefusals(server, count, end)
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => end(error.code, socket as Socket))
    return server.on('connection', (socket) => connections.add(socket))
  }
  const { servers, bound } = await listenOn('health', address, newServer)
  return {
    address: bound,
    close: () => {
      for (const server of servers) server.close()
      connections.close()
      reports.close()
    },
  }
}

/** Answers what never becomes a request. */
function endEarly(code: string | undefined, socket: Socket, count: (bound: EarlyBound) => void): void {
  if (lingers(socket)) return
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { bound, status, expected } = earlyRefusalOf(code, LIMITS)
  count(bound)
  const body = `${JSON.stringify({ error: `expected ${expected}` })}\n`
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  endAndLinger(socket, answerText(status, STATUS_CODES[status] ?? 'Error', headers, body))
}

function answer(
  source: HealthSource,
  scrapes: Scrapes | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const [path = '', query = ''] = originForm(request).split('?', 2)
  const paths = scrapes === undefined ? ['/healthz', '/readyz'] : ['/healthz', '/readyz', '/metrics']
  if (!paths.includes(path)) sendJson(response, 404, { error: `expected one of ${paths.join(', ')}` })
  else if (request.method !== 'GET' && request.method !== 'HEAD')
    sendJson(response.setHeader('allow', 'GET, HEAD'), 405, { error: 'expected GET or HEAD' })
  // A process that answers is alive.
  else if (path === '/healthz') sendJson(response, 200, { status: 'ok' })
  else if (path === '/readyz') {
    const { ready, body } = readiness(source.state, new URLSearchParams(query).has('verbose'))
    sendJson(response, ready ? 200 : 503, body)
  } else
    scrapes?.answer(request.headers.accept).then(
      ({ type, text }) => send(response, 200, type, text),
      () => sendJson(response, 500, { error: 'the metrics cannot be read' }),
    )
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json', `${JSON.stringify(body)}\n`)
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  // A next request would need a next bound. Node reads no body, and answers HEAD without one.
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    connection: 'close',
  })
  response.end(text)
}

/** The open connections: few, and none for long. */
class Connections {
  readonly #connectionMs: number
  readonly #onGivenWay: () => void
  /** In the order of their arrival. */
  readonly #open = new Map<Socket, string>()

  constructor(connectionMs: number, onGivenWay: () => void) {
    this.#connectionMs = connectionMs
    this.#onGivenWay = onGivenWay
  }

  add(socket: Socket): void {
    this.#open.set(socket, socket.remoteAddress ?? '')
    const end = setTimeout(() => socket.destroy(), this.#connectionMs).unref()
    socket.once('close', () => {
      clearTimeout(end)
      this.#open.delete(socket)
    })
    if (this.#open.size > CONNECTIONS_MAX) this.#makeRoom()
  }

  close(): void {
    for (const socket of this.#open.keys()) socket.destroy()
  }

  /**
   * The oldest connection of the address with the most of them is evicted. So a flood cannot take the place
   * of a probe.
   */
  #makeRoom(): void {
    const byAddress = Map.groupBy(this.#open, ([, address]) => address)
    let most: [Socket, string][] = []
    for (const connections of byAddress.values()) if (connections.length > most.length) most = connections
    const [[oldest] = []] = most
    if (oldest === undefined) return
    this.#open.delete(oldest)
    oldest.destroy()
    this.#onGivenWay()
  }
}
