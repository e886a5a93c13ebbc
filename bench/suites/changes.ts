/**
 * The cost of directory changes for checks of tokens that they do not touch, and the statements of PostgreSQL
 * meanwhile.
 */
import { join } from 'node:path'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { AccountRecord } from '../../sidecar/directory/directory.ts'
import { openPostgres } from '../../sidecar/directory/postgres.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { PostgresServer } from '../../test/support/postgres/server.ts'
import { interleave } from '../harness/compare.ts'
import { type Contender, callCost, contend } from '../harness/contender.ts'
import { cpuOf } from '../harness/cost.ts'
import type { Workload } from '../harness/grpc.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { requirePostgres } from '../servers/postgres.ts'
import { startSidecar, startSidecarOn } from '../servers/start.ts'
import { newDataFolder, SignedTokens } from '../workloads/tokens.ts'

export const changesSuite: Suite = { name: 'changes', run }

interface Effort {
  /** Live tokens in rotation. */
  readonly tokens: number
  readonly rounds: number
  /** Checks a sample: some tenths of a second. */
  readonly calls: number
  /** How long the queries to PostgreSQL are counted, in milliseconds. */
  readonly countedMs: number
  /**
   * How long PostgreSQL's sessions may keep what they count to themselves while they are idle, in
   * milliseconds.
   */
  readonly statisticsMs: number
}

const SIZES: Record<Size, Effort> = {
  full: { tokens: 10_000, rounds: 11, calls: 100_000, countedMs: 15_000, statisticsMs: 10_500 },
  smoke: { tokens: 50, rounds: 1, calls: 100, countedMs: 200, statisticsMs: 0 },
}

/** Changes a second, of an account that none of the tokens is for. Another process makes them. */
const UNRELATED = 50
const FEW_UNRELATED = 10

const METHOD = `Processor time of the sidecar for a check of live tokens in rotation, 8 connections × 16 in flight, while another process changes the address restriction of another account ${UNRELATED} times a second, against the same without changes. Both take turns.`
const QUERIES_METHOD =
  'Transactions that PostgreSQL counts for the database of the directory, a second, while one sidecar is asked about the tokens all the time. Transactions of the changes themselves are subtracted.'

const POSTGRES_ROWS = ['postgres', 'queries-quiet', 'queries-changing']

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const effort = SIZES[size]
  const onFile = await setUpFile(stack, effort)
  const rows: Row[] = [await checksRow('sqlite', 'SQLite', onFile, effort)]
  const skips = new Skips()
  const programs = await skips.obtain(POSTGRES_ROWS, requirePostgres)
  if (programs !== undefined) {
    const server = await PostgresServer.start(programs)
    stack.defer(() => server.remove())
    const url = await server.newDatabase()
    const onPostgres = await setUpPostgres(stack, effort, onFile, url)
    rows.push(
      await checksRow('postgres', 'PostgreSQL', onPostgres, effort),
      await queriesRow('queries-quiet', 0, server, url, onPostgres, effort),
      await queriesRow('queries-changing', FEW_UNRELATED, server, url, onPostgres, effort),
    )
  }
  return { rows, skipped: skips.list, answersChecked: programs === undefined ? 1 : 2 }
}

interface FileSetup extends Setup {
  readonly folder: string
  readonly tokens: SignedTokens
}

interface Setup {
  readonly sidecar: Contender
  readonly rotation: Workload
  readonly store: DirectoryStore
  readonly other: AccountRecord
}

/** A development sidecar, whose directory is a file. */
async function setUpFile(stack: AsyncDisposableStack, { tokens: count }: Effort): Promise<FileSetup> {
  const folder = newDataFolder(stack)
  const server = await startSidecar({ flags: ['--data', folder] })
  const sidecar = await contend(server, server.ready.grpc, stack)
  const tokens = await SignedTokens.of(folder, server.ready, sidecar.load)
  stack.defer(() => tokens.close())
  const store = new DirectoryStore(openSqlite(join(folder, DIRECTORY_FILE)), Date.now)
  stack.defer(() => store.close())
  return { ...(await warm(sidecar, tokens, count, store)), folder, tokens }
}

/** A sidecar with the same keys, whose directory is in PostgreSQL. */
async function setUpPostgres(
  stack: AsyncDisposableStack,
  { tokens: count }: Effort,
  { folder, tokens }: FileSetup,
  url: string,
): Promise<Setup> {
  const store = new DirectoryStore(
    await openPostgres({ url: new Secret(url), poolSize: 2, timeoutMs: 10_000 }),
    Date.now,
  )
  stack.defer(() => store.close())
  const holder = await store.change('a benchmark', async (change) => {
    await change.createAccount(tokens.account)
    const account = (await change.records.account(tokens.account)) as AccountRecord
    const user = { name: 'job', type: 'service_user', passwordHash: 'there are no logins' } as const
    const id = await change.createUser(account, user)
    await change.setPermissions({ id, account: tokens.account, name: user.name }, [{ scope: 'account' }])
    return { sub: id, name: user.name, gen: 1 }
  })
  const seq = await store.records.changeNumber()
  const server = await startSidecarOn(folder, { environment: { PORTCULLIS_DIRECTORY_URL: url } })
  const sidecar = await contend(server, server.ready.grpc, stack)
  return warm(sidecar, await tokens.heldBy({ ...holder, seq }, sidecar.load), count, store)
}

/** The sidecar has seen every token of the rotation then. */
async function warm(
  sidecar: Contender,
  tokens: SignedTokens,
  count: number,
  store: DirectoryStore,
): Promise<Setup> {
  const rotation = tokens.workload(count)
  // The second time is for the compiler.
  for (let time = 0; time < 2; time++) await sidecar.load.run(rotation, count)
  await store.change('a benchmark', (change) => change.createAccount('another'))
  return { sidecar, rotation, store, other: (await store.records.account('another')) as AccountRecord }
}

async function checksRow(id: string, name: string, setup: Setup, { rounds, calls }: Effort): Promise<Row> {
  const checks = () => callCost(setup.sidecar, setup.rotation, calls)
  const samples = await interleave(
    { changing: async () => (await whileChanging(setup, UNRELATED, checks)).result, quiet: checks },
    rounds,
  )
  return comparedRow(
    { id, what: `Check of live tokens in rotation, unrelated changes, ${name}`, method: METHOD },
    'µs CPU',
    { name: `${UNRELATED} changes a second`, samples: cpuOf(samples.changing) },
    { name: 'no change', samples: cpuOf(samples.quiet) },
  )
}

async function queriesRow(
  id: string,
  perSecond: number,
  server: PostgresServer,
  url: string,
  setup: Setup,
  { countedMs, statisticsMs, tokens }: Effort,
): Promise<Row> {
  const count = async () => {
    await new Promise((resolve) => setTimeout(resolve, statisticsMs))
    const [row] = await server.query(
      'postgres',
      `SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = '${new URL(url).pathname.slice(1)}'`,
    )
    return Number(row?.count)
  }
  const before = await count()
  const beganAtMs = performance.now()
  const { made } = await whileChanging(setup, perSecond, async () => {
    while (performance.now() - beganAtMs < countedMs) await setup.sidecar.load.run(setup.rotation, tokens)
  })
  // In a short run, the sessions may not have reported their statements yet.
  const asked = Math.max(0, (await count()) - before - made)
  // It goes on asking while the count is waited for.
  const seconds = (performance.now() - beganAtMs) / 1_000
  const changes = perSecond === 0 ? 'no change' : `${perSecond} unrelated changes a second`
  return singleRow(
    { id, what: `queries to PostgreSQL a second, ${changes}`, method: QUERIES_METHOD },
    { name: `${tokens.toLocaleString('en')} live tokens in use`, value: asked / seconds, unit: 'queries' },
  )
}

/** Makes changes while `work` runs. */
async function whileChanging<T>(
  { store, other }: Setup,
  perSecond: number,
  work: () => Promise<T>,
): Promise<{ result: T; made: number }> {
  let made = 0
  let last: Promise<void> = Promise.resolve()
  const change = () => {
    made++
    const ranges = [`10.0.${made % 256}.0/24`]
    last = store.change('a benchmark', (by) => by.setAddressRules(other, ranges))
  }
  const timer = perSecond === 0 ? undefined : setInterval(change, 1_000 / perSecond)
  try {
    return { result: await work(), made }
  } finally {
    clearInterval(timer)
    await last
  }
}
