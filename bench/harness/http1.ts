/**
 * The driver over HTTP/1.1, for servers that speak no gRPC. Each socket carries one request at a time,
 * written as prepared bytes. It accepts an answer only with the expected status and the expected length of
 * the body.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Latencies } from './latency.ts'

/** Requests that are sent in turn, over and over. */
export interface Http1Workload {
  /** Each request whole, head and body. */
  readonly requests: readonly Buffer[]
  /** Length of the body of the answer to each. */
  readonly bodyBytes: readonly number[]
  /** Status of the answer to each; absent: 200. */
  readonly statuses?: readonly number[]
}

export interface Http1Answer {
  readonly status: number
  /** The status line and the headers, as they arrived. */
  readonly headers: string
  readonly body: Buffer
}

/** As many as the gRPC driver has. */
const CONNECTIONS = 8

const HEAD_END = Buffer.from('\r\n\r\n')

export class Http1Load {
  readonly #lanes: readonly Lane[]

  /**
   * @param address `HOST:PORT`
   * @param keepAlive whether a connection carries many requests, or each request gets a new one
   */
  constructor(address: string, keepAlive: boolean) {
    this.#lanes = Array.from({ length: CONNECTIONS }, () => new Lane(address, keepAlive))
  }

  /** Sends one request. */
  ask(request: Buffer): Promise<Http1Answer> {
    return (this.#lanes[0] as Lane).ask(request)
  }

  /**
   * Sends `calls` requests in all: one in flight on each connection. When it is answered, the next one
   * starts.
   */
  async run({ requests, bodyBytes, statuses }: Http1Workload, calls: number): Promise<Latencies> {
    const latencies = new Latencies(this.#lanes.length)
    let asked = 0
    const drive = async (lane: Lane, number: number) => {
      while (asked < calls) {
        const index = asked++ % requests.length
        latencies.start(number)
        const { status, body } = await lane.ask(requests[index] as Buffer)
        latencies.end(number)
        if (status !== (statuses?.[index] ?? 200) || body.length !== bodyBytes[index])
          throw new Error(`expected ${bodyBytes[index]} bytes, got ${body.length} with status ${status}`)
      }
    }
    await Promise.all(this.#lanes.map(drive))
    return latencies
  }

  close(): void {
    for (const lane of this.#lanes) lane.close()
  }
}

/** The bytes of a request. */
export function http1Request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Buffer {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries({ ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** Carries one request at a time. */
class Lane {
  readonly #host: string
  readonly #port: number
  readonly #keepAlive: boolean
  #socket: Socket | undefined

  constructor(address: string, keepAlive: boolean) {
    const { hostname, port } = new URL(`http://${address}`)
    this.#host = hostname
    this.#port = Number(port)
    this.#keepAlive = keepAlive
  }

  async ask(request: Buffer): Promise<Http1Answer> {
    const socket = this.#socket ?? (await this.#open())
    const asked = answerOn(socket)
    socket.write(request)
    let keepAlive = false
    try {
      const answer = await asked
      // A server may bound how many requests a connection carries.
      keepAlive = this.#keepAlive && !/\r\nconnection: *close/i.test(answer.headers)
      return answer
    } finally {
      if (!keepAlive) this.close()
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #open(): Promise<Socket> {
    const socket = connect({ host: this.#host, port: this.#port, noDelay: true })
    await once(socket, 'connect')
    this.#socket = socket
    return socket
  }
}

/** The next answer on the socket. */
function answerOn(socket: Socket): Promise<Http1Answer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const settle = (outcome: Http1Answer | Error) => {
      socket.off('data', take).off('error', settle).off('close', closed)
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    }
    const take = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const answer = readAnswer(received)
      if (answer !== undefined) settle(answer)
    }
    const closed = () => settle(new Error('the connection was closed before the answer was complete'))
    socket.on('data', take).on('error', settle).on('close', closed)
  })
}

/** @returns undefined while the answer is incomplete @throws Error if it has no length */
function readAnswer(received: Buffer): Http1Answer | undefined {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`expected an answer with a length, got ${head}`)
  const body = received.subarray(headEnd + HEAD_END.length)
  return body.length < Number(length) ? undefined : { status: Number(head.slice(9, 12)), headers: head, body }
}
