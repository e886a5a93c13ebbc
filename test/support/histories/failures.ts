/**
 * The failures of the hosts and of PostgreSQL while clients ask: one after the other, in rounds. A round has
 * each of them once, in an order that a seed says.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { perform, someRecords } from '../../world/operations.ts'
import { randomFrom } from '../inputs/random.ts'
import type { FailingHost, Stage } from './stage.ts'

/** Between the end of a failure and the next one: less than this, or as long as the failure took. */
const QUIET_MS_MAX = 2_500

/** Most users of a large account: others wait for it. */
const USERS_MAX = 1_000

/** A failure, from its beginning to the moment at which everything runs again. */
type Failure = (stage: Stage, random: () => number) => Promise<void>

/** A time that is within the bound as often as beyond it. */
const aWhile = (random: () => number) => delay(100 + random() * 1_100)

export const FAILURES: Readonly<Record<string, Failure>> = {
  'all connections to PostgreSQL ended': (stage) => endConnections(stage, 'true'),
  'listeners ended': (stage) => endConnections(stage, `application_name = 'portcullis listener'`),
  'no notifications': async ({ proxy }, random) => {
    proxy.refuseListeners(true)
    await aWhile(random)
    proxy.refuseListeners(false)
  },
  'silence of the network': async ({ proxy }, random) => {
    proxy.goSilent(true)
    // Also for longer than a host waits for PostgreSQL.
    await aWhile(random)
    await aWhile(random)
    proxy.goSilent(false)
  },
  'host b is 200 ms away': async ({ proxy }, random) => {
    proxy.beLate(100)
    await aWhile(random)
    await aWhile(random)
    proxy.beLate(0)
  },
  'statements take seconds': async ({ server, database }, random) => {
    const seconds = 1 + random() * 2
    const tables = 'accounts, users IN ACCESS EXCLUSIVE MODE'
    // A change that has one of the tables may want the other one. PostgreSQL ends one of the two then.
    await server
      .query(database, `BEGIN; LOCK TABLE ${tables}; SELECT pg_sleep(${seconds}); COMMIT`)
      .catch((error: unknown) => {
        if (!(error instanceof DatabaseError && error.code === '40P01')) throw error
      })
  },
  'a large account comes and goes': async (stage, random) => {
    const asked = { account: `large-${Math.floor(random() * 1e9)}`, count: someRecords(random, USERS_MAX) }
    // A host that is not there again yet does not answer.
    for (const what of ['createUsers', 'deleteAccount'] as const)
      await perform(stage.operator, { what, asked }).catch((error) => {
        if (!(error instanceof CallError)) throw error
      })
  },
  'host a killed': ({ hosts }) => hosts.a.killAndStart(),
  'host b killed': ({ hosts }) => hosts.b.killAndStart(),
  'a worker killed': async ({ hosts }) => hosts.a.killWorker(),
  'host a stopped': ({ hosts }, random) => stopped(hosts.a.pids, random),
  'host b stopped': ({ hosts }, random) => stopped(hosts.b.pids, random),
  'a worker stopped': ({ hosts }, random) => stopped(hosts.a.workers.slice(0, 1), random),
  'PostgreSQL killed': async ({ server }) => {
    await server.kill()
    await server.start()
  },
  'PostgreSQL restarted': async ({ server }) => {
    await server.stop()
    await server.start()
  },
}

export interface Failures {
  /** How often each failure began. */
  readonly counts: ReadonlyMap<string, number>
  /** Resolves when everything runs again. Rejects with what went wrong. */
  end(): Promise<void>
}

export function beginFailures(seed: number, stage: Stage): Failures {
  const random = randomFrom(seed)
  const counts = new Map<string, number>()
  let round: [string, Failure][] = []
  let ended = false
  const failing = (async () => {
    for (let tookMs = 0; !ended; ) {
      await delay(Math.max(tookMs, random() * QUIET_MS_MAX))
      if (round.length === 0) round = Object.entries(FAILURES)
      for (const [name, fail] of round.splice(Math.floor(random() * round.length), 1)) {
        counts.set(name, (counts.get(name) ?? 0) + 1)
        const beganMs = performance.now()
        await fail(stage, random)
        tookMs = performance.now() - beganMs
      }
    }
  })()
  failing.catch(() => {})
  return {
    counts,
    end: () => {
      ended = true
      return failing
    },
  }
}

async function stopped(pids: FailingHost['pids'], random: () => number): Promise<void> {
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids)
      try {
        process.kill(pid, name)
      } catch {
        // The host has ended it meanwhile.
      }
  }
  signal('SIGSTOP')
  await aWhile(random)
  signal('SIGCONT')
}

async function endConnections({ server, database }: Stage, which: string): Promise<void> {
  await server.query(
    'postgres',
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND ${which}`,
  )
}
