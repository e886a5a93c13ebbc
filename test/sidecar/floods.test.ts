/**
 * Floods of HTTP/2 frames, and connections that say nothing. Whoever floods is cut off; meanwhile a neighbour is
 * answered rightly, and the sidecar neither ends nor keeps memory. Nothing is measured by the clock: an attack is bounded
 * by its frames, and repeated until the neighbour has been answered often enough.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { BlackBox } from '../support/black-box.ts'
import { ACK, callOf, END_HEADERS, FRAME, field, frame, frameReader, PREFACE } from '../support/frames.ts'
import { serve } from '../support/processes.ts'
import { ACCOUNT, eventually, newFolder, runSidecar, whenTheFileEnds } from '../support/sidecar.ts'

/** Attackers at the same time. Each connects again when it is cut off. */
const ATTACKERS = 2

/** How often the neighbour has to be answered before an attack ends. */
const ANSWERS = 5

/** Connections of one attacker within which the neighbour has had its answers. Six are usual. */
const CONNECTIONS_MAX = 100

/** How many connections say nothing. */
const SILENT = 500

/** Memory that an attack may cost: more than twice what the dearest of them does. */
const GROWTH_MB_MAX = 64

/** Bytes that an attacker hands over at once: about what the sidecar reads at once. */
const BATCH_BYTES = 64 * 1024

const CHECK = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const CALL = callOf('/portcullis.v1.AuthorizationService/Check')
const STREAM = callOf('/portcullis.v1.AuthorizationService/CheckStream')

/** The error code of who wants no answer any more (RFC 9113, §7). */
const CANCEL = Buffer.of(0, 0, 0, 8)

/** Asked when all frames are sent: who is answered was not cut off. */
const LAST_PING = frame(FRAME.ping, { payload: Buffer.from('the last') })
const LAST_PONG = frame(FRAME.ping, { flags: ACK, payload: Buffer.from('the last') })

interface Flood {
  readonly what: string
  /** What comes first, after the preface. */
  readonly opening?: Buffer
  /** What comes over and over. The stream is a new one each time. */
  readonly frames: (stream: number) => Buffer
  /** How often, on one connection. */
  readonly count: number
  /** What makes the whole a proper conversation, so that only its size can be held against it. */
  readonly ending?: Buffer
  /** Whether the attacker takes in what the sidecar says before all is sent. */
  readonly reads: boolean
}

const sidecar = await serve(['--data', join(newFolder(), 'data')], {
  environment: {
    PORTCULLIS_LOG_LEVEL: 'warn',
    // Otherwise V8 takes 200 MB before it collects what calls leave behind, and that would look like memory that is kept.
    NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=64',
  },
})

/** As large as a frame may be by default. */
const manyFields = Buffer.concat(Array(128).fill(field('x-flood', 'x'.repeat(100))))
const ping = frame(FRAME.ping, { payload: Buffer.alloc(8) })
const settings = frame(FRAME.settings)
test.each<Flood>([
  {
    what: 'headers without end (CONTINUATION, CVE-2024-28182)',
    opening: frame(FRAME.headers, { stream: 1, payload: CALL }),
    frames: () => frame(FRAME.continuation, { stream: 1, payload: manyFields }),
    count: 10_000,
    ending: frame(FRAME.continuation, { flags: END_HEADERS, stream: 1 }),
    reads: true,
  },
  {
    what: 'empty continuations of headers (CVE-2019-9518)',
    opening: frame(FRAME.headers, { stream: 1, payload: CALL }),
    frames: () => frame(FRAME.continuation, { stream: 1 }),
    count: 1_000_000,
    ending: frame(FRAME.continuation, { flags: END_HEADERS, stream: 1 }),
    reads: true,
  },
  { what: 'pings (CVE-2019-9512)', frames: () => ping, count: 1_000_000, reads: true },
  { what: 'pings whose answers are not read', frames: () => ping, count: 1_000_000, reads: false },
  { what: 'settings (CVE-2019-9515)', frames: () => settings, count: 1_000_000, reads: true },
  { what: 'settings whose answers are not read', frames: () => settings, count: 1_000_000, reads: false },
  {
    what: 'empty data frames (CVE-2019-9518)',
    opening: frame(FRAME.headers, { flags: END_HEADERS, stream: 1, payload: STREAM }),
    frames: () => frame(FRAME.data, { stream: 1 }),
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
])('$what: cut off, and the neighbour is answered', async (flood) => {
  await withNeighbour(async (answers) => {
    for (let connections = 0; connections === 0 || answers() < ANSWERS; connections++) {
      expect(connections, 'connections, and the neighbour still waits').toBeLessThan(CONNECTIONS_MAX)
      expect(await attack(flood)).toBe('cut off')
    }
  })
})

test.each([
  { what: 'nothing', first: Buffer.alloc(0) },
  { what: 'the preface and nothing more', first: PREFACE },
])(`${SILENT} connections that say $what: the neighbour is answered`, async ({ first }) => {
  const sockets: Socket[] = []
  await withNeighbour(async (answers) => {
    for (let count = 0; count < SILENT / ATTACKERS; count++) {
      const socket = open()
      sockets.push(socket)
      socket.write(first)
      // The sidecar speaks first: until it does, the connection may be known to the kernel alone.
      await once(socket, 'data')
    }
    // Only what is answered while they all stand counts.
    const before = answers()
    await eventually(() => answers() >= before + ANSWERS)
  })
  expect(sockets.filter(({ closed }) => closed)).toEqual([])
  for (const socket of sockets) socket.destroy()
})

test('a connection that says nothing is closed when it has stood for as long as it may', async () => {
  const { address } = await runSidecar({ flags: { 'grpc.max_connection_idle_ms': 1000 } })
  await Promise.all(
    [Buffer.alloc(0), PREFACE].map((first) => {
      const socket = open(address)
      socket.write(first)
      return once(socket, 'close')
    }),
  )
})

test('after all of that the sidecar has nothing to say, and ends in good order', async () => {
  sidecar.signal('SIGTERM')
  expect(await sidecar.ended).toMatchObject({ code: 0, stderr: '' })
})

/**
 * Runs attackers, each told how often the neighbour has been answered so far; it asks one check after the other until
 * they are done.
 */
async function withNeighbour(attacker: (answers: () => number) => Promise<void>): Promise<void> {
  const neighbour = new BlackBox(sidecar.ready.grpc)
  const ask = async () => expect(await neighbour.ask('Check', CHECK)).toMatchObject(ALLOWED)
  await ask()
  const before = residentMb()
  let growth = 0
  let answers = 0
  let over = false
  const asking = async () => {
    try {
      while (!over) {
        await ask()
        answers++
        growth = Math.max(growth, residentMb() - before)
      }
    } finally {
      // Where it failed, attackers have nothing to wait for.
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
  expect(Math.max(growth, residentMb() - before)).toBeLessThan(GROWTH_MB_MAX)
  neighbour.close()
}

/** Sends a flood over a connection of its own, no faster than the sidecar takes it in. */
function attack({ opening, frames, count, ending, reads }: Flood): Promise<'cut off' | 'answered'> {
  function* batches(): Generator<Buffer> {
    let batch = [PREFACE, opening ?? Buffer.alloc(0)]
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
    yield Buffer.concat([...batch, ending ?? Buffer.alloc(0), LAST_PING])
  }
  return new Promise((resolve) => {
    const socket = open()
    socket.once('close', () => resolve('cut off'))
    const read = frameReader((answer) => {
      if (!answer.equals(LAST_PONG)) return
      resolve('answered')
      socket.destroy()
    })
    socket.on('data', read)
    if (!reads) socket.pause()
    // A pipe waits for the socket to drain: what is not sent is not made.
    Readable.from(batches())
      .once('end', () => socket.resume())
      .pipe(socket, { end: false })
  })
}

function open(address = sidecar.ready.grpc): Socket {
  const [host = '', port = ''] = address.split(':')
  // To be cut off is an error to some connections, and expected here.
  const socket = connect(Number(port), host).on('error', () => {})
  // Who never reads does not see the end of a connection either.
  socket.resume()
  whenTheFileEnds(() => void socket.destroy())
  return socket
}

/** Memory that the sidecar has in use; always 0 where the system does not tell. */
function residentMb(): number {
  if (process.platform !== 'linux') return 0
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${sidecar.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
