/**
 * The driver: a lean gRPC client on `node:http2`, raw bytes in and out, so that the client takes as little of the
 * shared processor as it can. It counts an answer only with `grpc-status` 0 and the length that was expected.
 */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'

const SERVICE = '/portcullis.v1.AuthorizationService'
export const CHECK_PATH = `${SERVICE}/Check`
export const CHECK_BATCH_PATH = `${SERVICE}/CheckBatch`
export const CHECK_STREAM_PATH = `${SERVICE}/CheckStream`

/** How many calls are in flight at once. */
export interface Shape {
  readonly connections: number
  /** On each connection. */
  readonly inFlight: number
}

/** What a service with many requests of its own asks of the sidecar beside it. */
export const BUSY: Shape = { connections: 8, inFlight: 16 }

/** What a session takes in before it says so, as gRPC's clients have it: the 64 KB of Node would halt long answers. */
const WINDOW_BYTES = 1024 * 1024

/** Questions that are asked in turn, over and over. */
export interface Workload {
  readonly path: string
  /** Encoded requests. */
  readonly questions: readonly Buffer[]
  /** How long the answer to each is. */
  readonly answerBytes: readonly number[]
}

/** Length of the prefix that gRPC puts before each message: a flag and the message's length. */
const PREFIX_BYTES = 5

export class Load {
  readonly #sessions: readonly ClientHttp2Session[]
  readonly #inFlight: number

  private constructor(sessions: readonly ClientHttp2Session[], inFlight: number) {
    this.#sessions = sessions
    this.#inFlight = inFlight
  }

  /** @param address `HOST:PORT` */
  static async connect(address: string, { connections, inFlight }: Shape = BUSY): Promise<Load> {
    const settings = { initialWindowSize: WINDOW_BYTES }
    const sessions = Array.from({ length: connections }, () => connect(`http://${address}`, { settings }))
    await Promise.all(sessions.map((session) => once(session, 'connect')))
    for (const session of sessions) session.setLocalWindowSize(WINDOW_BYTES)
    return new Load(sessions, inFlight)
  }

  /** Asks once and returns the messages that came back. */
  async ask(path: string, questions: readonly Buffer[]): Promise<Buffer[]> {
    const stream = this.#request(this.#sessions[0] as ClientHttp2Session, path)
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const closed = finished(stream)
    stream.end(Buffer.concat(questions.map(framed)))
    await closed
    return messagesOf(Buffer.concat(chunks))
  }

  /** Unary calls, `calls` in all: as many in flight as the connections carry, the next when one is answered. */
  run(workload: Workload, calls: number): Promise<void> {
    const frames = workload.questions.map(framed)
    return new Promise((resolve, reject) => {
      let asked = 0
      let answered = 0
      const askNext = (session: ClientHttp2Session) => {
        if (asked === calls) return
        const index = asked++ % frames.length
        const expectedBytes = PREFIX_BYTES + (workload.answerBytes[index] as number)
        const stream = this.#request(session, workload.path)
        let bytes = 0
        stream.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        finished(stream, (error) => {
          if (error !== undefined || bytes !== expectedBytes)
            return reject(error ?? new Error(`expected ${expectedBytes} bytes of answer, got ${bytes}`))
          if (++answered === calls) resolve()
          else askNext(session)
        })
        stream.end(frames[index])
      }
      for (const session of this.#sessions) for (let lane = 0; lane < this.#inFlight; lane++) askNext(session)
    })
  }

  /** One stream a connection, as many questions in flight on each as `run` has calls; at least `questions` in all. */
  async runStreams(workload: Workload, questions: number): Promise<void> {
    const each = Math.ceil(questions / this.#sessions.length)
    await Promise.all(this.#sessions.map((session) => this.#runStream(session, workload, each)))
  }

  close(): void {
    for (const session of this.#sessions) session.close()
  }

  async #runStream(session: ClientHttp2Session, workload: Workload, questions: number): Promise<void> {
    const frames = workload.questions.map(framed)
    const stream = this.#request(session, workload.path)
    let asked = 0
    let answered = 0
    // Answers come in order, so that their number follows from the bytes alone.
    let bytes = 0
    const ask = (count: number) => {
      const next: Buffer[] = []
      for (; next.length < count && asked < questions; asked++)
        next.push(frames[asked % frames.length] as Buffer)
      if (next.length > 0) stream.write(Buffer.concat(next))
      if (answered === questions) stream.end()
    }
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      let came = 0
      for (; answered < questions; answered++, came++) {
        const answerBytes = PREFIX_BYTES + (workload.answerBytes[answered % frames.length] as number)
        if (bytes < answerBytes) break
        bytes -= answerBytes
      }
      ask(came)
    })
    const closed = finished(stream)
    ask(this.#inFlight)
    await closed
    if (answered !== questions || bytes !== 0)
      throw new Error(`expected ${questions} answers, got ${answered} and ${bytes} bytes more`)
  }

  #request(session: ClientHttp2Session, path: string): ClientHttp2Stream {
    return session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
  }
}

/** Tells when a call is over, and whether its status was OK. */
function finished(stream: ClientHttp2Stream): Promise<void>
function finished(stream: ClientHttp2Stream, done: (error: Error | undefined) => void): void
function finished(stream: ClientHttp2Stream, done?: (error: Error | undefined) => void): unknown {
  if (done === undefined)
    return new Promise<void>((resolve, reject) => {
      finished(stream, (error) => (error === undefined ? resolve() : reject(error)))
    })
  let status: unknown
  let failure: Error | undefined
  // A call that fails at once carries its status in the only headers that it sends.
  stream.on('response', (headers) => {
    status = headers['grpc-status']
  })
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status']
  })
  stream.on('error', (error) => {
    failure = error
  })
  stream.on('close', () => {
    if (failure === undefined && status !== '0') failure = new Error(`grpc-status ${status}`)
    done(failure)
  })
  return undefined
}

/** A message as gRPC sends it. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length)
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, PREFIX_BYTES)
  return frame
}

/** The messages of what one side has sent. */
export function messagesOf(frames: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let start = 0; start < frames.length; ) {
    const end = start + PREFIX_BYTES + frames.readUInt32BE(start + 1)
    messages.push(frames.subarray(start + PREFIX_BYTES, end))
    start = end
  }
  return messages
}
