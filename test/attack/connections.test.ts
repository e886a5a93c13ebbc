/**
 * Clients that ask for little and hold much: others are answered, new ones get in, and the memory stays
 * bounded.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Client, connect } from '../../clients/typescript/index.ts'
import {
  attackedSidecar,
  holding,
  report,
  type Scene,
  type Times,
  timesOf,
} from '../support/attack/attack-scene.ts'
import type { Holding } from '../support/attack/holder.ts'
import { scenario } from '../support/attack/scenario.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const GRPC_JS = { grpc: { transport: 'grpc-js' } }

const CLAIMS = { api: 'balance', token: { kind: 'static_token', scope: { account: '1' } } }

/** For this time from now. */
function lasting(forMs: number): () => boolean {
  const end = performance.now() + forMs
  return () => performance.now() < end
}

/** New clients, one after the other, for a time: a probe of HTTP, and one that checks over gRPC. */
async function newcomers({ served }: Scene, forMs: number): Promise<{ probes: Times; checks: Times }> {
  const probe = async () => {
    const headers = { connection: 'close' }
    const signal = AbortSignal.timeout(20_000)
    const { status } = await fetch(`http://${served.ready.http}/healthz`, { headers, signal })
    if (status !== 200) throw new Error(`status ${status}`)
  }
  const check = async () => {
    const client = connect(served.ready.grpc, { deadlineMs: 20_000 })
    try {
      await client.check(CLAIMS)
    } finally {
      client.close()
    }
  }
  const [probes, checks] = await Promise.all([
    timesOf(lasting(forMs), probe, 5),
    timesOf(lasting(forMs), check, 5),
  ])
  return { probes, checks }
}

/** Clients that keep their connections, and ask now and then. @param pausesMs of each of them */
async function regulars({ served }: Scene, pausesMs: readonly number[]) {
  const open = async (): Promise<Client> => {
    const client = connect(served.ready.grpc, { deadlineMs: 20_000 })
    whenTheFileEnds(() => client.close())
    await client.check(CLAIMS)
    return client
  }
  const clients = await Promise.all(pausesMs.map(open))
  /** Asks for a time. Returns the messages of the checks that failed. */
  return async (forMs: number): Promise<string[]> => {
    const times = await Promise.all(
      clients.map((client, index) => timesOf(lasting(forMs), () => client.check(CLAIMS), pausesMs[index])),
    )
    return times.flatMap(({ failures }) => failures)
  }
}

interface Row {
  readonly name: string
  readonly held: Holding
  readonly settings?: object
  readonly descriptors?: number
}

const rows: readonly Row[] = [
  {
    name: '3,000 batches whose answers are not read',
    held: { type: 'unread_batches', connections: 3, calls: 1_000 },
  },
  {
    name: '3,000 batches whose answers are not read, grpc-js',
    held: { type: 'unread_batches', connections: 3, calls: 1_000 },
    settings: GRPC_JS,
  },
  {
    name: '60 connections with 300 batches each whose answers are not read',
    held: { type: 'unread_batches', connections: 60, calls: 300 },
  },
  {
    name: '300 connections with 20 batches each whose answers are not read',
    held: { type: 'unread_batches', connections: 300, calls: 20 },
  },
  {
    name: '1,000 calls with an unfinished message of 4 MiB',
    held: { type: 'unfinished_checks', connections: 1, calls: 1_000 },
  },
  {
    name: '1,000 calls with an unfinished message of 4 MiB, grpc-js',
    held: { type: 'unfinished_checks', connections: 1, calls: 1_000 },
    settings: GRPC_JS,
  },
  {
    name: '20 connections with 100 unfinished messages of 4 MiB each',
    held: { type: 'unfinished_checks', connections: 20, calls: 100 },
  },
  { name: 'checks of 2 million empty headers', held: { type: 'empty_headers', connections: 2, calls: 1 } },
  { name: '1,500 idle connections of HTTP', held: { type: 'idle_http', connections: 1_500 } },
  { name: '1,500 unfinished logins over HTTP', held: { type: 'unfinished_logins', connections: 1_500 } },
  {
    name: '200 connections with 10,000 requests of HTTP whose answers are not read',
    held: { type: 'unread_requests', connections: 200 },
  },
  { name: '5,000 idle connections of gRPC', held: { type: 'idle_grpc', connections: 5_000 } },
  {
    name: '300 idle connections of gRPC, where 260 files may be open',
    held: { type: 'idle_grpc', connections: 300 },
    descriptors: 260,
  },
  {
    name: '300 idle connections of gRPC, where 260 files may be open, grpc-js',
    held: { type: 'idle_grpc', connections: 300 },
    settings: GRPC_JS,
    descriptors: 260,
  },
]

test.each(rows)(
  '$name do not block others, and new clients get in',
  async ({ name, held, settings, descriptors }) => {
    const scene = await attackedSidecar(settings, descriptors)
    const { also } = await scenario(scene, name, holding(held), () => newcomers(scene, 2_000))
    report(`${name}: new clients`, {
      probes: `${also.probes.count}, p50 ${also.probes.p50.toFixed(1)} ms, longest ${also.probes.longest.toFixed(1)} ms`,
      checks: `${also.checks.count}, p50 ${also.checks.p50.toFixed(1)} ms, longest ${also.checks.longest.toFixed(1)} ms`,
    })
    expect([...also.probes.failures, ...also.checks.failures]).toEqual([])
  },
)

/** More connections of this machine than there may be: each that is evicted comes back. */
const floods: readonly Row[] = [
  {
    name: '4,300 streams of checks that hold a connection each',
    held: { type: 'check_streams', connections: 4_300, questions: 0 },
  },
  {
    name: '4,300 streams of checks that were answered once',
    held: { type: 'check_streams', connections: 4_300, questions: 1 },
  },
  {
    name: '1,040 streams of checks that were answered once, where 1,000 may connect, grpc-js',
    held: { type: 'check_streams', connections: 1_040, questions: 1 },
    settings: { grpc: { transport: 'grpc-js', max_connections_per_address: 1_000 } },
  },
]

test.each(floods)(
  '$name, and come back, cost others on this machine no call',
  async ({ name, held, settings }) => {
    const scene = await attackedSidecar(settings)
    const pausesMs = [20, 100, 500, 1_000, 1_000, 2_000]
    const before = await regulars(scene, pausesMs)
    const { also, outcome } = await scenario(scene, name, holding(held), async () => {
      const during = await regulars(scene, pausesMs)
      const all = await Promise.all([newcomers(scene, 5_000), before(5_000), during(5_000)])
      const [{ probes, checks }, ...kept] = all
      return [...probes.failures, ...checks.failures, ...kept.flat()]
    })
    expect(also).toEqual([])
    // Otherwise it was not an attack.
    expect(outcome['connections closed']).toBeGreaterThan(1_000)
  },
)

const reloads: readonly Pick<Row, 'name' | 'settings'>[] = [
  { name: '10,000 watches, and 10 changes of the matrix' },
  { name: '10,000 watches, and 10 changes of the matrix, grpc-js', settings: GRPC_JS },
]

test.each(reloads)('$name hold up no check', async ({ name, settings }) => {
  const matrix = join(newFolder(), 'matrix.json')
  const shipped = readFileSync(join(ROOT, 'matrix', 'support-matrix.json'), 'utf8')
  writeFileSync(matrix, shipped)
  const scene = await attackedSidecar({ ...settings, matrix, matrix_poll_ms: 0 })
  const held = { type: 'watches', connections: 10, calls: 1_000 } as const
  let over = false
  const changing = async () => {
    for (let change = 1; !over; change++) {
      writeFileSync(matrix, shipped.replace('"title": "', `"title": "${change} `))
      scene.served.signal('SIGHUP')
      await sleep(300)
    }
  }
  const attack = holding(held)
  let changes: Promise<void> | undefined
  await scenario(scene, name, async (attacked) => {
    const end = await attack(attacked)
    over = false
    changes = changing()
    return async () => {
      over = true
      await changes
      return end()
    }
  })
})
