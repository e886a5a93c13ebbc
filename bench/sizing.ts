/**
 * `npm run sizing`: the needs of a directory by its number of rows: disk, memory and processor time, also of
 * a change and a login. docs/operate/deployment.md has the figures.
 *
 * - `npm run sizing`: directories of up to a million rows
 * - `npm run sizing -- --rows 10000000`: of that many, too, which takes an hour or more
 * - `npm run sizing -- --docs`: also writes the figures to docs/bench.json
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Client, connect } from '../clients/typescript/index.ts'
import { ADMINISTRATOR_TOKEN_FILE } from '../sidecar/base/data-folder.ts'
import { FILLED_WITH, ROWS_OF_A_USER } from '../test/support/directory/large-directory.ts'
import { PostgresServer } from '../test/support/postgres/server.ts'
import { contend } from './harness/contender.ts'
import type { MeasuredProcess } from './harness/process.ts'
import { singleRow } from './harness/rows.ts'
import { Skips } from './harness/skips.ts'
import type { Row, Skipped, Unit } from './harness/suite.ts'
import { temporaryFolder } from './harness/temporary.ts'
import { resultsOf, SIZING, writeDocs, writeResults } from './report/results.ts'
import { reportText } from './report/table.ts'
import { installPackage } from './servers/package.ts'
import { runPortcullis } from './servers/portcullis.ts'
import { requirePostgres } from './servers/postgres.ts'
import { startSidecarOn } from './servers/start.ts'
import { suites } from './suites/index.ts'
import { type LargeSite, newLargeSite } from './workloads/large-site.ts'
import { loginOf } from './workloads/login.ts'
import { longestTurns, TURNS, TURNS_METHOD, type TurnsEffort } from './workloads/longest-turns.ts'
import { SignedTokens } from './workloads/tokens.ts'

/** The size of a directory, and of its measurement. */
export interface SizingEffort {
  /** Of all tables, more or less. */
  readonly rows: number
  /** Tokens never seen before that are checked. */
  readonly tokens: number
  readonly changes: number
  readonly logins: number
  readonly turns: TurnsEffort
}

const USUAL = {
  ...{ changes: 1_000, logins: 50 },
  turns: { afterMs: 2_000, removalMs: 80_000, calls: 2_000 },
}
const SIZES: readonly SizingEffort[] = [
  { ...USUAL, rows: 1_000, tokens: 1_000 },
  { ...USUAL, rows: 100_000, tokens: 10_000 },
  { ...USUAL, rows: 1_000_000, tokens: 50_000 },
  { ...USUAL, rows: 10_000_000, tokens: 200_000 },
]
const ROWS_MAX = 1_000_000

/** Calls in flight at each sidecar. */
const CHANGES_IN_FLIGHT = 16
const LOGINS_IN_FLIGHT = 8

const DIRECTORY = `The installed package, on a directory with ${FILLED_WITH}: ten rows for a service user.`
const RESIDENT = `${DIRECTORY} Resident, after a collection.`
const TIME = `${DIRECTORY} Processor time of the process, all threads.`
const CALL = `${TIME} Each change is a revocation, ${CHANGES_IN_FLIGHT} of them in progress, or ${LOGINS_IN_FLIGHT} logins without a password that is remembered.`

/** The figures of a size, by the id of the row without its number. */
export const SIZING_ROWS = {
  users: ['service users', DIRECTORY],
  disk: ['the file of SQLite', DIRECTORY],
  'backup-file': ['the file of a backup', DIRECTORY],
  'memory-idle': ['memory, idle', RESIDENT],
  tokens: ['tokens never seen before that are checked', DIRECTORY],
  'memory-used': ['memory, after the checks', RESIDENT],
  'memory-needed': ['memory, when V8 has given unused pages back', RESIDENT],
  ready: ['the start, until ready', TIME],
  backup: ['`portcullis backup`', TIME],
  restore: ['`portcullis restore`', TIME],
  turn: ['the longest turn of the event loop', `${TURNS_METHOD} Work: ${Object.values(TURNS).join('; ')}.`],
  change: ['a change', CALL],
  login: ['a login', CALL],
  'postgres-disk': ['the database of PostgreSQL', `${DIRECTORY} It was restored from the backup.`],
  'postgres-restore': ['`portcullis restore` into PostgreSQL', TIME],
  'postgres-ready': ['the start on PostgreSQL, until ready', TIME],
  'postgres-change': ['a change on PostgreSQL', CALL],
} as const satisfies Readonly<Record<string, readonly [what: string, method: string]>>
type SizingRow = keyof typeof SIZING_ROWS

const POSTGRES_ROWS = (Object.keys(SIZING_ROWS) as SizingRow[]).filter((id) => id.startsWith('postgres-'))

interface Sized {
  readonly rows: readonly Row[]
  readonly skipped: readonly Skipped[]
}

/**
 * @param launcher of the installed package; default: of this checkout, which takes more memory, because it
 *   compiles the sources
 */
export async function measureSize(effort: SizingEffort, launcher?: string): Promise<Sized> {
  await using stack = new AsyncDisposableStack()
  const users = Math.ceil(effort.rows / ROWS_OF_A_USER)
  const site = await newLargeSite(stack, users)
  const rows: Row[] = []
  const add = (id: SizingRow, value: number, unit: Unit) => {
    const [what, method] = SIZING_ROWS[id]
    const name = `${effort.rows.toLocaleString('en')} rows`
    rows.push(
      singleRow({ id: `${id}-${effort.rows}`, what: `${what}, ${name}`, method }, { name, value, unit }),
    )
  }
  const options = { ...(launcher && { launcher }) }

  add('users', users, '')
  add('disk', statSync(site.file).size, 'bytes')
  const server = await startSidecarOn(site.folder, { ...options, environment: ENVIRONMENT })
  add('ready', (await server.cpuMicroseconds()) / 1_000, 'ms CPU')
  add('memory-idle', await server.residentBytes(), 'bytes')
  const { load } = await contend(server, server.ready.grpc, stack)
  const signed = await SignedTokens.of(site.folder, { ...server.ready, http: 'off', demo: site.demo }, load)
  stack.defer(() => signed.close())
  await signed.checkUnseen(load, effort.tokens)
  add('tokens', effort.tokens, '')
  add('memory-used', await server.residentBytes(), 'bytes')
  add('memory-needed', await server.trimmedResidentBytes(), 'bytes')
  const client = clientOf(site, server.ready.grpc, stack)
  add('change', await costOfChange(server, client, effort.changes), 'ms CPU')
  const login = loginOf({ ...server.ready, http: 'off', demo: site.demo })
  stack.defer(() => login.close())
  add('login', await costOfOne(server, LOGINS_IN_FLIGHT, effort.logins, () => login.overGrpc()), 'ms CPU')
  await server.stop()

  const [file, keys] = [join(site.folder, 'sizing.backup'), join(site.folder, 'sizing.keys')]
  const data = (folder: string) => ['--data', folder, '--keys', keys]
  add('backup', await runPortcullis(['backup', file, ...data(site.folder)], options), 'ms CPU')
  add('backup-file', statSync(file).size, 'bytes')
  const folder = join(temporaryFolder(stack), 'data')
  add('restore', await runPortcullis(['restore', file, ...data(folder)], options), 'ms CPU')
  const skips = new Skips()
  const programs = await skips.obtain(
    POSTGRES_ROWS.map((id) => `${id}-${effort.rows}`),
    requirePostgres,
  )
  if (programs !== undefined) {
    const postgres = await PostgresServer.start(programs)
    stack.defer(() => postgres.remove())
    const environment = { PORTCULLIS_DIRECTORY_URL: await postgres.newDatabase(), ...ENVIRONMENT }
    const folder = join(temporaryFolder(stack), 'data')
    mkdirSync(folder, { mode: 0o700 })
    const restoring = { ...options, environment }
    add('postgres-restore', await runPortcullis(['restore', file, ...data(folder)], restoring), 'ms CPU')
    const [size] = await postgres.query('directory_0', "SELECT pg_database_size('directory_0') AS bytes")
    add('postgres-disk', Number(size?.bytes), 'bytes')
    const host = await startSidecarOn(folder, restoring)
    stack.defer(() => host.stop())
    add('postgres-ready', (await host.cpuMicroseconds()) / 1_000, 'ms CPU')
    const client = clientOf({ folder }, host.ready.grpc, stack)
    add('postgres-change', await costOfChange(host, client, effort.changes), 'ms CPU')
  }
  const turns = await longestTurns(stack, site, effort.turns, launcher)
  add('turn', Math.max(...Object.values(turns)), 'ms CPU')
  return { rows: inOrder(rows), skipped: skips.list }
}

/** A password that is remembered would cost no login. */
const ENVIRONMENT = { PORTCULLIS_LOG_LEVEL: 'warn', PORTCULLIS_PASSWORDS_REMEMBER_MS: '0' }

/** As `SIZING_ROWS` has them. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  const ids = Object.keys(SIZING_ROWS)
  const place = ({ id }: Row) => ids.indexOf(id.replace(/-\d+$/, ''))
  return rows.toSorted((one, other) => place(one) - place(other))
}

function clientOf(
  { folder }: Pick<LargeSite, 'folder'>,
  address: string,
  stack: AsyncDisposableStack,
): Client {
  const callerToken = readFileSync(join(folder, ADMINISTRATOR_TOKEN_FILE), 'utf8').trim()
  const client = connect(address, { callerToken, deadlineMs: 60_000 })
  stack.defer(() => client.close())
  return client
}

/** @returns processor time of the sidecar for a change, in milliseconds */
function costOfChange(server: MeasuredProcess, client: Client, changes: number): Promise<number> {
  return costOfOne(server, CHANGES_IN_FLIGHT, changes, () =>
    client.revoke({ tokenId: randomBytes(16).toString('base64url') }),
  )
}

async function costOfOne(
  server: MeasuredProcess,
  inFlight: number,
  calls: number,
  call: () => Promise<unknown>,
): Promise<number> {
  const before = await server.cpuMicroseconds()
  let begun = 0
  const lane = async () => {
    while (begun++ < calls) await call()
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return ((await server.cpuMicroseconds()) - before) / calls / 1_000
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: String(ROWS_MAX) },
      docs: { type: 'boolean', default: false },
    },
  })
  await using stack = new AsyncDisposableStack()
  const launcher = await installPackage(temporaryFolder(stack))
  const all: Sized[] = []
  for (const effort of SIZES.filter(({ rows }) => rows <= Number(values.rows))) {
    const sized = await measureSize(effort, launcher)
    all.push(sized)
    // A larger one takes long, and may end for want of room.
    const [rows, skipped] = [all.flatMap((each) => each.rows), all.flatMap((each) => each.skipped)]
    writeResults(resultsOf(SIZING, { rows, skipped, answersChecked: 0 }))
    process.stdout.write(`${reportText(SIZING, { ...sized, answersChecked: 0 }, 'full')}\n`)
  }
  if (!values.docs) return
  const names = suites.map(({ name }) => name)
  process.stdout.write(
    `written to ${writeDocs(names, [{ name: SIZING }]).join(' and ')}; then run \`npm run docs\`\n`,
  )
}

if (import.meta.main) await main()
