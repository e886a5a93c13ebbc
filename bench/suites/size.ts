/**
 * The cost of operations of the directory with very many rows, against the same with few. `SIZE_USERS` of the
 * environment is another number of users.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import type { TokenStatus } from '../../sidecar/directory/directory.ts'
import type { DirectoryStore } from '../../sidecar/directory/store.ts'
import {
  FILLED_WITH,
  fillDirectory,
  KEYS,
  type LargeDirectory,
} from '../../test/support/directory/large-directory.ts'
import { type Location, openLocation } from '../../test/support/directory/writer.ts'
import { PostgresServer } from '../../test/support/postgres/server.ts'
import { interleave } from '../harness/compare.ts'
import { comparedRow, singleRow } from '../harness/rows.ts'
import { Skips } from '../harness/skips.ts'
import type { Row, Size, Suite, SuiteReport } from '../harness/suite.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { runPortcullis } from '../servers/portcullis.ts'
import { requirePostgres } from '../servers/postgres.ts'
import { type LargeSite, newLargeSite } from '../workloads/large-site.ts'
import { longestTurns, TURNS, TURNS_METHOD, type Turn, type TurnsEffort } from '../workloads/longest-turns.ts'

export const sizeSuite: Suite = { name: 'size', run }

interface Effort {
  readonly few: number
  readonly many: number
  readonly rounds: number
  /** Operations a sample. */
  readonly calls: number
  readonly turns: TurnsEffort
}

const SIZES: Record<Size, Effort> = {
  full: {
    ...{ few: 1_000, many: 100_000, rounds: 15, calls: 100 },
    turns: { afterMs: 2_000, removalMs: 90_000, calls: 2_000 },
  },
  smoke: {
    ...{ few: 10, many: 30, rounds: 1, calls: 1 },
    turns: { afterMs: 0, removalMs: 0, calls: 1 },
  },
}

/** How an operation is measured, by store. */
const STORES = {
  sqlite: {
    prefix: '',
    unit: 'µs CPU',
    method: 'Processor time of the process for an operation of the store on SQLite.',
    now: () => {
      const { user, system } = process.cpuUsage()
      return user + system
    },
  },
  postgres: {
    prefix: 'postgres-',
    unit: 'µs',
    method:
      'Time of an operation of the store on PostgreSQL, one after the other, on the same machine: its processor time is known in steps of 10 ms alone.',
    now: () => performance.now() * 1_000,
  },
} as const
type Store = (typeof STORES)[keyof typeof STORES]

const METHOD = `The directories have ${FILLED_WITH}. Both take turns.`

const PAGE = { after: '', size: 100 }

type Operation = (directory: LargeDirectory, turn: number) => unknown

const CHECK: Operation = ({ store, account, robot }, turn) =>
  store.verification.iamTokenStatus({
    ...{ tokenId: `token-${turn}`, ancestors: [], subjectId: robot, generation: 1 },
    ...{ changeNumber: Number.MAX_SAFE_INTEGER, account: account.account, projectId: undefined },
    permissionScopes: ['account'],
  })

const LIST: Operation = ({ store, holder }) => store.records.staticTokens(holder, PAGE)

/** By the id of its row. */
const OPERATIONS: Readonly<Record<string, readonly [what: string, operation: Operation]>> = {
  check: ['check of a token that is not remembered', CHECK],
  login: [
    'login of a service user, without its password',
    async ({ store, account, robot }) => {
      await store.verification.serviceUser(account.account, 'robot-0')
      await store.verification.permits(robot, account.account, 'project-0', ['account'])
    },
  ],
  'static-tokens': [`a list of ${KEYS} static tokens of a user`, LIST],
  users: [
    'the first page of service users',
    ({ store, account }) => store.records.users(account.account, 'service_user', PAGE),
  ],
  audit: [
    'the newest page of the audit trail',
    ({ store, account }) =>
      store.records.auditPage({ account: account.account, newestFirst: true, size: 100 }),
  ],
  'create-user': [
    'a new user',
    ({ store, account }) =>
      store.change('a benchmark', (change) =>
        change.createUser(account, { name: randomBytes(8).toString('hex'), type: 'control_panel_user' }),
      ),
  ],
  revoke: [
    'a revocation by an unknown id',
    ({ store }) => store.change('a benchmark', (change) => change.revoke(randomBytes(8).toString('hex'), '')),
  ],
  'disable-account': [
    'an account with all users is disabled, and enabled again',
    ({ store, account }) =>
      store.change('a benchmark', async (change) => {
        for (const enabled of [false, true]) await change.setAccountEnabled(account, enabled)
      }),
  ],
  'delete-account': [
    'an account with all users is deleted; the change is taken back',
    ({ store, account }) =>
      store
        .change('a benchmark', async (change) => {
          await change.deleteAccount(account)
          throw new TakenBack()
        })
        .catch((error: unknown) => {
          if (!(error instanceof TakenBack)) throw error
        }),
  ],
}

class TakenBack extends Error {}

async function run(size: Size): Promise<SuiteReport> {
  await using stack = new AsyncDisposableStack()
  const effort = effortOf(size)
  const site = await newLargeSite(stack, effort.many)
  const files = {
    many: { store: await opened(stack, { type: 'sqlite', file: site.file }), ...site.large },
    few: await filled(stack, { type: 'sqlite', file: join(temporaryFolder(stack), DIRECTORY_FILE) }, effort),
  }
  const rows = await rowsOf(STORES.sqlite, files, effort)
  let answersChecked = await checkAnswers(files)
  rows.push(...turnRows(await longestTurns(stack, site, effort.turns), effort))
  const skips = new Skips()
  const ids = Object.keys(OPERATIONS).map((id) => `${STORES.postgres.prefix}${id}`)
  const programs = await skips.obtain(ids, requirePostgres)
  if (programs !== undefined) {
    const server = await PostgresServer.start(programs)
    stack.defer(() => server.remove())
    const databases = {
      many: await restored(stack, site, await server.newDatabase()),
      few: await filled(stack, { type: 'postgres', url: await server.newDatabase() }, effort),
    }
    // As the server itself does within a minute.
    for (const name of ['directory_0', 'directory_1']) await server.query(name, 'VACUUM ANALYZE')
    rows.push(...(await rowsOf(STORES.postgres, databases, effort)))
    answersChecked += await checkAnswers(databases)
  }
  return { rows, skipped: skips.list, answersChecked }
}

function effortOf(size: Size): Effort {
  const many = process.env.SIZE_USERS
  return { ...SIZES[size], ...(size === 'full' && many !== undefined && { many: Number(many) }) }
}

type Sides<T> = Readonly<Record<'many' | 'few', T>>

async function opened(stack: AsyncDisposableStack, location: Location): Promise<DirectoryStore> {
  const store = await openLocation(location)
  stack.defer(() => store.close())
  return store
}

async function filled(
  stack: AsyncDisposableStack,
  location: Location,
  { few }: Effort,
): Promise<LargeDirectory> {
  const store = await opened(stack, location)
  return { store, ...(await fillDirectory(store, few)) }
}

/** From the backup: there it takes minutes to make the rows one after the other. */
async function restored(
  stack: AsyncDisposableStack,
  { backup, large }: LargeSite,
  url: string,
): Promise<LargeDirectory> {
  const folder = join(temporaryFolder(stack), 'data')
  const environment = { PORTCULLIS_DIRECTORY_URL: url }
  await runPortcullis(['restore', backup, '--data', folder, '--new-keys'], { environment })
  return { store: await opened(stack, { type: 'postgres', url }), ...large }
}

function turnRows(turns: Readonly<Record<Turn, number>>, { many }: Effort): Row[] {
  const name = `${many.toLocaleString('en')} users`
  return Object.entries(TURNS).map(([id, work]) =>
    singleRow(
      { id: `turn-${id}`, what: `longest turn: ${work}`, method: TURNS_METHOD },
      { name, value: turns[id as Turn], unit: 'ms CPU' },
    ),
  )
}

async function rowsOf(
  { prefix, unit, method, now }: Store,
  directories: Sides<LargeDirectory>,
  { few, many, rounds, calls }: Effort,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const [id, [what, operation]] of Object.entries(OPERATIONS)) {
    const side = (directory: LargeDirectory) => async () => {
      const before = now()
      for (let turn = 0; turn < calls; turn++) await operation(directory, turn)
      return (now() - before) / calls
    }
    for (const directory of Object.values(directories)) await side(directory)()
    const samples = await interleave({ many: side(directories.many), few: side(directories.few) }, rounds)
    const named = (users: number) => `${users.toLocaleString('en')} users`
    rows.push(
      comparedRow(
        {
          id: `${prefix}${id}`,
          what: prefix === '' ? what : `${what}, PostgreSQL`,
          method: `${method} ${METHOD}`,
        },
        unit,
        { name: named(many), samples: samples.many },
        { name: named(few), samples: samples.few },
      ),
    )
  }
  return rows
}

/** @throws Error unless the token is active and the keys are there. @returns how many answers that were */
async function checkAnswers(directories: Sides<LargeDirectory>): Promise<number> {
  for (const directory of Object.values(directories)) {
    const { active } = (await CHECK(directory, 0)) as TokenStatus
    const keys = (await LIST(directory, 0)) as readonly unknown[]
    if (!active || keys.length !== KEYS)
      throw new Error(
        `expected an active token and ${KEYS} static tokens, found ${active} and ${keys.length}`,
      )
  }
  return 4
}
