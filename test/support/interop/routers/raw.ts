/** Sends raw requests one after the other over as few connections as the server allows. */
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>
}

const NONE: RawAnswer = { status: 0, headers: new Map() }

/** @returns the answer to a request; status 0: the server ended the connection without one */
export class RawClient {
  readonly #port: number
  #socket: Socket | undefined

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  async ask(request: Buffer): Promise<RawAnswer> {
    const isReused = this.#socket?.destroyed === false
    const answer = await this.#send(request)
    // Some servers end a connection after an answer, and do not say so.
    return answer === NONE && isReused ? this.#send(request) : answer
  }

  #send(request: Buffer): Promise<RawAnswer> {
    const isHead = request.toString('latin1', 0, 5) === 'HEAD '
    const socket = this.#connected()
    return new Promise((resolve) => {
      let bytes = Buffer.alloc(0)
      const end = (answer: RawAnswer, isOver: boolean) => {
        socket.removeAllListeners('data').removeAllListeners('close')
        if (isOver) this.close()
        resolve(answer)
      }
      socket.on('data', (piece: Buffer) => {
        bytes = Buffer.concat([bytes, piece])
        const read = readAnswer(bytes, isHead)
        if (read !== undefined) end(read.answer, read.isOver)
      })
      socket.once('close', () => end(readAnswer(bytes, true)?.answer ?? NONE, true))
      socket.write(request)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #connected(): Socket {
    if (this.#socket === undefined || this.#socket.destroyed) {
      this.#socket = connect(this.#port, '127.0.0.1').setNoDelay(true)
      this.#socket.on('error', () => {})
    }
    return this.#socket
  }
}

/** `undefined`: it has not arrived whole. */
function readAnswer(bytes: Buffer, isBare: boolean) {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const [start = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
  const status = Number(start.split(' ')[1] ?? 0)
  const answer = { status, headers }
  const rest = bytes.length - end - 4
  const isClosed = headers.get('connection')?.toLowerCase() === 'close' || start.startsWith('HTTP/1.0')
  if (isBare || status === 204 || status === 304) return { answer, isOver: isClosed || rest > 0 }
  const length = headers.get('content-length')
  if (length !== undefined) return rest < Number(length) ? undefined : { answer, isOver: isClosed }
  if (headers.has('transfer-encoding'))
    return bytes.subarray(-5).toString() === '0\r\n\r\n' ? { answer, isOver: isClosed } : undefined
  return { answer, isOver: true }
}
