/**
 * Header compression (RFC 7541): the examples of its appendix C, what it calls an error, and strings of every
 * octet.
 */
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  CompressionError,
  HeaderDecoder,
  type HeaderList,
  TooManyFields,
} from '../../sidecar/transports/http2/hpack/decoder.ts'
import { HeaderEncoder, RepeatedFields } from '../../sidecar/transports/http2/hpack/encoder.ts'
import { decodeHuffman, encodeHuffman, huffmanLength } from '../../sidecar/transports/http2/hpack/huffman.ts'
import { field } from '../support/http2/frames.ts'

const LIST_BYTES = 65_536

/** Decodes blocks of one connection, written in hexadecimal. */
function decodeAll(blocks: readonly string[], tableBytes = 4_096): string[][] {
  const decoder = new HeaderDecoder(tableBytes, LIST_BYTES)
  return blocks.map((hex) => {
    const block = Buffer.from(hex.replaceAll(' ', ''), 'hex')
    return decoder.decode(block, 0, block.length).fields.map(({ name, value }) => `${name}: ${value}`)
  })
}

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [
    ':method: GET',
    ':scheme: https',
    ':path: /index.html',
    ':authority: www.example.com',
    'custom-key: custom-value',
  ],
]

const date21 = 'date: Mon, 21 Oct 2013 20:13:21 GMT'
const location = 'location: https://www.example.com'
const RESPONSES = [
  [':status: 302', 'cache-control: private', date21, location],
  [':status: 307', 'cache-control: private', date21, location],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    location,
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
]

test.each<[section: string, blocks: string[], lists: string[][], tableBytes?: number]>([
  [
    'C.2.1',
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572'],
    [['custom-key: custom-header']],
  ],
  ['C.2.2', ['040c 2f73 616d 706c 652f 7061 7468'], [[':path: /sample/path']]],
  ['C.2.3', ['1008 7061 7373 776f 7264 0673 6563 7265 74'], [['password: secret']]],
  ['C.2.4', ['82'], [[':method: GET']]],
  [
    'C.3 (requests without Huffman coding)',
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
    REQUESTS,
  ],
  [
    'C.4 (requests with Huffman coding)',
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
    REQUESTS,
  ],
  [
    'C.5 (responses without Huffman coding, in a table of 256 bytes)',
    [
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '4803 3330 37c1 c0bf',
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
    ],
    RESPONSES,
    256,
  ],
  [
    'C.6 (responses with Huffman coding, in a table of 256 bytes)',
    [
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      '4883 640e ffc1 c0bf',
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
    ],
    RESPONSES,
    256,
  ],
])('the example of appendix %s is decoded', (_section, blocks, lists, tableBytes) => {
  expect(decodeAll(blocks, tableBytes)).toEqual(lists)
})

test.each<[claim: string, blocks: string[]]>([
  ['entry 0', ['80']],
  ['an entry that the static table and an empty dynamic table do not have', ['be']],
  ['an entry that was evicted', ['4001 6101 62', '20 3fe11f be']],
  ['the name of such an entry', ['7f 80 01 01 61']],
  ['a size update beyond what the settings allow', ['3fe2 1f']],
  ['a size update after a field', ['82 20']],
  ['three size updates', ['20 20 20 82']],
  ['a number that never ends', ['ff ffff ffff ffff ffff 7f']],
  ['a number that is cut off', ['ff']],
  ['a string that is longer than the block', ['4001 6105 62']],
  ['a string that is cut off', ['4001 61']],
  ['Huffman coding with EOS', ['0085 f2b2 4a84 ff87 4951 fffffffa 7f']],
  ['Huffman padding of eight bits', ['0085 f2b2 4a84 ff87 4951 fffffa ffff 7f']],
  ['Huffman padding with zeros', ['4001 6181 18']],
])('%s is an error', (_claim, blocks) => {
  expect(() => decodeAll(blocks)).toThrow(CompressionError)
})

test('fields beyond the limit of the list are left out, and still enter the table', () => {
  const decoder = new HeaderDecoder(4_096, 100)
  const first = Buffer.from(`4001${'61'}0162`.repeat(3), 'hex')
  const { fields, tooLarge } = decoder.decode(first, 0, first.length)
  expect({ count: fields.length, tooLarge }).toEqual({ count: 2, tooLarge: true })
  expect(decoder.decode(Buffer.of(0xc0), 0, 1).fields).toMatchObject([{ name: 'a', value: 'b' }])
})

/** How often a long string was judged, and how many strings were made of bytes. */
function work(run: () => void): { judged: number; strings: number } {
  const judge = vi.spyOn(RegExp.prototype, 'test')
  const make = vi.spyOn(Buffer.prototype, 'toString')
  try {
    run()
    return {
      judged: judge.mock.calls.filter(([text]) => text.length > 1_000).length,
      strings: make.mock.calls.length,
    }
  } finally {
    judge.mockRestore()
    make.mockRestore()
  }
}

/** A field with a name of 4,000 bytes, which enters the table. */
const longName = Buffer.concat([
  Buffer.of(0x40, 0x7f, 0xa1, 0x1e),
  Buffer.alloc(4_000, 'x'),
  Buffer.of(1, 0x79),
])

test('a name is judged when it enters the table, and not where a few bytes of a block repeat it', () => {
  const decoder = new HeaderDecoder(4_096, 16_384)
  decoder.decode(longName, 0, longName.length)
  const repeats = Buffer.concat(Array(1_000).fill(Buffer.of(0x0f, 47, 1, 0x7a)))
  let list: HeaderList | undefined
  const { judged } = work(() => {
    list = decoder.decode(repeats, 0, repeats.length)
  })
  expect(judged).toBe(0)
  expect(list).toMatchObject({ tooLarge: true, bytes: 4 * 4_033 })
  expect(list?.fields.map(({ name, value }) => [name.length, value])).toEqual(Array(4).fill([4_000, 'z']))
})

test('a field that does not fit is not decoded, and the table stays the one of the peer', () => {
  const decoder = new HeaderDecoder(4_096, 1_000)
  const fits = field('a', 'b')
  const large = field('c', 'x'.repeat(100))
  const wrongPadding = Buffer.of(0x00, 0x01, 0x78, 0x84, 0xff, 0xff, 0xff, 0xff)
  const entry = Buffer.from('\x40\x01n\x01v')
  const block = Buffer.concat([fits, ...Array(9).fill(large), wrongPadding, entry, ...Array(100).fill(large)])
  let list: HeaderList | undefined
  const { strings } = work(() => {
    list = decoder.decode(block, 0, block.length)
  })
  expect(list?.tooLarge).toBe(true)
  expect(list?.fields).toHaveLength(8)
  // Names and values of nine fields, the last one of which did not fit, and those of the entry.
  expect(strings).toBe(20)
  expect(decoder.decode(Buffer.of(0xbe), 0, 1).fields).toMatchObject([{ name: 'n', value: 'v' }])
})

test('a list has 128 fields at most, and a block with more than 1,024 is not read', () => {
  const decoder = new HeaderDecoder(4_096, 65_536)
  const of = (count: number) => decoder.decode(Buffer.alloc(count, 0x82), 0, count)
  expect(of(128)).toMatchObject({ tooLarge: false, bytes: 128 * 42 })
  expect(of(1_024)).toMatchObject({ tooLarge: true, bytes: 128 * 42 })
  expect(() => of(1_025)).toThrow(TooManyFields)
})

test('any string survives Huffman coding', () => {
  const octets = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
  fc.assert(
    fc.property(octets, (text) => {
      const coded = Buffer.alloc(huffmanLength(text))
      expect(encodeHuffman(text, coded, 0)).toBe(coded.length)
      expect(decodeHuffman(coded, 0, coded.length)).toBe(text)
    }),
  )
})

describe('the encoder', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/)
  const value = fc.stringMatching(/^[!-~]{0,40}$/)
  const field = fc.tuple(fc.oneof(fc.constantFrom(':status', 'content-type', 'grpc-status'), name), value)
  const blocks = fc.array(
    fc.record({ repeated: fc.boolean(), index: fc.nat(2), fields: fc.array(field, { maxLength: 6 }) }),
    { maxLength: 30 },
  )

  test('writes what a decoder reads, whatever was indexed before', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(field, { maxLength: 4 }), { minLength: 3, maxLength: 3 }),
        blocks,
        (lists, sent) => {
          const repeated = lists.map((fields) => new RepeatedFields(...fields))
          const encoder = new HeaderEncoder()
          const decoder = new HeaderDecoder(4_096, LIST_BYTES)
          for (const each of sent) {
            const fields = each.repeated ? (lists[each.index] as [string, string][]) : each.fields
            const block = each.repeated
              ? encoder.repeated(repeated[each.index] as RepeatedFields)
              : encoder.once(each.fields)
            const read = decoder.decode(block, 0, block.length).fields
            expect(read.map((found) => [found.name, found.value])).toEqual(fields)
          }
        },
      ),
    )
  })

  test('needs one byte a field for what it has sent before', () => {
    const encoder = new HeaderEncoder()
    const fields = new RepeatedFields([':status', '200'], ['content-type', 'application/grpc'])
    encoder.repeated(fields)
    expect(encoder.repeated(fields)).toHaveLength(2)
  })

  test('empties the table first if the peer wants a smaller one, and indexes nothing from then on', () => {
    const encoder = new HeaderEncoder()
    const fields = new RepeatedFields([':status', '200'], ['content-type', 'application/grpc'])
    const first = encoder.repeated(fields)
    encoder.setTableSize(0)
    const second = encoder.repeated(fields)
    expect(second[0]).toBe(0x20)
    const decoder = new HeaderDecoder(4_096, LIST_BYTES)
    decoder.decode(first, 0, first.length)
    for (const block of [second, encoder.repeated(fields)])
      expect(decoder.decode(block, 0, block.length).fields.map((found) => found.value)).toEqual([
        '200',
        'application/grpc',
      ])
    expect(() => decoder.decode(Buffer.of(0xbe), 0, 1)).toThrow(CompressionError)
  })
})
