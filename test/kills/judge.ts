/** Compares a directory that was started again with what it was said to have. */
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'
import { type Account, laneOf, numberOf } from './accounts.ts'

/** What was changed beside the accounts. */
export interface Rollout {
  readonly promoted: boolean
  /** Actions of the audit trail that are of no account. */
  readonly audit: readonly string[]
}

export interface State {
  readonly accounts: readonly Account[]
  readonly rollout: Rollout
}

/** What each part may be: as acknowledged, or with the call that was under way. */
export interface Possible {
  readonly accounts: readonly (readonly Account[])[]
  readonly rollouts: readonly Rollout[]
}

export const certain = ({ accounts, rollout }: State): Possible => ({
  accounts: accounts.map((account) => [account]),
  rollouts: [rollout],
})

/** A promise that was broken. */
export class Violation extends Error {}

/**
 * Reads the directory. Returns which of what is possible it is, with all the tokens judged.
 *
 * @param possible what it may be; of several, as a whole: a restoration is done for all accounts, or for none
 * @throws Violation if it is none of them
 */
export async function judged(client: Client, possible: readonly Possible[]): Promise<State> {
  const audit = await auditOf(client)
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
      for (const account of found) await judgeTokens(client, account)
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
  const expected = states.map((state) => JSON.stringify(expectedOf(state)))
  differences.push(
    `lane ${states[0]?.lane}: found ${JSON.stringify([...found.values()])}\n  expected one of\n  ${expected.join('\n  ')}`,
  )
  return undefined
}

function expectedOf({ exists, enabled, ranges, projects, users, keys, audit }: Account): object {
  if (!exists) return { exists, audit }
  const each = Object.entries(users).map(([name, { enabled, permitted }]) => [name, { enabled, permitted }])
  return { exists, enabled, ranges, projects, users: Object.fromEntries(each), keys: keys ?? null, audit }
}

async function contentOf({ directory }: Client, account: string): Promise<object> {
  const found = await orNot(directory.getAccount({ account }))
  if (found === undefined) return { exists: false }
  const { ranges } = await directory.getAddressRestriction({ account })
  const { projects } = await directory.listProjects({ account })
  const { users } = await directory.listServiceUsers({ account })
  const tokens = await orNot(directory.listStaticTokens({ account, userName: 'person', pageSize: 1_000 }))
  const isGeneral = ({ scope }: { scope: number }) => scope === PermissionScope.PERMISSION_SCOPE_ACCOUNT
  return {
    ...{ exists: true, enabled: found.account?.enabled, ranges },
    projects: Object.fromEntries(projects.map(({ name, enabled }) => [name, enabled])),
    users: Object.fromEntries(
      users.map(({ name, enabled, permissions }) => [
        name,
        { enabled, permitted: permissions.some(isGeneral) },
      ]),
    ),
    keys: tokens && Object.fromEntries(tokens.tokens.map(({ name, revokedAt }) => [name, !revokedAt])),
  }
}

async function orNot<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PortcullisError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** The records by lane, in their order. @throws Violation if a number is missing */
async function auditOf({ directory }: Client) {
  const lanes = new Map<number, string[]>()
  const global: string[] = []
  let [last, pageToken] = [0, '']
  do {
    const page = await directory.listAuditRecords({ pageSize: 1_000, pageToken })
    for (const { sequence, account, action, details } of page.records) {
      const before = action === 'directory.restore' ? Object(details).after : sequence - 1
      if (before !== last) throw new Violation(`record ${sequence} of the audit trail follows ${last}`)
      last = sequence
      if (account === '') global.push(action)
      else {
        const lane = lanes.get(laneOf(account))
        if (lane === undefined) lanes.set(laneOf(account), [`${account} ${action}`])
        else lane.push(`${account} ${action}`)
      }
    }
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return { lanes, global }
}

/** Most tokens that are judged of a lane, the last ones. */
const TOKENS = 200

async function judgeTokens(client: Client, { enabled, ranges, users, tokens }: Account): Promise<void> {
  const last = tokens.slice(-TOKENS)
  const answers = await client.checkBatch(
    last.map(({ value }) => ({ api: 'balance', credentials: [['X-Auth-Token', value]] as const })),
  )
  for (const [index, { dead, unsure, user }] of last.entries()) {
    const { allowed, reason } = answers[index] as (typeof answers)[number]
    const holder = users[user]
    const inForce = enabled && ranges.length === 0 && holder?.enabled === true && holder.permitted
    if (allowed && (dead || !inForce)) throw new Violation(`a token that was ended is allowed (user ${user})`)
    if (!allowed && !dead && !unsure && inForce)
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
