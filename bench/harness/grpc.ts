/**
 * The gRPC driver: it sends and receives raw bytes, so that it takes as little of the shared processor as
 * possible. It accepts an answer only with `grpc-status` 0 and the expected length.
 */
import { RepeatedFields } from '../../sidecar/transports/http2/hpack/encoder.ts'
import { type Exchange, FrameConnection } from './frames.ts'
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
const PREFIX_BYTES = 5

export class GrpcLoad {
  readonly #connections: readonly FrameConnection[]
  readonly #inFlight: number
  readonly #address: string

  private constructor(connections: readonly FrameConnection[], inFlight: number, address: string) {
    this.#connections = connections
    this.#inFlight = inFlight
    this.#address = address
  }

  /** @param address `HOST:PORT` */
  static async connect(address: string, { connections, inFlight }: Shape = BUSY): Promise<GrpcLoad> {
    const opened = Array.from({ length: connections }, () => FrameConnection.open(address))
    return new GrpcLoad(await Promise.all(opened), inFlight, address)
  }

  /** Makes one call. @returns the messages of the answer */
  async ask(
    path: string,
    questions: readonly Buffer[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Buffer[]> {
    const chunks: Buffer[] = []
    const connection = this.#connections[0] as FrameConnection
    await this.#untilDone((resolve) => {
      connection.turn(() => {
        const stream = connection.begin(callFields(path, this.#address, headers), {
          data: (bytes, start, end) => chunks.push(Buffer.from(bytes.subarray(start, end))),
          ended: (status) => {
            expectOk(status)
            resolve()
          },
        })
        connection.send(stream, Buffer.concat(questions.map(framed)), true)
      })
    })
    return messagesOf(Buffer.concat(chunks))
  }

  /**
   * Makes `calls` unary calls. All connections are kept full: when a call is answered, the next one starts.
   */
  async run(workload: Workload, calls: number): Promise<Latencies> {
    const latencies = this.#newLatencies()
    const fields = callFields(workload.path, this.#address, workload.headers)
    await this.#untilDone((resolve) => {
      const calling = new UnaryCalls(workload, calls, { fields, latencies, done: resolve })
      this.#connections.forEach((connection, index) => {
        connection.turn(() => {
          for (let lane = 0; lane < this.#inFlight; lane++)
            calling.next(connection, index * this.#inFlight + lane)
        })
      })
    })
    return latencies
  }

  /**
   * Asks at least `questions` questions on streams: one stream a connection, with as many questions in flight
   * as `run` has calls. The latency of a question runs from its writing to its answer.
   */
  async runStreams(workload: Workload, questions: number): Promise<Latencies> {
    const each = Math.ceil(questions / this.#connections.length)
    const latencies = this.#newLatencies()
    const fields = callFields(workload.path, this.#address, workload.headers)
    await this.#untilDone((resolve) => {
      let left = this.#connections.length
      const done = () => {
        if (--left === 0) resolve()
      }
      this.#connections.forEach((connection, index) => {
        const lanes = { first: index * this.#inFlight, count: this.#inFlight }
        const stream = new StreamOfQuestions(connection, workload, each, { latencies, lanes, done })
        connection.turn(() => stream.begin(fields))
      })
    })
    return latencies
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  #newLatencies(): Latencies {
    return new Latencies(this.#connections.length * this.#inFlight)
  }

  /** Rejects if a connection fails, or an answer is not as expected. */
  #untilDone(work: (resolve: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      for (const connection of this.#connections) connection.onFailure = reject
      work(resolve)
    })
  }
}

/** The header fields of a call. */
export function callFields(
  path: string,
  authority: string,
  headers: Readonly<Record<string, string>> = {},
): RepeatedFields {
  return new RepeatedFields(
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', authority],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...Object.entries(headers),
  )
}

/** The position in an answer about a token has more digits after some changes than before. */
const POSITION_BYTES_MAX = 8

interface Calling {
  readonly fields: RepeatedFields
  readonly latencies: Latencies
  done(): void
}

/** So many unary calls, on all connections. */
class UnaryCalls {
  readonly #questions: readonly Buffer[]
  readonly #answerBytes: readonly number[]
  readonly #calls: number
  readonly #calling: Calling
  #asked = 0
  #answered = 0

  constructor({ questions, answerBytes }: Workload, calls: number, calling: Calling) {
    this.#questions = questions.map(framed)
    this.#answerBytes = answerBytes
    this.#calls = calls
    this.#calling = calling
  }

  /** Starts the next call. If all have been made, it does nothing. */
  next(connection: FrameConnection, lane: number): void {
    if (this.#asked === this.#calls) return
    const index = this.#asked++ % this.#questions.length
    const { latencies, fields } = this.#calling
    const expected = PREFIX_BYTES + (this.#answerBytes[index] as number)
    let received = 0
    latencies.start(lane)
    const stream = connection.begin(fields, {
      data: (_bytes, start, end) => {
        received += end - start
      },
      ended: (status) => {
        latencies.end(lane)
        expectOk(status)
        if (Math.abs(received - expected) > POSITION_BYTES_MAX)
          throw new Error(`an answer has ${received} bytes, where ${expected} were expected`)
        if (++this.#answered === this.#calls) this.#calling.done()
        else this.next(connection, lane)
      },
    })
    connection.send(stream, this.#questions[index] as Buffer, true)
  }
}

interface Streaming {
  readonly latencies: Latencies
  readonly lanes: { readonly first: number; readonly count: number }
  done(): void
}

/** Questions on one stream. Answers come in their order, so their number follows from the bytes alone. */
class StreamOfQuestions implements Exchange {
  readonly #connection: FrameConnection
  readonly #frames: readonly Buffer[]
  readonly #answerBytes: readonly number[]
  readonly #questions: number
  readonly #streaming: Streaming
  #stream = 0
  #asked = 0
  #answered = 0
  #bytes = 0

  constructor(
    connection: FrameConnection,
    { questions, answerBytes }: Workload,
    count: number,
    streaming: Streaming,
  ) {
    this.#connection = connection
    this.#frames = questions.map(framed)
    this.#answerBytes = answerBytes
    this.#questions = count
    this.#streaming = streaming
  }

  begin(fields: RepeatedFields): void {
    this.#stream = this.#connection.begin(fields, this)
    this.#ask(this.#streaming.lanes.count)
  }

  data(_bytes: Buffer, start: number, end: number): void {
    this.#bytes += end - start
    let came = 0
    for (; this.#answered < this.#questions; this.#answered++, came++) {
      const answerBytes = PREFIX_BYTES + (this.#answerBytes[this.#answered % this.#frames.length] as number)
      if (this.#bytes < answerBytes) break
      this.#bytes -= answerBytes
      this.#streaming.latencies.end(this.#laneOf(this.#answered))
    }
    this.#ask(came)
  }

  ended(status: string | undefined): void {
    expectOk(status)
    if (this.#answered !== this.#questions || this.#bytes !== 0)
      throw new Error(
        `expected ${this.#questions} answers, got ${this.#answered} and ${this.#bytes} more bytes`,
      )
    this.#streaming.done()
  }

  #ask(count: number): void {
    if (count === 0) return
    const next: Buffer[] = []
    for (; next.length < count && this.#asked < this.#questions; this.#asked++) {
      this.#streaming.latencies.start(this.#laneOf(this.#asked))
      next.push(this.#frames[this.#asked % this.#frames.length] as Buffer)
    }
    const end = this.#answered === this.#questions
    if (next.length > 0 || end) this.#connection.send(this.#stream, Buffer.concat(next), end)
  }

  #laneOf(question: number): number {
    const { first, count } = this.#streaming.lanes
    return first + (question % count)
  }
}

function expectOk(status: string | undefined): void {
  if (status !== '0') throw new Error(`grpc-status ${status}`)
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
