/**
 * Floods of HTTP/2 frames, and silent connections. The attacker is disconnected. Meanwhile another client
 * gets right answers, and the sidecar neither ends nor leaks memory. Nothing is measured by the clock: an
 * attack has a fixed number of frames, and is repeated until the other client has got enough answers.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { BlackBox } from '../support/contract/black-box.ts'
import {
  ACK,
  callOf,
  END_HEADERS,
  FRAME,
  field,
  frame,
  frameReader,
  PREFACE,
} from '../support/http2/frames.ts'
import { residentMb, serve } from '../support/processes/processes.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

/** Attackers at the same time. Each one reconnects when it is disconnected. */
const ATTACKERS = 2

/** How many answers the other client gets before an attack ends. */
const ANSWERS = 5

/** Most connections of one attacker before the other client has got its answers. Six are usual. */
const CONNECTIONS_MAX = 100

/** How many connections are silent. */
const SILENT = 500

/** How much memory an attack may cost: more than twice what the worst one does. */
const GROWTH_MB_MAX = 64

/** How many bytes an attacker writes at a time: about as many as the sidecar reads at a time. */
const BATCH_BYTES = 64 * 1024

const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const CALL = callOf('/portcullis.v1.AuthorizationService/Check')
const STREAM = callOf('/portcullis.v1.AuthorizationService/CheckStream')

/** The error code CANCEL (RFC 9113, §7). */
const CANCEL = Buffer.of(0, 0, 0, 8)

/** A ping after all frames. Its answer shows that the attacker was not disconnected. */
const LAST_PING = frame(FRAME.ping, { payload: Buffer.from('the last') })
const LAST_PONG = frame(FRAME.ping, { flags: ACK, payload: Buffer.from('the last') })

interface Flood {
  readonly what: string
  /** Sent first, after the preface. */
  readonly opening?: Buffer
  /** The frames that are repeated, as they are or each time with a new stream. */
  readonly frames: Buffer | ((stream: number) => Buffer)
  /** How often the frames are sent on one connection. */
  readonly count: number
  /** Completes the message, so that only its size is wrong. */
  readonly ending?: Buffer
  /** Whether the attacker reads the sidecar's frames before it has sent everything. */
  readonly reads: boolean
}

const sidecar = await serve(['--data', join(newFolder(), 'data')], {
  environment: {
    PORTCULLIS_LOG_LEVEL: 'warn',
    // Otherwise V8 uses 200 MB before it collects the garbage of calls, which would look like a leak.
    NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=64',
  },
})

/** The largest frame that is allowed by default. */
const manyFields = Buffer.concat(Array(128).fill(field('x-flood', 'x'.repeat(100))))
const ping = frame(FRAME.ping, { payload: Buffer.alloc(8) })
const settings = frame(FRAME.settings)
test.each<Flood>([
  {
    what: 'headers without end (CONTINUATION, CVE-2024-28182)',
    opening: frame(FRAME.headers, { stream: 1, payload: CALL }),
    frames: frame(FRAME.continuation, { stream: 1, payload: manyFields }),
    count: 10_000,
    ending: frame(FRAME.continuation, { flags: END_HEADERS, stream: 1 }),
    reads: true,
  },
  {
    what: 'empty continuations of headers (CVE-2019-9518)',
    opening: frame(FRAME.headers, { stream: 1, payload: CALL }),
    frames: frame(FRAME.continuation, { stream: 1 }),
    count: 1_000_000,
    ending: frame(FRAME.continuation, { flags: END_HEADERS, stream: 1 }),
    reads: true,
  },
  { what: 'pings (CVE-2019-9512)', frames: ping, count: 1_000_000, reads: true },
  { what: 'pings whose answers are not read', frames: ping, count: 1_000_000, reads: false },
  { what: 'settings (CVE-2019-9515)', frames: settings, count: 1_000_000, reads: true },
  { what: 'settings whose answers are not read', frames: settings, count: 1_000_000, reads: false },
  {
    what: 'empty data frames (CVE-2019-9518)',
    opening: frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: STREAM }),
    frames: frame(FRAME.data, { stream: 1 }),
    count: 1_000_000,
    reads: true,
  },
  {
    what: 'calls that are reset at once (rapid reset, CVE-2023-44487)',
    frames: (stream) =>
      Buffer.concat([
        frame(FRAME.headers, { flags: END_HEADERS, stream, payload: CALL }),
        frame(FRAME.rstStream, { stream, payload: CANCEL }),
      ]),
    count: 10_000,
    reads: true,
  },
])('$what: the attacker is disconnected, and another client is answered', async (flood) => {
  await withOtherClient(async (answers) => {
    for (let connections = 0; connections === 0 || answers() < ANSWERS; connections++) {
      expect(connections, 'connections, and the other client still waits').toBeLessThan(CONNECTIONS_MAX)
      expect(await attack(flood)).toBe('disconnected')
    }
  })
})

test.each([
  { what: 'no bytes', first: Buffer.alloc(0) },
  { what: 'only the preface', first: PREFACE },
])(`${SILENT} silent connections ($what): another client is answered`, async ({ first }) => {
  const sockets: Socket[] = []
  await withOtherClient(async (answers) => {
    const opened = Array.from({ length: SILENT / ATTACKERS }, () => open())
    sockets.push(...opened)
    for (const socket of opened) socket.write(first)
    // Waits for the sidecar's first frames: until then, perhaps only the kernel knows the connections.
    await Promise.all(opened.map((socket) => once(socket, 'data')))
    // Only answers while all connections are open count.
    const before = answers()
    await eventually(() => answers() >= before + ANSWERS)
  })
  expect(sockets.filter(({ closed }) => closed)).toEqual([])
  for (const socket of sockets) socket.destroy()
})

test('a silent connection is closed after the idle timeout', async () => {
  const { address } = await runSidecar({ flags: { 'grpc.max_connection_idle_ms': 1000 } })
  await Promise.all(
    [Buffer.alloc(0), PREFACE].map((first) => {
      const socket = open(address)
      socket.write(first)
      return once(socket, 'close')
    }),
  )
})

test('after all floods the log has counts of what was refused and nothing else, and the sidecar stops normally', async () => {
  sidecar.signal('SIGTERM')
  const { code, stderr } = await sidecar.ended
  expect(code).toBe(0)
  const lines = stderr.split('\n').filter((line) => line !== '')
  const messages = new Set(lines.map((line) => JSON.parse(line).msg))
  expect([...messages]).toEqual(['connections or calls were refused because a limit was reached'])
})

/**
 * Runs the attackers, and another client that makes one check after another until they are done. Each
 * attacker can read how many answers that client has got.
 */
async function withOtherClient(attacker: (answers: () => number) => Promise<void>): Promise<void> {
  const client = new BlackBox(sidecar.ready.grpc)
  const ask = async () => expect(await client.ask('Check', CHECK)).toMatchObject(ALLOWED)
  await ask()
  const before = residentMb(sidecar.pid)
  let growth = 0
  let answers = 0
  let over = false
  const asking = async () => {
    try {
      while (!over) {
        await ask()
        answers++
        growth = Math.max(growth, residentMb(sidecar.pid) - before)
      }
    } finally {
      // If a check failed, the attackers need not wait any longer.
      answers = Number.POSITIVE_INFINITY
    }
  }
  const attacking = async () => {
    try {
      await Promise.all(Array.from({ length: ATTACKERS }, () => attacker(() => answers)))
    } finally {
      over = true
    }
  }
  await Promise.all([asking(), attacking()])
  await ask()
  expect(Math.max(growth, residentMb(sidecar.pid) - before)).toBeLessThan(GROWTH_MB_MAX)
  client.close()
}

/** Sends a flood over a new connection, no faster than the sidecar reads it. */
function attack({ opening, frames, count, ending, reads }: Flood): Promise<'disconnected' | 'answered'> {
  function* batches(): Generator<Buffer> {
    yield Buffer.concat([PREFACE, opening ?? Buffer.alloc(0)])
    yield* Buffer.isBuffer(frames) ? same(frames, count) : fresh(frames, count)
    yield Buffer.concat([ending ?? Buffer.alloc(0), LAST_PING])
  }
  return new Promise((resolve) => {
    const socket = open()
    socket.once('close', () => resolve('disconnected'))
    const read = frameReader((answer) => {
      if (!answer.equals(LAST_PONG)) return
      resolve('answered')
      socket.destroy()
    })
    socket.on('data', read)
    if (!reads) socket.pause()
    // A pipe waits for the socket to drain, so that batches are only made when they can be sent.
    Readable.from(batches())
      .once('end', () => socket.resume())
      .pipe(socket, { end: false })
  })
}

/** The same frame again and again, in one batch: the attacker should cost less than what it attacks. */
function* same(frames: Buffer, count: number): Generator<Buffer> {
  const each = Math.ceil(BATCH_BYTES / frames.length)
  const batch = Buffer.concat(Array(Math.min(each, count)).fill(frames))
  let left = count
  for (; left > each; left -= each) yield batch
  yield batch.subarray(0, left * frames.length)
}

/** Frames of a new stream each time, in batches. */
function* fresh(frames: (stream: number) => Buffer, count: number): Generator<Buffer> {
  let batch: Buffer[] = []
  let bytes = 0
  for (let index = 0; index < count; index++) {
    const next = frames(2 * index + 1)
    batch.push(next)
    bytes += next.length
    if (bytes < BATCH_BYTES) continue
    yield Buffer.concat(batch)
    batch = []
    bytes = 0
  }
  yield Buffer.concat(batch)
}

function open(address = sidecar.ready.grpc): Socket {
  const [host = '', port = ''] = address.split(':')
  // Some connections report being disconnected as an error, which is expected here.
  const socket = connect(Number(port), host).on('error', () => {})
  // A socket that is never read does not report the end of its connection either.
  socket.resume()
  whenTheFileEnds(() => void socket.destroy())
  return socket
}
