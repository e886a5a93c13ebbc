/**
 * The HPACK of the sidecar against that of Go, Python and Node: what one encodes, the other decodes, over
 * whole connections.
 */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HeaderDecoder } from '../../../sidecar/transports/http2/hpack/decoder.ts'
import { HeaderEncoder, RepeatedFields } from '../../../sidecar/transports/http2/hpack/encoder.ts'
import { END_HEADERS, FRAME, frame, frameReader } from '../../support/http2/frames.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { type HpackField, HpackPeer, installPythonHpack, randomFields } from '../../support/interop/hpack.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { obtainTransportTools } from '../../support/interop/transport-tools.ts'
import { whenTheFileEnds } from '../../support/suite/resources.ts'

/** The size of the dynamic table without settings. */
const TABLE_BYTES = 4096

/** Far beyond what the lists need. */
const LIST_BYTES_MAX = 2 ** 24

/** Blocks of a connection. */
const BLOCKS = 400

/** Blocks that are changed at random. */
const MUTATED = 3000

const SEEDS = [1, 2, 3]

const tools = await obtainTransportTools()
const python = await obtained('the HPACK of Python', installPythonHpack)

const PEERS = [
  { peer: 'golang.org/x/net', command: tools.ok ? [tools.value.hpack] : undefined },
  { peer: 'hpack of Python', command: python.ok ? python.value : undefined },
]

const withoutHow = (fields: readonly HpackField[]) => fields.map(([name, value]) => [name, value])

function decodeWith(decoder: HeaderDecoder, block: string): string[][] {
  const bytes = Buffer.from(block, 'hex')
  return decoder.decode(bytes, 0, bytes.length).fields.map(({ name, value }) => [name, value])
}

describe.each(PEERS)('$peer', ({ command }) => {
  describe.skipIf(command === undefined)('as the other side', () => {
    let peer: HpackPeer
    const open = () => {
      peer = new HpackPeer(command ?? [])
      return peer
    }

    test.each(SEEDS)('encodes, and we decode, while its table changes its size (seed %i)', async (seed) => {
      const random = randomFrom(seed)
      const decoder = new HeaderDecoder(TABLE_BYTES, LIST_BYTES_MAX)
      const encoder = open()
      for (let block = 0; block < BLOCKS; block++) {
        const fields = randomFields(random)
        const resized = random() < 0.1 && { encoder_table: Math.floor(random() * (TABLE_BYTES + 1)) }
        const answer = await encoder.ask({ encode: fields, huffman: random() < 0.7, ...resized })
        expect(decodeWith(decoder, answer.block ?? '')).toEqual(withoutHow(fields))
      }
      await peer.stop()
    })

    test.each(SEEDS)('decodes what we encode, with the table that it allows (seed %i)', async (seed) => {
      const random = randomFrom(seed)
      const decoder = open()
      const encoder = new HeaderEncoder()
      const repeated = Array.from({ length: 8 }, () => randomFields(random))
      const blocks = repeated.map(
        (fields) => new RepeatedFields(...fields.map(([name, value]) => [name, value] as const)),
      )
      for (let block = 0; block < BLOCKS; block++) {
        // The first connection keeps the size that all have; the second one makes it smaller in the middle;
        // the third at once.
        const size = [TABLE_BYTES, 1000, 0][SEEDS.indexOf(seed)] ?? TABLE_BYTES
        const resized = block === (seed === 3 ? 0 : BLOCKS / 2) && { decoder_table: size }
        if (resized) encoder.setTableSize(size)
        const number = Math.floor(random() * blocks.length)
        const again = blocks[number]
        const fields = random() < 0.5 && again !== undefined ? (repeated[number] ?? []) : randomFields(random)
        const bytes =
          fields === repeated[number] && again !== undefined
            ? encoder.repeated(again)
            : encoder.once(fields.map(([name, value]) => [name, value]))
        const answer = await decoder.ask({ decode: bytes.toString('hex'), ...resized })
        expect(answer.error).toBeUndefined()
        expect(withoutHow(answer.fields ?? [])).toEqual(withoutHow(fields))
      }
      await peer.stop()
    })

    test(`of ${MUTATED} blocks that were changed at random, both read the same or neither does`, async () => {
      const random = randomFrom(7)
      const other = open()
      const differences: object[] = []
      for (let count = 0; count < MUTATED; count++) {
        const fields = randomFields(random).map(
          ([name, value, how]) => [name, value.slice(0, 40), how] as const,
        )
        const block = mutated(new HeaderEncoder().once(fields.map(([name, value]) => [name, value])), random)
        const theirs = await other.ask({ fresh: true, decode: block.toString('hex') })
        const ours = outcomeOf(block)
        // Go takes size updates in the middle of a block, which RFC 7541 (§4.2) does not.
        if (ours.error?.includes('size update') && theirs.error === undefined) continue
        const expected = theirs.error === undefined ? withoutHow(theirs.fields ?? []) : undefined
        if (JSON.stringify(ours.fields) !== JSON.stringify(expected))
          differences.push({ block: block.toString('hex'), ours, theirs })
      }
      expect(differences).toEqual([])
      await peer.stop()
    })
  })
})

function outcomeOf(block: Buffer): { fields?: string[][]; error?: string } {
  try {
    return { fields: decodeWith(new HeaderDecoder(TABLE_BYTES, LIST_BYTES_MAX), block.toString('hex')) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/** Flips bits, drops bytes, cuts. */
function mutated(block: Buffer, random: () => number): Buffer {
  const bytes = [...block]
  for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--) {
    const at = Math.floor(random() * bytes.length)
    const kind = random()
    if (kind < 0.6) bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    else if (kind < 0.8) bytes.splice(at, 1)
    else if (kind < 0.9) bytes.splice(at, 0, Math.floor(random() * 256))
    else bytes.length = at
  }
  return Buffer.from(bytes)
}

describe('Node', () => {
  const port = Promise.withResolvers<number>()
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket))
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port.resolve((server.address() as { port: number }).port)
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  test('encodes requests that we decode, and decodes the answers that we encode', async () => {
    const client = connectHttp2(`http://127.0.0.1:${await port.promise}`)
    whenTheFileEnds(() => client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    const decoder = new HeaderDecoder(TABLE_BYTES, LIST_BYTES_MAX)
    const encoder = new HeaderEncoder()
    const random = randomFrom(5)
    let asked: string[][] = []
    let answered: [string, string][] = []
    // The preface is 24 bytes, and then come frames.
    let preface = 24
    const read = frameReader((received) => {
      if (received[3] === FRAME.settings && received[4] === 0)
        socket.write(frame(FRAME.settings, { flags: 1 }))
      if (received[3] !== FRAME.headers) return
      const priority = (received[4] ?? 0) & 0x20 ? 5 : 0
      asked = decodeWith(decoder, received.subarray(9 + priority).toString('hex'))
      const stream = received.readUInt32BE(5)
      answered = [[':status', '200'], ...answerFields(random)]
      const payload = encoder.once(answered)
      socket.write(frame(FRAME.headers, { flags: END_HEADERS | 1, stream, payload }))
    })
    socket.write(frame(FRAME.settings))
    socket.on('data', (bytes: Buffer) => {
      read(bytes.subarray(Math.min(preface, bytes.length)))
      preface -= Math.min(preface, bytes.length)
    })
    for (let count = 0; count < 200; count++) {
      const own = Object.fromEntries(answerFields(random))
      const request = client.request({ ':path': `/${count % 20}`, ...own }, { endStream: true })
      request.resume()
      const [head] = await once(request, 'response')
      expect(Object.entries(head)).toEqual([[':status', 200], ...answered.slice(1)])
      expect(Object.fromEntries(asked)).toMatchObject({ ':path': `/${count % 20}`, ...own })
    }
  })
})

/** Fields that HTTP allows and that Node does not join. */
function answerFields(random: () => number): [string, string][] {
  return Array.from({ length: 1 + Math.floor(random() * 5) }, (_, index) => [
    `x-field-${index}-${Math.floor(random() * 10)}`,
    `value ${'v'.repeat(Math.floor(random() * 60))} ${Math.floor(random() * 50)}`,
  ])
}
