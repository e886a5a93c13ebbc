/** Counts deleted users and projects that are still in the directory: the work of a removal (removal.ts). */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Queries } from './database.ts'
import { number, text } from './rows.ts'

/** Users or projects that one statement reads: a millisecond of SQLite. */
const COUNTED_AT_ONCE = 1_000

/** Most deleted accounts whose users and projects are counted. */
const ACCOUNTS_MAX = 1_000

const OWNERS = ['users', 'projects'] as const
type Owners = (typeof OWNERS)[number]

/** How many users and projects. */
type Counts = Readonly<Record<Owners, number>>

export interface LeftToRemove {
  /** They are of deleted accounts, and not marked as deleted yet. */
  readonly unmarked: Counts
  /** They are due: the next removal removes them. */
  readonly due: Counts
  /** They were deleted, and are kept until they are due. */
  readonly kept: Counts
}

/** The work of a part of a removal, by table. */
export interface RemovedPart {
  /** Rows that are marked as deleted, and whether they are due. */
  readonly marked: ReadonlyMap<string, number>
  readonly markedAre: 'due' | 'kept'
  readonly removed: ReadonlyMap<string, number>
}

/**
 * Counts a part at a time: SQLite blocks the process while it counts.
 *
 * @param dueMs what was deleted until then is due, in milliseconds since the epoch
 */
export async function leftToRemove(queries: Queries, dueMs: number): Promise<LeftToRemove> {
  const [unmarked, due, kept] = [none(), none(), none()]
  for (const id of await accountsToEmpty(queries))
    for (const table of OWNERS) unmarked[table] += await countUnmarked(queries, table, id)
  for (const table of OWNERS) {
    const deleted = await countDeleted(queries, table, dueMs)
    due[table] = deleted.due
    kept[table] = deleted.kept
  }
  return { unmarked, due, kept }
}

/** Takes the work of a part of a removal off. */
export function less(left: LeftToRemove, { marked, markedAre, removed }: RemovedPart): LeftToRemove {
  const newIn = (state: 'due' | 'kept', table: Owners) => (markedAre === state ? (marked.get(table) ?? 0) : 0)
  const changed = (counts: Counts, change: (table: Owners) => number): Counts => ({
    users: Math.max(0, counts.users + change('users')),
    projects: Math.max(0, counts.projects + change('projects')),
  })
  return {
    unmarked: changed(left.unmarked, (table) => -(marked.get(table) ?? 0)),
    due: changed(left.due, (table) => newIn('due', table) - (removed.get(table) ?? 0)),
    kept: changed(left.kept, (table) => newIn('kept', table)),
  }
}

const none = () => ({ users: 0, projects: 0 })

async function accountsToEmpty(queries: Queries): Promise<readonly string[]> {
  const rows = await queries.all(
    `SELECT id FROM accounts WHERE deleted_at_ms IS NOT NULL AND emptied = 0
     ORDER BY deleted_at_ms LIMIT ${ACCOUNTS_MAX}`,
  )
  return rows.map(({ id }) => text(id))
}

async function countUnmarked(queries: Queries, table: Owners, account: string): Promise<number> {
  for (let [counted, after] = [0, '']; ; ) {
    const rows = await queries.all(
      `SELECT name FROM ${table} WHERE account_id = :account AND deleted_at_ms IS NULL AND name > :after
       ORDER BY name LIMIT ${COUNTED_AT_ONCE}`,
      { account, after },
    )
    counted += rows.length
    if (rows.length < COUNTED_AT_ONCE) return counted
    after = text(rows.at(-1)?.name)
    await otherWork()
  }
}

async function countDeleted(
  queries: Queries,
  table: Owners,
  dueMs: number,
): Promise<{ readonly due: number; readonly kept: number }> {
  const counted = { due: 0, kept: 0 }
  for (let after = { at: -1, id: '' }; ; ) {
    const rows = await queries.all(
      `SELECT deleted_at_ms, id FROM ${table}
       WHERE deleted_at_ms IS NOT NULL AND (deleted_at_ms, id) > (:at, :id)
       ORDER BY deleted_at_ms, id LIMIT ${COUNTED_AT_ONCE}`,
      after,
    )
    const due = rows.filter((row) => number(row.deleted_at_ms) <= dueMs).length
    counted.due += due
    counted.kept += rows.length - due
    const last = rows.at(-1)
    if (last === undefined || rows.length < COUNTED_AT_ONCE) return counted
    after = { at: number(last.deleted_at_ms), id: text(last.id) }
    await otherWork()
  }
}
