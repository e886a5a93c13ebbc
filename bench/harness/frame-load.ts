/**
 * A driver that writes the frames of HTTP/2 itself. The client of `node:http2` takes ten times as long for a call as the
 * sidecar on sockets, so that it would measure itself. Header fields that repeat are one byte, as with any client of gRPC.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { HeaderDecoder } from '../../sidecar/http2/hpack/decoder.ts'
import { HeaderEncoder, RepeatedFields } from '../../sidecar/http2/hpack/encoder.ts'
import {
  FLAG,
  FRAME,
  FRAME_HEADER_BYTES,
  HEADER_TABLE_BYTES,
  PREFACE,
  SETTING,
  SETTING_BYTES,
  WINDOW_DEFAULT,
} from '../../sidecar/http2/protocol.ts'
import { framed, PREFIX_BYTES, type Shape, type Workload } from './grpc.ts'
import { Latencies } from './latency.ts'

/** No answer and no round of answers waits for a window of this size. */
const WINDOW_BYTES = 16 * 1024 * 1024

const HEADER_LIST_BYTES = 16_384
const NOTHING = Buffer.alloc(0)

export class FrameLoad {
  readonly #connections: readonly FrameConnection[]
  readonly #inFlight: number

  private constructor(connections: readonly FrameConnection[], inFlight: number) {
    this.#connections = connections
    this.#inFlight = inFlight
  }

  /** @param address `HOST:PORT` */
  static async connect(address: string, { connections, inFlight }: Shape): Promise<FrameLoad> {
    const opened = Array.from({ length: connections }, () => FrameConnection.open(address))
    return new FrameLoad(await Promise.all(opened), inFlight)
  }

  /** Makes `calls` unary calls. All connections are kept full: when a call is answered, the next one starts. */
  async run(workload: Workload, calls: number): Promise<Latencies> {
    const run = new Run(workload, calls, new Latencies(this.#connections.length * this.#inFlight))
    const failures = this.#connections.map((connection, index) => {
      const lanes = Array.from({ length: this.#inFlight }, (_, lane) => index * this.#inFlight + lane)
      return connection.begin(run, lanes)
    })
    await Promise.race([run.done, ...failures])
    return run.latencies
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }
}

/** So many calls, on all connections. */
class Run {
  readonly fields: RepeatedFields
  readonly latencies: Latencies
  readonly done: Promise<void>
  readonly #questions: readonly Buffer[]
  readonly #answerBytes: readonly number[]
  readonly #calls: number
  readonly #finish: () => void
  #asked = 0
  #answered = 0

  constructor(workload: Workload, calls: number, latencies: Latencies) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.done = promise
    this.#finish = resolve
    this.#questions = workload.questions.map(framed)
    this.#answerBytes = workload.answerBytes
    this.#calls = calls
    this.latencies = latencies
    this.fields = new RepeatedFields(
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', workload.path],
      [':authority', '127.0.0.1'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ...Object.entries(workload.headers ?? {}),
    )
  }

  /** The next call; `undefined`: all have been made. */
  next(lane: number): Call | undefined {
    if (this.#asked === this.#calls) return undefined
    const index = this.#asked++ % this.#questions.length
    this.latencies.start(lane)
    return {
      lane,
      question: this.#questions[index] as Buffer,
      bytesLeft: PREFIX_BYTES + (this.#answerBytes[index] as number),
    }
  }

  answered(lane: number): void {
    this.latencies.end(lane)
    if (++this.#answered === this.#calls) this.#finish()
  }
}

interface Call {
  readonly lane: number
  readonly question: Buffer
  /** Bytes of the answer that are due. */
  bytesLeft: number
}

class FrameConnection {
  readonly #socket: Socket
  readonly #encoder = new HeaderEncoder()
  readonly #decoder = new HeaderDecoder(HEADER_TABLE_BYTES, HEADER_LIST_BYTES)
  readonly #calls = new Map<number, Call>()
  readonly #ready = Promise.withResolvers<void>()
  #fail: (error: Error) => void = () => {}
  #run: Run | undefined
  #nextStream = 1
  /** The beginning of a frame whose rest has not arrived. */
  #partial = NOTHING
  #consumed = 0
  /** What goes out together. */
  #out: Buffer[] = []

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#attempt(() => this.#read(chunk)))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server has closed the connection')))
    this.#out.push(PREFACE, settings(), number(FRAME.windowUpdate, 0, WINDOW_BYTES - WINDOW_DEFAULT))
    this.#flush()
  }

  /** Resolves when the server has sent its settings. */
  static async open(address: string): Promise<FrameConnection> {
    const { hostname, port } = new URL(`http://${address}`)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const connection = new FrameConnection(socket)
    await connection.#ready.promise
    return connection
  }

  /** Starts a call in each lane. @returns rejects if an answer is wrong, and never resolves */
  begin(run: Run, lanes: readonly number[]): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>()
    this.#fail = reject
    this.#run = run
    this.#attempt(() => {
      for (const lane of lanes) this.#ask(lane)
      this.#flush()
    })
    return promise
  }

  close(): void {
    this.#fail = () => {}
    this.#socket.destroy()
  }

  #attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #ask(lane: number): void {
    const call = this.#run?.next(lane)
    if (call === undefined || this.#run === undefined) return
    const stream = this.#nextStream
    this.#nextStream += 2
    this.#calls.set(stream, call)
    const block = this.#encoder.repeated(this.#run.fields)
    const { question } = call
    const frames = Buffer.allocUnsafe(2 * FRAME_HEADER_BYTES + block.length + question.length)
    let at = writeHeader(frames, 0, block.length, FRAME.headers, FLAG.endHeaders, stream)
    frames.set(block, at)
    at = writeHeader(frames, at + block.length, question.length, FRAME.data, FLAG.endStream, stream)
    frames.set(question, at)
    this.#out.push(frames)
  }

  #read(chunk: Buffer): void {
    const bytes = this.#partial.length === 0 ? chunk : Buffer.concat([this.#partial, chunk])
    let at = 0
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      this.#take(bytes, at, at + FRAME_HEADER_BYTES, end)
      at = end
    }
    this.#partial = Buffer.from(bytes.subarray(at))
    if (this.#consumed > WINDOW_BYTES / 2) {
      this.#out.push(number(FRAME.windowUpdate, 0, this.#consumed))
      this.#consumed = 0
    }
    this.#flush()
  }

  #take(bytes: Buffer, header: number, start: number, end: number): void {
    const flags = bytes[header + 4] as number
    const stream = bytes.readUInt32BE(header + 5)
    switch (bytes[header + 3]) {
      case FRAME.data:
        this.#consumed += end - start
        this.#callOf(stream).bytesLeft -= end - start
        break
      case FRAME.headers:
        this.#fields(bytes, start, end, stream, (flags & FLAG.endStream) !== 0)
        break
      case FRAME.settings:
        if ((flags & FLAG.ack) !== 0) break
        this.#out.push(frame(FRAME.settings, FLAG.ack, 0, NOTHING))
        this.#ready.resolve()
        break
      case FRAME.ping:
        if ((flags & FLAG.ack) === 0)
          this.#out.push(frame(FRAME.ping, FLAG.ack, 0, bytes.subarray(start, end)))
        break
      case FRAME.windowUpdate:
        break
      default:
        throw new Error(`a frame of type ${bytes[header + 3]}, where answers are due`)
    }
  }

  #fields(bytes: Buffer, start: number, end: number, stream: number, endStream: boolean): void {
    const { fields } = this.#decoder.decode(bytes, start, end)
    if (!endStream) return
    const call = this.#callOf(stream)
    const status = fields.find(({ name }) => name === 'grpc-status')?.value
    if (status !== '0' || call.bytesLeft !== 0)
      throw new Error(`grpc-status ${status}, and ${call.bytesLeft} bytes fewer than expected`)
    this.#calls.delete(stream)
    this.#run?.answered(call.lane)
    this.#ask(call.lane)
  }

  #callOf(stream: number): Call {
    const call = this.#calls.get(stream)
    if (call === undefined) throw new Error(`a frame of stream ${stream}, which has ended`)
    return call
  }

  #flush(): void {
    if (this.#out.length === 0) return
    this.#socket.write(this.#out.length === 1 ? (this.#out[0] as Buffer) : Buffer.concat(this.#out))
    this.#out = []
  }
}

function settings(): Buffer {
  const payload = Buffer.alloc(2 * SETTING_BYTES)
  payload.writeUInt16BE(SETTING.enablePush, 0)
  payload.writeUInt16BE(SETTING.initialWindowSize, SETTING_BYTES)
  payload.writeUInt32BE(WINDOW_BYTES, SETTING_BYTES + 2)
  return frame(FRAME.settings, FLAG.none, 0, payload)
}

function number(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(value)
  return frame(type, FLAG.none, stream, payload)
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(FRAME_HEADER_BYTES + payload.length)
  bytes.set(payload, writeHeader(bytes, 0, payload.length, type, flags, stream))
  return bytes
}

/** @returns where the payload begins */
function writeHeader(
  bytes: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): number {
  bytes.writeUIntBE(length, at, 3)
  bytes[at + 3] = type
  bytes[at + 4] = flags
  bytes.writeUInt32BE(stream, at + 5)
  return at + FRAME_HEADER_BYTES
}
