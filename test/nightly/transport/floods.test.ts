/**
 * Floods, with a neighbour: another client goes on to get right answers, and the attacker's connections end
 * as they should. The wait of the neighbour, and the memory of the sidecar, are printed: a figure of a busy
 * machine is not a bound.
 */
import { join } from 'node:path'
import { Client, credentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageType } from '../../support/contract/black-box.ts'
import { type AdministeredDemo, serveAdministeredDemo } from '../../support/interop/administered-demo.ts'
import { repository } from '../../support/interop/command.ts'
import { FLOODS, type FloodReport } from '../../support/interop/floods.ts'
import { residentMb, startProcess } from '../../support/processes/processes.ts'
import { HANGS_MS } from '../../support/suite/resources.ts'

/** How long a flood lasts, and how long the neighbour is alone before, in milliseconds. */
const FLOOD_MS = 1_500
const QUIET_MS = 400

/** The end of a connection: code of GOAWAY; absent: nothing but time. */
const TOLD: Readonly<Record<string, RegExp>> = {
  'calls that are reset at once': /^GOAWAY 11 ./,
  'header fields without end': /^GOAWAY 11 ./,
  'empty CONTINUATION': /^GOAWAY 11 ./,
  pings: /^GOAWAY 11 ./,
  settings: /^GOAWAY 11 ./,
  'empty DATA': /^GOAWAY 11 ./,
  'window updates of one byte': /^GOAWAY 11 ./,
  'strings with too much padding (Huffman)': /^GOAWAY 9 ./,
}

const CHECK = messageType('CheckRequest').serialize({
  api: 'balance',
  token: { kind: 'static_token', scope: { account: '1' } },
})

interface Row {
  readonly flood: string
  readonly quiet: string
  readonly flooded: string
  readonly answers: number
  readonly memory: string
  readonly ends: string
}

let sidecar: AdministeredDemo
const rows: Row[] = []
beforeAll(async () => {
  sidecar = await serveAdministeredDemo({
    environment: {
      PORTCULLIS_LOG_LEVEL: 'error',
      // So that what only time ends has an end here.
      PORTCULLIS_GRPC_REQUEST_TIMEOUT_MS: '1000',
      PORTCULLIS_GRPC_READER_TIMEOUT_MS: '1000',
      NODE_OPTIONS: '--max-semi-space-size=4 --max-old-space-size=256',
    },
  })
})
afterAll(async () => {
  await sidecar?.stop()
  const lines = rows.map(({ flood, quiet, flooded, answers, memory, ends }) =>
    [flood, quiet, flooded, answers, memory, ends].join(' | '),
  )
  const title =
    'flood | quiet p50/p99 ms | flooded p50/p99 ms | answers | RSS before → most MB | connections end'
  process.stderr.write(`interop: floods\n${[title, ...lines].join('\n')}\n`)
})

test.each(Object.keys(FLOODS))('%s', async (flood) => {
  const neighbour = new Neighbour(sidecar.ready.grpc)
  const quiet = await neighbour.askFor(QUIET_MS)
  const before = residentMb(sidecar.pid)
  let most = before
  const looking = setInterval(() => {
    most = Math.max(most, residentMb(sidecar.pid))
  }, 50)
  const program = [process.execPath, join(repository, 'test', 'support', 'interop', 'floods.ts')]
  const attacker = startProcess([...program, sidecar.ready.grpc, flood], { input: 'open' })
  const flooded = await neighbour.askFor(FLOOD_MS)
  const { stdout, stderr } = await attacker.stop()
  clearInterval(looking)
  neighbour.close()
  expect(stderr).toBe('')
  const report: FloodReport = JSON.parse(stdout)
  const ends = Object.entries(report.endings).map(([ending, count]) => `${count} × ${ending}`)
  rows.push({
    flood,
    quiet: quiet.percentiles,
    flooded: flooded.percentiles,
    answers: flooded.count,
    memory: `${before} → ${most}`,
    ends: ends.join('; '),
  })
  expect([...quiet.wrong, ...flooded.wrong]).toEqual([])
  expect(flooded.count).toBeGreaterThan(0)
  const told = TOLD[flood]
  if (told !== undefined) expect(Object.keys(report.endings)).toContainEqual(expect.stringMatching(told))
})

/** A client that asks one question after the other. */
class Neighbour {
  readonly #client: Client

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 })
  }

  async askFor(ms: number): Promise<{ percentiles: string; count: number; wrong: string[] }> {
    const times: number[] = []
    const wrong: string[] = []
    const end = performance.now() + ms
    // At least one answer, however long it takes.
    do {
      const before = performance.now()
      const problem = await this.#ask()
      if (problem === undefined) times.push(performance.now() - before)
      else wrong.push(problem)
      await new Promise((resolve) => setTimeout(resolve, 1))
    } while (performance.now() < end)
    times.sort((left, right) => left - right)
    const at = (share: number) => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1)
    return { percentiles: `${at(0.5)}/${at(0.99)}`, count: times.length, wrong }
  }

  #ask(): Promise<string | undefined> {
    const path = '/portcullis.v1.AuthorizationService/Check'
    const identity = (bytes: Buffer) => bytes
    const options = { deadline: Date.now() + HANGS_MS }
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(path, identity, identity, CHECK, options, (error, answer) => {
        if (error !== null || answer === undefined) return resolve(String(error))
        const { allowed } = messageType('CheckResponse').deserialize(answer) as { allowed: boolean }
        resolve(allowed ? undefined : 'denied')
      })
    })
  }

  close(): void {
    this.#client.close()
  }
}
