/** Revocations of hosts that share a directory in PostgreSQL: one, two, and one beside a host far away. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openLocation } from '../../test/support/directory/writer.ts'
import { PostgresProxy } from '../../test/support/postgres/proxy.ts'
import { PostgresServer } from '../../test/support/postgres/server.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { requirePostgres } from '../servers/postgres.ts'
import { startSharingHost } from '../workloads/sharing-host.ts'
import { newDataFolder } from '../workloads/tokens.ts'

export const distanceSuite: Suite = { name: 'distance', run }

interface Effort {
  readonly rounds: number
  /** How long revocations are counted in a sample, in milliseconds. */
  readonly countedMs: number
  /** How long processes may take to start and warm up. */
  readonly startMs: number
}

const SIZES: Record<Size, Effort> = {
  full: { rounds: 7, countedMs: 5_000, startMs: 4_000 },
  smoke: { rounds: 1, countedMs: 300, startMs: 3_000 },
}

/** In each direction. */
const LATE_MS = 100
/** In one change of the host far away. */
const USERS = 40

const IDS = ['one-host', 'two-hosts', 'beside-far', 'beside-far-p99', 'beside-import-p99']

const METHOD =
  'Each host is a process that has two revocations in progress all the time; the time of one is that between two of them. All cases take turns.'
const PGBENCH_METHOD = `${METHOD} pgbench is one connection that takes an advisory lock, inserts two rows and commits.`
const FAR_METHOD = `${METHOD} A proxy makes everything between PostgreSQL and the other host take ${LATE_MS} ms in each direction.`
const P99_METHOD = `${FAR_METHOD} The 99th percentile of the time from the beginning of a revocation until it is acknowledged at the host nearby.`

const TRANSACTION = `BEGIN;
SELECT pg_advisory_xact_lock(1);
INSERT INTO of_tokens VALUES (gen_random_uuid(), 1);
INSERT INTO of_changes (touches) VALUES ('token');
COMMIT;
`

/** Of the revocations of the first host. */
interface Sample {
  /** Between two revocations of all hosts that count. */
  readonly ms: number
  readonly p99: number
}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const effort = SIZES[size]
  const skips = new Skips()
  const programs = await skips.obtain(IDS, requirePostgres)
  if (programs === undefined) return { rows: [], skipped: skips.list, answersChecked: 0 }
  const server = await PostgresServer.start(programs)
  stack.defer(() => server.remove())
  const proxy = await PostgresProxy.start(server.port)
  stack.defer(() => proxy.close())
  proxy.beLate(LATE_MS)
  const near = await server.newDatabase()
  const database = new URL(near).pathname.slice(1)
  const far = server.url(database, { port: proxy.port })
  await (await openLocation({ type: 'postgres', url: near })).close()
  const bench = join(dirname(newDataFolder(stack)), 'transaction.sql')
  writeFileSync(bench, TRANSACTION)
  await server.query(
    database,
    `CREATE TABLE of_tokens (id uuid PRIMARY KEY, at bigint);
     CREATE TABLE of_changes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, touches text)`,
  )

  const beside = (others: readonly Other[]) => () => sampleOf(near, others, effort)
  const samples = await interleave<string, Sample>(
    {
      pgbench: async () => ({ ms: await pgbench(join(programs, 'pgbench'), near, bench, effort), p99: 0 }),
      one: beside([]),
      two: beside([{ url: near, work: 'revoke', counts: true }]),
      far: beside([{ url: far, work: 'revoke', counts: false }]),
      importing: beside([{ url: far, work: 'import', counts: false }]),
    },
    effort.rounds,
  )
  return { rows: rowsOf(samples), skipped: [], answersChecked: 4 * effort.rounds }
}

function rowsOf(samples: Readonly<Record<string, readonly Sample[]>>): readonly Row[] {
  const side = (name: string, of: string, value: keyof Sample) => ({
    name,
    samples: (samples[of] ?? []).map((sample) => sample[value]),
  })
  const alone = (value: keyof Sample) => side('a host alone', 'one', value)
  return [
    comparedRow(
      { id: 'one-host', what: 'a revocation of one host', method: PGBENCH_METHOD },
      'ms',
      alone('ms'),
      side('pgbench', 'pgbench', 'ms'),
    ),
    comparedRow(
      { id: 'two-hosts', what: 'a revocation of two hosts', method: METHOD },
      'ms',
      side('two hosts', 'two', 'ms'),
      alone('ms'),
    ),
    comparedRow(
      { id: 'beside-far', what: 'a revocation beside a host that is 200 ms away', method: FAR_METHOD },
      'ms',
      side('beside it', 'far', 'ms'),
      alone('ms'),
    ),
    comparedRow(
      { id: 'beside-far-p99', what: 'the same, p99', method: P99_METHOD },
      'ms',
      side('beside it', 'far', 'p99'),
      alone('p99'),
    ),
    comparedRow(
      {
        id: 'beside-import-p99',
        what: `a revocation beside a host that is 200 ms away and makes ${USERS} users in each change, p99`,
        method: P99_METHOD,
      },
      'ms',
      side('beside it', 'importing', 'p99'),
      alone('p99'),
    ),
  ]
}

/** Another host. */
interface Other {
  readonly url: string
  readonly work: 'revoke' | 'import'
  /** Whether its revocations count. */
  readonly counts: boolean
}

async function sampleOf(near: string, others: readonly Other[], effort: Effort): Promise<Sample> {
  const fromMs = Date.now() + effort.startMs
  const untilMs = fromMs + effort.countedMs
  const host = ({ url, work }: Pick<Other, 'url' | 'work'>) =>
    startSharingHost({ url, work, users: USERS, fromMs, untilMs })
  const [tookMs = [], ...ofOthers] = await Promise.all([
    host({ url: near, work: 'revoke' }),
    ...others.map(host),
  ])
  const counted = ofOthers.filter((_, index) => others[index]?.counts).flat()
  const sorted = tookMs.toSorted((one, other) => one - other)
  const p99 = sorted[Math.ceil(0.99 * sorted.length) - 1]
  if (p99 === undefined) throw new Error('expected a revocation while they are counted')
  return { ms: effort.countedMs / (tookMs.length + counted.length), p99 }
}

/** @returns time of a transaction, in milliseconds */
async function pgbench(program: string, url: string, file: string, { countedMs }: Effort): Promise<number> {
  const seconds = String(Math.max(1, Math.round(countedMs / 1_000)))
  const flags = ['--no-vacuum', '--protocol=prepared', `--time=${seconds}`, `--file=${file}`]
  const child = spawn(program, [...flags, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')])
  const rate = Number(/^tps = ([\d.]+)/m.exec(said)?.[1])
  if (!(rate > 0)) throw new Error(`pgbench: expected a rate, found ${said}`)
  return 1_000 / rate
}
