/**
 * A real sidecar in this process, and connections to it that are not sockets: a call is answered before the
 * function that made it returns. So nothing but the sidecar runs meanwhile. Its clocks can be stopped, so
 * that no call depends on how fast this machine is.
 */
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ConnectionSource } from '../../sidecar/base/net/connections.ts'
import { readConfig, startSidecar } from '../../sidecar/index.ts'
import { HeaderEncoder } from '../../sidecar/transports/http2/hpack/encoder.ts'
import { FLAG, FRAME, FRAME_HEADER_BYTES } from '../../sidecar/transports/http2/protocol.ts'
import { frame, greeting, widened } from '../harness/frames.ts'
import { callFields, framed, type Workload } from '../harness/grpc.ts'

/** Starts a sidecar on a data folder. @returns what connects to it */
export async function startInProcess(
  data: string,
  stack: AsyncDisposableStack,
): Promise<() => MemoryConnection> {
  let take: ((connection: Socket) => void) | undefined
  const connections: ConnectionSource = {
    listen: async (_listener, address, taking) => {
      take = taking
      return { address, close: () => {} }
    },
  }
  const flags = { data, 'http.address': 'off', 'log.level': 'silent' }
  const sidecar = await startSidecar(readConfig({ flags }), { connections })
  stack.defer(() => sidecar.close())
  return () => {
    const wire = new Wire()
    take?.(wire as unknown as Socket)
    stack.defer(() => void wire.destroy())
    return new MemoryConnection(wire)
  }
}

/** From now on no time passes for the sidecar, until the stack is disposed. */
export function stopClocks(stack: AsyncDisposableStack): void {
  const clocks = { now: Date.now, performanceNow: performance.now }
  const [ms, sinceStartMs] = [Date.now(), performance.now()]
  Date.now = () => ms
  performance.now = () => sinceStartMs
  stack.defer(() => {
    Date.now = clocks.now
    performance.now = clocks.performanceNow
  })
}

/** The sidecar's side of a connection. Written bytes are counted, and dropped. */
class Wire extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  written = 0

  constructor() {
    super({ allowHalfOpen: true })
  }

  setNoDelay(): this {
    return this
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += chunk.length
    done()
  }
}

/** Unary calls, one after the other, whose bytes are made in advance. */
export class MemoryConnection {
  readonly #wire: Wire
  readonly #encoder = new HeaderEncoder()
  #nextStream = 1
  #widenedAt: number

  constructor(wire: Wire) {
    this.#wire = wire
    wire.emit('data', Buffer.concat(greeting()))
    this.#widenedAt = wire.written
  }

  /**
   * Makes a first call, which may load what answers it.
   *
   * @returns what asks the questions of the workload, once each. @throws Error if an answer is missing
   */
  async caller({ path, questions, answerBytes }: Workload): Promise<() => void> {
    const fields = callFields(path, '127.0.0.1')
    // The fields enter the dynamic table with the first call, and are one byte each from then on.
    const first = callBytes(this.#encoder.repeated(fields), questions[0] as Buffer)
    const { written } = this.#wire
    this.#ask(first)
    while (this.#wire.written < written + (answerBytes[0] as number)) await setImmediate()
    const calls = questions.map((question, index) => ({
      bytes: callBytes(this.#encoder.repeated(fields), question),
      least: answerBytes[index] as number,
    }))
    return () => {
      this.#widen()
      for (const { bytes, least } of calls)
        if (this.#ask(bytes) < least) throw new Error(`${path}: an answer is too short`)
    }
  }

  /** @returns how many bytes came back */
  #ask(bytes: Buffer): number {
    const wire = this.#wire
    const before = wire.written
    const stream = this.#nextStream
    this.#nextStream += 2
    bytes.writeUInt32BE(stream, STREAM_AT)
    bytes.writeUInt32BE(stream, FRAME_HEADER_BYTES + bytes.readUIntBE(0, 3) + STREAM_AT)
    wire.emit('data', bytes)
    return wire.written - before
  }

  /** Makes room for further answers: they are not read. */
  #widen(): void {
    const { written } = this.#wire
    if (written === this.#widenedAt) return
    this.#wire.emit('data', widened(written - this.#widenedAt))
    this.#widenedAt = written
  }
}

/** Where the number of the stream stands in a frame. */
const STREAM_AT = 5

function callBytes(fields: Buffer, question: Buffer): Buffer {
  return Buffer.concat([
    frame(FRAME.headers, FLAG.endHeaders, 0, fields),
    frame(FRAME.data, FLAG.endStream, 0, framed(question)),
  ])
}
