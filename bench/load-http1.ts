/**
 * The driver over HTTP/1.1, for servers that speak no gRPC: sockets with one request at a time on each, written as ready
 * bytes. It counts an answer only with status 200 and the length of body that was expected.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Requests that are sent in turn, over and over. */
export interface Http1Workload {
  /** Each whole, head and body. */
  readonly requests: readonly Buffer[]
  /** How long the body of the answer to each is. */
  readonly bodyBytes: readonly number[]
}

export interface Http1Answer {
  readonly status: number
  readonly body: Buffer
}

/** As many as the driver over HTTP/2 has. */
const CONNECTIONS = 8

const HEAD_END = Buffer.from('\r\n\r\n')

export class Http1Load {
  readonly #lanes: readonly Lane[]

  /**
   * @param address `HOST:PORT`
   * @param kept whether a connection serves many requests, or each has one of its own
   */
  constructor(address: string, kept: boolean) {
    this.#lanes = Array.from({ length: CONNECTIONS }, () => new Lane(address, kept))
  }

  /** Asks once. */
  ask(request: Buffer): Promise<Http1Answer> {
    return (this.#lanes[0] as Lane).ask(request)
  }

  /** `calls` in all: one in flight on each connection, the next when it is answered. */
  async run({ requests, bodyBytes }: Http1Workload, calls: number): Promise<void> {
    let asked = 0
    const drive = async (lane: Lane) => {
      while (asked < calls) {
        const index = asked++ % requests.length
        const { status, body } = await lane.ask(requests[index] as Buffer)
        if (status !== 200 || body.length !== bodyBytes[index])
          throw new Error(`expected ${bodyBytes[index]} bytes, got ${body.length} with status ${status}`)
      }
    }
    await Promise.all(this.#lanes.map(drive))
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

/** One request at a time. */
class Lane {
  readonly #host: string
  readonly #port: number
  readonly #kept: boolean
  #socket: Socket | undefined

  constructor(address: string, kept: boolean) {
    const { hostname, port } = new URL(`http://${address}`)
    this.#host = hostname
    this.#port = Number(port)
    this.#kept = kept
  }

  async ask(request: Buffer): Promise<Http1Answer> {
    const socket = this.#socket ?? (await this.#open())
    const answer = answerOn(socket)
    socket.write(request)
    try {
      return await answer
    } finally {
      if (!this.#kept) this.close()
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

/** The next answer to come. */
function answerOn(socket: Socket): Promise<Http1Answer> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const settle = (outcome: Http1Answer | Error) => {
      socket.off('data', take).off('error', settle).off('close', cut)
      if (outcome instanceof Error) reject(outcome)
      else resolve(outcome)
    }
    const take = (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const answer = readAnswer(received)
      if (answer !== undefined) settle(answer)
    }
    const cut = () => settle(new Error('the connection was closed before the answer was whole'))
    socket.on('data', take).on('error', settle).on('close', cut)
  })
}

/** @returns undefined while the answer is not whole */
function readAnswer(received: Buffer): Http1Answer | undefined {
  const headEnd = received.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`expected an answer with a length, got ${head}`)
  const body = received.subarray(headEnd + HEAD_END.length)
  return body.length < Number(length) ? undefined : { status: Number(head.slice(9, 12)), body }
}
