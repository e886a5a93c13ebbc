/** Readers of sockets: frames of HTTP/2, header blocks, messages of gRPC, base64 of gRPC-Web. */
import { StatusError } from '../../../sidecar/contract/call.ts'
import { Base64Decoder } from '../../../sidecar/transports/connect/base64.ts'
import { MessageBuffer } from '../../../sidecar/transports/framed-messages.ts'
import { FrameReader } from '../../../sidecar/transports/http2/frame-reader.ts'
import {
  CompressionError,
  HeaderDecoder,
  TooManyFields,
} from '../../../sidecar/transports/http2/hpack/decoder.ts'
import { HeaderEncoder } from '../../../sidecar/transports/http2/hpack/encoder.ts'
import {
  decodeHuffman,
  encodeHuffman,
  huffmanLength,
} from '../../../sidecar/transports/http2/hpack/huffman.ts'
import { FRAME_HEADER_BYTES } from '../../../sidecar/transports/http2/protocol.ts'
import { shapeOf } from '../../../sidecar/transports/http2/request-head.ts'
import { everyKind } from '../../support/http2/every-kind.ts'
import { callOf, field, PREFACE } from '../../support/http2/frames.ts'
import { talks } from '../../support/http2/mutations.ts'
import { described, TestServer } from '../../support/http2/peer.ts'
import { Parts, promised, reading, type Target } from '../target.ts'

/** The input in pieces, whose sizes the input itself says. */
function pieces(bytes: Buffer, sizes: Buffer): Buffer[] {
  const cut: Buffer[] = []
  for (let at = 0, size = 0; at < bytes.length; at += size) {
    size = 1 + ((sizes[cut.length % Math.max(1, sizes.length)] ?? 0) % 61)
    cut.push(bytes.subarray(at, at + size))
  }
  return cut
}

/** Two texts of what was read, in one piece and in pieces, must be the same. */
function promiseSame(whole: unknown, inPieces: unknown, what: string): void {
  promised(
    JSON.stringify(whole) === JSON.stringify(inPieces),
    `${what} differ when the bytes arrive in pieces`,
  )
}

class TooLong extends Error {}

/** The frames that a reader takes, and its end. */
function framesOf(parts: readonly Buffer[]): string[] {
  const taken: string[] = []
  const frames = new FrameReader({
    isHttp2: () => taken.push('HTTP/2'),
    notHttp2: (first) => taken.push(`no HTTP/2: ${first}`),
    checkLength: (length) => {
      if (length > 16_384) throw new TooLong()
    },
    takeFrame: (type, flags, stream, bytes, start, end) =>
      taken.push(`${type} ${flags} ${stream} ${bytes.toString('latin1', start, end)}`),
    pauses: () => false,
  })
  for (const part of parts) {
    // The bytes are only lent.
    const lent = Buffer.from(part)
    const before = taken.length
    if (reading(() => frames.read(lent) ?? true, TooLong) === undefined) return [...taken, 'too long']
    lent.fill(0)
    if (taken.slice(before).some((each) => each.startsWith('no HTTP/2'))) return taken
    promised(
      frames.heldBytes <= 16_384 + 2 * FRAME_HEADER_BYTES,
      'a reader of frames holds one frame at most',
    )
  }
  return taken
}

const grpc = everyKind(Buffer.alloc(300, 'x'))

// Its tables are made at the first use, which does not count as an input's steps.
decodeHuffman(Buffer.of(0x1f), 0, 1)

const server = new TestServer(grpc, { bufferBytes: 1_000_000, streams: 20 })

/** The answers of a server to a client, without windows, which it may open at different times. */
function heard(parts: readonly Buffer[]): string[] {
  const peer = server.connect().send(PREFACE)
  for (const part of parts) if (!peer.ended) peer.send(part)
  const said = peer.received().map((each) => `${described(each)} ${each.payload.toString('latin1')}`)
  peer.socket.emit('close')
  promised(server.http2.connections === 0, 'a connection that is closed is forgotten')
  promised(server.http2.budget.bytes === 0, 'a connection that is closed holds no bytes')
  return said.filter((each) => !each.startsWith('WINDOW_UPDATE'))
}

/** A connection has several blocks: a byte before each says how long it is. */
function blocksOf(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at] as number
    blocks.push(bytes.subarray(at + 1, at + 1 + length))
    at += 1 + length
  }
  return blocks
}
const framed = (...blocks: readonly Buffer[]) =>
  Buffer.concat(blocks.map((block) => Buffer.concat([Buffer.of(block.length), block])))

const LIST_BYTES = 512

/** The messages of a stream, compressed ones left out, and how it ends. */
async function messagesOf(parts: readonly Buffer[]): Promise<string[]> {
  const buffer = new MessageBuffer(2_000, false)
  const messages: string[] = []
  for (const part of parts) {
    const lent = Buffer.from(part)
    buffer.push(lent, 0, lent.length)
    lent.fill(0)
    for (;;) {
      const next = reading(() => buffer.next() ?? 'incomplete', StatusError)
      if (next === undefined) return [...messages, 'refused']
      if (next === 'incomplete') break
      messages.push((await next).toString('latin1'))
    }
    promised(buffer.length < 2_005, 'no more than one message is kept')
  }
  promised(buffer.missing > 0 && buffer.missing <= 2_005, 'a message that is not complete misses bytes')
  return messages
}

export const targets: readonly Target[] = [
  {
    name: 'http2-frames',
    seeds: talks().flatMap((talk) => [talk, Buffer.concat([PREFACE, talk])]),
    run: (bytes) => {
      const input = bytes[0] === 0x50 ? bytes : Buffer.concat([PREFACE, bytes])
      promiseSame(framesOf([input]), framesOf(pieces(input, bytes.subarray(-8))), 'frames')
    },
  },
  {
    name: 'http2-server',
    seeds: talks(),
    words: [
      '/unary',
      '/fails',
      '/stream',
      '/bidi',
      'grpc-timeout',
      'grpc-encoding',
      'gzip',
      'te',
      'trailers',
    ],
    run: (bytes) => {
      server.nowMs += 10_000
      heard([bytes])
      server.nowMs += 10_000
      server.http2.tick()
      heard(pieces(bytes, bytes.subarray(-8)))
    },
  },
  {
    name: 'hpack',
    seeds: [
      framed(callOf('/unary')),
      framed(field('te', 'trailers'), field('a', 'b')),
      framed(
        Buffer.from('828684410f7777772e6578616d706c652e636f6d', 'hex'),
        Buffer.from('828684be58086e6f2d6361636865', 'hex'),
      ),
      framed(
        Buffer.from('828684418cf1e3c2e5f23a6ba0ab90f4ff', 'hex'),
        Buffer.from('828684be5886a8eb10649cbf', 'hex'),
      ),
      framed(Buffer.from('3fe11f400a637573746f6d2d6b65790d637573746f6d2d686561646572', 'hex')),
    ],
    run: (bytes) => {
      const decoder = new HeaderDecoder(256, LIST_BYTES)
      const encoder = new HeaderEncoder()
      const again = new HeaderDecoder(4_096, 65_536)
      for (const block of blocksOf(bytes)) {
        const list = reading(() => decoder.decode(block, 0, block.length), CompressionError, TooManyFields)
        if (list === undefined) return
        promised(list.bytes <= LIST_BYTES, 'a list has as many bytes as it may have')
        promised(list.fields.length <= 128, 'a list has as many fields as it may have')
        shapeOf(list.fields)
        const written = encoder.once(list.fields.map(({ name, value }) => [name, value]))
        const { fields } = again.decode(written, 0, written.length)
        const texts = (from: typeof fields) => from.map(({ name, value }) => [name, value])
        promised(
          JSON.stringify(texts(fields)) === JSON.stringify(texts(list.fields)),
          'fields that were written are read as the same',
        )
      }
    },
  },
  {
    name: 'huffman',
    seeds: [Buffer.from('f1e3c2e5f23a6ba0ab90f4ff', 'hex'), Buffer.from('a8eb10649cbf', 'hex'), ''],
    run: (bytes) => {
      const text = decodeHuffman(bytes, 0, bytes.length)
      if (text === undefined) return
      promised(huffmanLength(text) === bytes.length, 'a string is coded in one way')
      const coded = Buffer.alloc(bytes.length)
      promised(encodeHuffman(text, coded, 0) === bytes.length, 'a string is coded in one way')
      promised(coded.equals(bytes), 'a string is coded in one way')
    },
  },
  {
    name: 'grpc-messages',
    seeds: [
      Buffer.of(0, 0, 0, 0, 3, 1, 2, 3),
      Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9),
      Buffer.of(1, 0, 0, 0, 1, 9),
      Buffer.of(0, 0, 0, 8, 0, 9),
    ],
    run: async (bytes) => {
      const whole = await messagesOf([bytes])
      promiseSame(whole, await messagesOf(pieces(bytes, bytes.subarray(-8))), 'messages')
    },
  },
  {
    name: 'base64',
    bytesMax: 256,
    seeds: ['AAAAAAMBAgM=', 'AAAA', 'AA==AAA=AAAA', 'A', '===='],
    run: (bytes) => {
      const read = (parts: readonly Buffer[]) => {
        const decoder = new Base64Decoder()
        return reading(() => {
          const decoded = parts.map((part) => decoder.decode(part))
          decoder.end()
          return Buffer.concat(decoded)
        }, StatusError)?.toString('hex')
      }
      const { length } = new Parts(bytes).rest()
      const whole = read([bytes])
      promiseSame(whole, read(pieces(bytes, bytes.subarray(0, 8))), 'bytes')
      if (whole === undefined) return
      const text = bytes.toString('latin1')
      promised(/^[A-Za-z0-9+/=]*$/.test(text), 'only the characters of base64 are read')
      promised(whole.length / 2 <= (length * 3) / 4, 'four characters are three bytes at most')
      if (!/=./.test(text))
        promised(whole === Buffer.from(text, 'base64').toString('hex'), 'as Node reads it')
    },
  },
]
