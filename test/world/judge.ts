/** Compares a directory that was started again with what it was said to have. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import { type Account, isInForce, laneOf, numberOf } from './accounts.ts'
import { isOfCrowd, OWNER } from './operations.ts'
import { type Possible, type State, Violation } from './truth.ts'

/**
 * Reads the directory. Returns which of what is possible it is, with all the tokens judged.
 *
 * @param possible what it may be. Several states count as a whole: a restoration is done for all accounts, or
 * for none.
 * @param options where the audit trail is, and the clock of the sidecar
 * @throws Violation if it is another one
 */
export async function judged(
  client: Client,
  possible: readonly Possible[],
  { now = Date.now, ...trail }: Trail & { readonly now?: () => number } = {},
): Promise<State> {
  const audit = await auditOf(client, trail)
  const rollout = { promoted: (await client.directory.getMatrixRollout({})).promoted, audit: audit.global }
  const lanes = (possible[0] as Possible).accounts.map((_, lane) => audit.lanes.get(lane) ?? [])
  const differences: string[] = []
  for (const { accounts, rollouts } of possible) {
    const global = rollouts.find((each) => same(each, rollout))
    const found: (Account | undefined)[] = []
    for (const [lane, states] of accounts.entries())
      found.push(await firstMatching(client, states, lanes[lane] as string[], differences))
    if (global === undefined)
      differences.push(`found ${JSON.stringify(rollout)}, expected one of ${JSON.stringify(rollouts)}`)
    else if (found.every((each) => each !== undefined)) {
      for (const account of found) await judgeTokens(client, account, now())
      return { accounts: found, rollout: global }
    }
  }
  throw new Violation(differences.join('\n'))
}

async function firstMatching(
  client: Client,
  states: readonly Account[],
  audit: readonly string[],
  differences: string[],
): Promise<Account | undefined> {
  const found = new Map<string, object>()
  for (const state of states) {
    const number = numberOf(state)
    if (!found.has(number)) found.set(number, { ...(await contentOf(client, number)), audit })
    if (same(found.get(number), expectedOf(state))) return state
  }
  const from = Math.min(...states.map((state) => firstDifference(audit, state.audit)))
  const shown = (value: object) =>
    JSON.stringify(value, (key, each) => (key === 'audit' ? each.slice(from, from + 8) : each))
  const expected = states.map((state) => shown(expectedOf(state)))
  differences.push(
    `lane ${states[0]?.lane}, records from ${from}: found ${shown([...found.values()])}\n  expected one of\n  ${expected.join('\n  ')}`,
  )
  return undefined
}

function firstDifference(one: readonly string[], other: readonly string[]): number {
  const first = one.findIndex((value, index) => value !== other[index])
  return first < 0 ? one.length : first
}

function expectedOf({ exists, users, keys, audit, ...account }: Account): object {
  if (!exists) return { exists, audit }
  const { enabled, restricted, projects, crowd } = account
  const each = Object.entries(users).map(([name, { enabled, permitted }]) => [name, { enabled, permitted }])
  const shown = { exists, enabled, restricted, projects, crowd, users: Object.fromEntries(each) }
  // One that was revoked is removed after a time.
  const active =
    keys &&
    Object.keys(keys)
      .filter((name) => keys[name])
      .sort()
  return { ...shown, keys: active ?? null, audit }
}

async function contentOf({ directory }: Client, account: string): Promise<object> {
  const found = await orNot(directory.getAccount({ account }))
  if (found === undefined) return { exists: false }
  const { ranges } = await directory.getAddressRestriction({ account })
  const { projects } = await directory.listProjects({ account })
  const users = await usersOf(directory, account)
  const tokens = await orNot(directory.listStaticTokens({ account, userName: OWNER, pageSize: PAGE }))
  const isGeneral = ({ scope }: { scope: number }) => scope === PermissionScope.PERMISSION_SCOPE_ACCOUNT
  const named = users
    .filter(({ name }) => !isOfCrowd(name))
    .map(
      ({ name, enabled, permissions }) =>
        [name, { enabled, permitted: permissions.some(isGeneral) }] as const,
    )
  return {
    ...{ exists: true, enabled: found.account?.enabled, restricted: ranges.length > 0 },
    projects: Object.fromEntries(projects.map(({ name, enabled }) => [name, enabled])),
    ...{ users: Object.fromEntries(named), crowd: users.length - named.length },
    keys: tokens?.tokens.flatMap(({ name, revokedAt }) => (revokedAt ? [] : [name])).sort(),
  }
}

const PAGE = 1_000

async function usersOf(directory: Client['directory'], account: string) {
  const users: Awaited<ReturnType<Client['directory']['listServiceUsers']>>['users'] = []
  let pageToken = ''
  do {
    const page = await directory.listServiceUsers({ account, pageSize: PAGE, pageToken })
    users.push(...page.users)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return users
}

async function orNot<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PortcullisError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

interface AuditRecord {
  readonly sequence: number
  readonly account: string
  readonly action: string
  readonly details?: unknown
}

/** Where records of the audit trail are beside the directory. */
interface Trail {
  /** Folder of the archive. */
  readonly archive?: string
  /** Whether numbers may be missing: PostgreSQL skips some when it recovers. */
  readonly skips?: boolean
}

/**
 * The records by lane, in their order, with those of the archive.
 *
 * @throws Violation if a number is missing
 */
async function auditOf({ directory }: Client, { archive, skips = false }: Trail) {
  const records: AuditRecord[] = []
  const take = (record: AuditRecord) => {
    // A restoration takes back what came after its backup.
    const { sequence, action, details } = record
    const before = action === 'directory.restore' ? Object(details).after : sequence - 1
    while (action === 'directory.restore' && (records.at(-1)?.sequence ?? 0) > before) records.pop()
    const last = records.at(-1)?.sequence ?? 0
    if (skips ? before < last : before !== last)
      throw new Violation(`record ${sequence} (${action}) of the audit trail follows ${last}, not ${before}`)
    records.push(record)
  }
  let pageToken = ''
  do {
    const page = await directory.listAuditRecords({ pageSize: PAGE, pageToken })
    // A record that is only in the archive is before those of the page, also where it was archived after the
    // page before. It is there before it is deleted.
    const read = records.at(-1)?.sequence ?? 0
    const next = page.records[0]?.sequence ?? 0
    if (archive !== undefined && next > read + 1)
      for (const [sequence, line] of recordsOfArchive(archive))
        if (sequence > read && sequence < next) take(JSON.parse(line) as AuditRecord)
    for (const record of page.records) take(record)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  const global = records.filter(({ account, action }) => account === '' && !OF_RETENTION.has(action))
  const ofLanes = records.filter(({ account }) => account !== '')
  const lanes = Map.groupBy(ofLanes, ({ account }) => laneOf(account))
  return {
    lanes: new Map(
      [...lanes].map(([lane, of]) => [lane, of.map(({ account, action }) => `${account} ${action}`)]),
    ),
    global: global.map(({ action }) => action),
  }
}

/** Changes of the sidecar itself, whenever something is due. */
const OF_RETENTION = new Set(['audit.archive', 'directory.remove'])

/**
 * The lines of the archive, by the number of their record. A process that was killed before it deleted what
 * it had archived leaves a file whose records are archived again.
 *
 * @throws Violation if a file is not whole, or two say different things of a record
 */
export function recordsOfArchive(folder: string): Map<number, string> {
  const records = new Map<number, string>()
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.endsWith('.tmp')) : []
  for (const name of names.toSorted()) {
    const [, first, end] = /^audit-(\d{12,})-(\d{12,})\.jsonl$/.exec(name) ?? []
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    const numbers = lines.slice(0, -1).map((line) => (JSON.parse(line) as AuditRecord).sequence)
    if (lines.at(-1) !== '' || numbers[0] !== Number(first) || numbers.at(-1) !== Number(end))
      throw new Violation(`${name} of the audit archive is not whole`)
    for (const [index, sequence] of numbers.entries()) {
      const line = lines[index] as string
      if ((records.get(sequence) ?? line) !== line)
        throw new Violation(`record ${sequence} of the audit archive is two different ones`)
      records.set(sequence, line)
    }
  }
  return new Map([...records].sort(([one], [other]) => one - other))
}

/** Most tokens that are judged of a lane, the last ones. */
const TOKENS = 200

/** The answers that a sidecar may give about a token at the moment when it expires. */
const EXPIRY_MS = 240_000

/**
 * Asks a sidecar about the tokens of an account.
 *
 * @param nowMs by the clock of the sidecar
 * @throws Violation if it allows what was ended, or denies what is in force
 */
export async function judgeTokens(client: Client, account: Account, nowMs: number): Promise<void> {
  const last = account.tokens.slice(-TOKENS)
  const answers = await client.checkBatch(
    last.map(({ value }) => ({ api: 'balance', credentials: [['X-Auth-Token', value]] as const })),
  )
  for (const [index, token] of last.entries()) {
    const { allowed, reason } = answers[index] as (typeof answers)[number]
    const inForce = isInForce(account, token)
    const { dead, unsure, user, expiresMs } = token
    if (allowed && (!inForce || expiresMs < nowMs - EXPIRY_MS))
      throw new Violation(`a token that was ended is allowed (user ${user})`)
    if (!allowed && !dead && !unsure && inForce && expiresMs > nowMs + EXPIRY_MS)
      throw new Violation(`a token in force is denied: ${reason} (user ${user})`)
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? null
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, sorted(each)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
