/**
 * The gRPC driver: a lean client on `node:http2` that sends and receives raw bytes, so that it takes as little of the
 * shared processor as possible. It accepts an answer only with `grpc-status` 0 and the expected length.
 */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { Latencies } from './latency.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'
export const CHECK_PATH = `${SERVICE}/Check`
export const CHECK_BATCH_PATH = `${SERVICE}/CheckBatch`
export const CHECK_STREAM_PATH = `${SERVICE}/CheckStream`
export const ISSUE_PATH = `${SERVICE}/Issue`

/** How many calls are in flight at once. */
export interface Shape {
  readonly connections: number
  /** On each connection. */
  readonly inFlight: number
}

/** The load of a service that serves many requests and checks each with its sidecar. */
export const BUSY: Shape = { connections: 8, inFlight: 16 }

/** The flow-control window of gRPC's own clients. Node's 64 KB would stall long answers. */
const WINDOW_BYTES = 1024 * 1024

/** Questions that are asked in turn, over and over. */
export interface Workload {
  readonly path: string
  /** Encoded requests. */
  readonly questions: readonly Buffer[]
  /** Length of the answer to each question. */
  readonly answerBytes: readonly number[]
  /** Metadata of each call; default: none. */
  readonly headers?: Readonly<Record<string, string>>
}

/** gRPC puts a prefix before each message: a flag and the message's length. */
export const PREFIX_BYTES = 5

export class GrpcLoad {
  readonly #sessions: readonly ClientHttp2Session[]
  readonly #inFlight: number

  private constructor(sessions: readonly ClientHttp2Session[], inFlight: number) {
    this.#sessions = sessions
    this.#inFlight = inFlight
  }

  /** @param address `HOST:PORT` */
  static async connect(address: string, { connections, inFlight }: Shape = BUSY): Promise<GrpcLoad> {
    const settings = { initialWindowSize: WINDOW_BYTES }
    const sessions = Array.from({ length: connections }, () => connect(`http://${address}`, { settings }))
    await Promise.all(sessions.map((session) => once(session, 'connect')))
    for (const session of sessions) session.setLocalWindowSize(WINDOW_BYTES)
    return new GrpcLoad(sessions, inFlight)
  }

  /** Makes one call. @returns the messages of the answer */
  async ask(
    path: string,
    questions: readonly Buffer[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Buffer[]> {
    const stream = this.#request(this.#sessions[0] as ClientHttp2Session, path, headers)
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const end = ended(stream)
    stream.end(Buffer.concat(questions.map(framed)))
    await end
    return messagesOf(Buffer.concat(chunks))
  }

  /** Makes `calls` unary calls. All connections are kept full: when a call is answered, the next one starts. */
  run(workload: Workload, calls: number): Promise<Latencies> {
    const frames = workload.questions.map(framed)
    const latencies = this.#newLatencies()
    return new Promise((resolve, reject) => {
      let asked = 0
      let answered = 0
      const askNext = (session: ClientHttp2Session, lane: number) => {
        if (asked === calls) return
        const index = asked++ % frames.length
        const expectedBytes = PREFIX_BYTES + (workload.answerBytes[index] as number)
        latencies.start(lane)
        const stream = this.#request(session, workload.path, workload.headers)
        let bytes = 0
        stream.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        onEnd(stream, (error) => {
          latencies.end(lane)
          if (error !== undefined || bytes !== expectedBytes)
            return reject(error ?? new Error(`expected ${expectedBytes} bytes of answer, got ${bytes}`))
          if (++answered === calls) resolve(latencies)
          else askNext(session, lane)
        })
        stream.end(frames[index])
      }
      this.#sessions.forEach((session, index) => {
        for (let lane = 0; lane < this.#inFlight; lane++) askNext(session, index * this.#inFlight + lane)
      })
    })
  }

  /**
   * Asks at least `questions` questions on streams: one stream a connection, with as many questions in flight as `run`
   * has calls. The latency of a question runs from its writing to its answer.
   */
  async runStreams(workload: Workload, questions: number): Promise<Latencies> {
    const each = Math.ceil(questions / this.#sessions.length)
    const latencies = this.#newLatencies()
    await Promise.all(
      this.#sessions.map((session, index) =>
        this.#runStream(session, workload, each, latencies, index * this.#inFlight),
      ),
    )
    return latencies
  }

  close(): void {
    for (const session of this.#sessions) session.close()
  }

  /** @param firstLane of the lanes of this stream */
  async #runStream(
    session: ClientHttp2Session,
    workload: Workload,
    questions: number,
    latencies: Latencies,
    firstLane: number,
  ): Promise<void> {
    const frames = workload.questions.map(framed)
    const stream = this.#request(session, workload.path, workload.headers)
    let asked = 0
    let answered = 0
    // Answers come in the order of the questions, so their number follows from the bytes alone.
    let bytes = 0
    const laneOf = (question: number) => firstLane + (question % this.#inFlight)
    const ask = (count: number) => {
      const next: Buffer[] = []
      for (; next.length < count && asked < questions; asked++) {
        latencies.start(laneOf(asked))
        next.push(frames[asked % frames.length] as Buffer)
      }
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
        latencies.end(laneOf(answered))
      }
      ask(came)
    })
    const end = ended(stream)
    ask(this.#inFlight)
    await end
    if (answered !== questions || bytes !== 0)
      throw new Error(`expected ${questions} answers, got ${answered} and ${bytes} more bytes`)
  }

  #newLatencies(): Latencies {
    return new Latencies(this.#sessions.length * this.#inFlight)
  }

  #request(
    session: ClientHttp2Session,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): ClientHttp2Stream {
    return session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
  }
}

/** Resolves when a call has ended. Rejects if its status is not OK. */
function ended(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    onEnd(stream, (error) => (error === undefined ? resolve() : reject(error)))
  })
}

/** Calls back when a call has ended, with an error if its status is not OK. */
function onEnd(stream: ClientHttp2Stream, done: (error: Error | undefined) => void): void {
  let status: unknown
  let failure: Error | undefined
  // A call that fails at once has its status in the only headers that it sends.
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
}

/** A message with the prefix of gRPC. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length)
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, PREFIX_BYTES)
  return frame
}

/** The messages in what one side has sent. */
export function messagesOf(frames: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let start = 0; start < frames.length; ) {
    const end = start + PREFIX_BYTES + frames.readUInt32BE(start + 1)
    messages.push(frames.subarray(start + PREFIX_BYTES, end))
    start = end
  }
  return messages
}
