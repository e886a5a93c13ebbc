/**
 * Sends damaged frames to a real sidecar, as fast as it takes them. Meanwhile another client asks all the
 * time, and the sidecar's memory is looked at. As a program it takes --frames and --seed:
 *
 *     node test/support/interop/soak.ts --frames 1e8
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client, credentials } from '@grpc/grpc-js'
import { CheckRequest, CheckStreamRequest } from '../../../proto/gen/portcullis/v1/authorization.ts'
import { ACK, FRAME, frame, PREFACE } from '../http2/frames.ts'
import { randomFrom } from '../inputs/random.ts'
import { residentMb } from '../processes/processes.ts'
import { closeAll, HANGS_MS, newFolder } from '../suite/resources.ts'
import { serveAdministeredDemo } from './administered-demo.ts'
import { damagedFrames, type Questions, soundFrames } from './damaged-frames.ts'
import { openRaw } from './raw-connection.ts'

export interface SoakOptions {
  readonly frames: number
  readonly seed: number
  /** Called now and then. */
  readonly onProgress?: (result: SoakResult) => void
}

export interface SoakResult {
  /** How many were sent, over how many connections. */
  readonly frames: number
  readonly connections: number
  /** How connections ended: by an error code of GOAWAY, or without one. */
  readonly endings: Readonly<Record<string, number>>
  /**
   * The client beside them: its answers, those that were not as expected, and the longest time until one, in
   * milliseconds.
   */
  readonly answers: number
  readonly wrong: readonly string[]
  readonly slowestMs: number
  /** Memory of the sidecar after the first frames, and at the end, in megabytes. */
  readonly beforeMb: number
  readonly afterMb: number
}

/** Attackers at the same time. */
const ATTACKERS = 24

/** Calls of a connection, and how many different connections there are before damage. */
const CALLS = 100
const TEMPLATES = 32

/** Shares of the frames that are damaged: most connections are alive for many frames. */
const SHARES = [0.2, 0.02, 0.005, 0.002]

/** Frames before the memory counts as that of a warm sidecar. */
const WARM_UP_FRAMES = 30_000

/** How long a connection is left open after its last frame, at most. */
const REST_MS_MAX = 200

const check: CheckRequest = {
  api: 'balance',
  subject: {
    $case: 'token',
    value: { kind: 'static_token', scope: { account: '1', project: '' } },
  },
  target: undefined,
  clientAddress: '',
  request: undefined,
}
const questions: Questions = {
  check: Buffer.from(CheckRequest.encode(check).finish()),
  streamed: Buffer.from(CheckStreamRequest.encode({ id: 'q', check }).finish()),
}

const LAST_PING = frame(FRAME.ping, { payload: Buffer.from('the last') })
const LAST_PONG = frame(FRAME.ping, { flags: ACK, payload: Buffer.from('the last') })

/** Wrong answers that are kept. */
const WRONG_MAX = 10

/** Runs until this many frames are sent. The sidecar is ended. @throws Error where it has ended before */
export async function soak({ frames, seed, onProgress }: SoakOptions): Promise<SoakResult> {
  const address = `unix:${join(newFolder(), 'socket')}`
  const sidecar = await serveAdministeredDemo({
    flags: ['--grpc', address],
    environment: {
      PORTCULLIS_LOG_LEVEL: 'error',
      // V8 would rather grow than collect garbage, which would look like a leak.
      NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=96',
    },
  })
  const random = randomFrom(seed)
  const templates = Array.from({ length: TEMPLATES }, () => soundFrames(questions, random, CALLS))
  const result = {
    ...{ frames: 0, connections: 0, endings: {} as Record<string, number> },
    ...{ answers: 0, wrong: [] as string[], slowestMs: 0, beforeMb: 0, afterMb: 0 },
  }
  let over = false
  const attacker = async () => {
    while (result.frames < frames && !over) {
      const template = templates[Math.floor(random() * TEMPLATES)] as Buffer[]
      const share = SHARES[Math.floor(random() * SHARES.length)] as number
      const batch = damagedFrames(template, share, random)
      const ending = await attack(address, batch)
      result.frames += batch.length
      result.connections++
      result.endings[ending] = (result.endings[ending] ?? 0) + 1
      if (result.beforeMb === 0 && result.frames >= Math.min(WARM_UP_FRAMES, frames / 2))
        result.beforeMb = residentMb(sidecar.pid)
      if (result.connections % 1000 === 0) onProgress?.({ ...result, afterMb: residentMb(sidecar.pid) })
    }
  }
  const client = startAsking(address, result)
  sidecar.ended.then(() => {
    over = true
  })
  await Promise.all(Array.from({ length: ATTACKERS }, attacker))
  if (over) throw new Error(`the sidecar has ended: ${sidecar.stderr().slice(-2000)}`)
  // A last answer after the last frame.
  const before = result.answers
  while (result.answers === before && result.wrong.length === 0) await rest(10)
  await client.stop()
  result.afterMb = residentMb(sidecar.pid)
  const { code, stderr } = await sidecar.stop()
  // It counts the connections that it ended, and has nothing else to say.
  const lines = stderr.split('\n').filter((line) => line !== '')
  if (
    code !== 0 ||
    lines.some(
      (line) => JSON.parse(line).msg !== 'connections or calls were refused because a limit was reached',
    )
  )
    result.wrong.push(`the sidecar ended with ${code}: ${stderr.slice(0, 2000)}`)
  return result
}

/** Sends the frames over a separate connection. @returns how it ended */
function attack(address: string, frames: readonly Buffer[]): Promise<string> {
  const { socket, closed } = openRaw(address, (frame) => {
    if (frame.equals(LAST_PONG)) socket.destroy()
  })
  // The answer to the last ping shows that the sidecar has taken all frames and has nothing against them.
  // Where the damage has swallowed the ping, the attacker leaves after a while.
  socket.write(Buffer.concat([PREFACE, ...frames, LAST_PING]))
  const limit = setTimeout(() => socket.destroy(), REST_MS_MAX)
  return closed.then(({ goAway }) => {
    clearTimeout(limit)
    return goAway === undefined ? 'none' : String(goAway.code)
  })
}

/** Asks one question after the other over a separate connection. */
function startAsking(address: string, result: { answers: number; wrong: string[]; slowestMs: number }) {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
  let over = false
  const ask = () =>
    new Promise<string>((resolve) => {
      const identity = (bytes: Buffer) => bytes
      const path = '/portcullis.v1.AuthorizationService/Check'
      const options = { deadline: Date.now() + HANGS_MS }
      client.makeUnaryRequest(path, identity, identity, questions.check, options, (error, answer?: Buffer) =>
        // An answer that allows begins with that field.
        resolve(
          error
            ? `${error.code} ${error.details}`
            : answer?.subarray(0, 2).toString('hex') === '0801'
              ? ''
              : 'denied',
        ),
      )
    })
  const asking = (async () => {
    while (!over) {
      const before = performance.now()
      const wrong = await ask()
      if (wrong === '') result.answers++
      else if (result.wrong.length < WRONG_MAX) result.wrong.push(wrong)
      result.slowestMs = Math.max(result.slowestMs, performance.now() - before)
      await rest(5)
    }
  })()
  return {
    stop: async () => {
      over = true
      await asking
      client.close()
    },
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      frames: { type: 'string', default: '1e6' },
      seed: { type: 'string', default: '1' },
    },
  })
  const print = (result: SoakResult) => process.stdout.write(`${JSON.stringify(result)}\n`)
  const options = { frames: Number(values.frames), seed: Number(values.seed) }
  const result = await soak({ ...options, onProgress: (now) => now.connections % 10_000 === 0 && print(now) })
  print(result)
  await closeAll()
  process.exitCode = result.wrong.length === 0 ? 0 : 1
}
