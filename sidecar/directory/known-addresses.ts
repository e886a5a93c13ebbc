/**
 * From which addresses the users of an account came lately: those of live sessions of the control panel, and
 * of changes in the audit trail. Addresses of API requests are not kept anywhere.
 */
import { setImmediate as otherWork } from 'node:timers/promises'
import type { Queries } from './database.ts'
import type { AccountRecord, KnownAddress, KnownAddresses } from './directory.ts'
import { isObject, number, text } from './rows.ts'
import { SESSION_HOLDS } from './verification.ts'

/** Most pairs of user and address. */
const ADDRESSES_MAX = 1_000

/** How long a change is of interest, in milliseconds. */
const RECENT_MS = 90 * 86_400_000

/** How many changes are read at a time, and at most. Reading from a file blocks this process. */
const RECORDS_AT_ONCE = 1_000
const RECORDS_MAX = 50_000

/** @param nowMs wall clock, in milliseconds since the epoch */
export async function knownAddresses(
  queries: Queries,
  { id, account }: Pick<AccountRecord, 'id' | 'account'>,
  nowMs: number,
): Promise<KnownAddresses> {
  const found = new Map<string, KnownAddress>()
  const note = (seen: KnownAddress) => {
    const key = JSON.stringify([seen.userName, seen.address])
    if (seen.lastSeenMs > (found.get(key)?.lastSeenMs ?? 0)) found.set(key, seen)
  }
  const sessions = await queries.all(SESSIONS, { account_id: id, now: nowMs, size: ADDRESSES_MAX + 1 })
  for (const row of sessions)
    note({ userName: text(row.name), address: text(row.address), lastSeenMs: number(row.used_at_ms) })

  let [complete, high] = [false, Number.MAX_SAFE_INTEGER]
  for (
    let read = 0;
    !complete && read < RECORDS_MAX && found.size <= ADDRESSES_MAX;
    read += RECORDS_AT_ONCE
  ) {
    const rows = await queries.all(CHANGES, { account, account_id: id, high, size: RECORDS_AT_ONCE })
    for (const row of rows) {
      const address = row.details === null ? undefined : addressIn(text(row.details))
      const lastSeenMs = number(row.at_ms)
      if (address !== undefined && lastSeenMs >= nowMs - RECENT_MS)
        note({ userName: text(row.name), address, lastSeenMs })
    }
    const last = rows.at(-1)
    complete = rows.length < RECORDS_AT_ONCE || number(last?.at_ms) < nowMs - RECENT_MS
    high = number(last?.sequence)
    await otherWork()
  }
  const newest = [...found.values()].sort((one, other) => other.lastSeenMs - one.lastSeenMs)
  complete &&= sessions.length <= ADDRESSES_MAX && newest.length <= ADDRESSES_MAX
  return { known: newest.slice(0, ADDRESSES_MAX), truncated: !complete }
}

const SESSIONS = `
  SELECT users.name, address, used_at_ms
  FROM panel_sessions JOIN users ON users.id = user_id JOIN accounts ON accounts.id = users.account_id
  WHERE panel_sessions.account_id = :account_id AND ${SESSION_HOLDS} AND users.enabled = 1 AND users.deleted_at_ms IS NULL
    AND ends_at_ms > :now
  ORDER BY used_at_ms DESC LIMIT :size`

/** Id of the user who made a change, as the audit trail names them: `service_user ID (NAME)`. */
const ACTOR_ID = `CASE
    WHEN actor LIKE 'service!_user %' ESCAPE '!' THEN substr(actor, 14, 32)
    WHEN actor LIKE 'control!_panel!_user %' ESCAPE '!' THEN substr(actor, 20, 32)
  END`

/** Changes before a number, newest first. Those that no user of the account made have no details here. */
const CHANGES = `
  SELECT sequence, at_ms, users.name, CASE WHEN users.id IS NULL THEN NULL ELSE details END AS details
  FROM (SELECT sequence, at_ms, actor, details FROM audit WHERE account = :account AND sequence < :high
        ORDER BY sequence DESC LIMIT :size) AS recent
  LEFT JOIN users ON users.id = ${ACTOR_ID} AND users.account_id = :account_id AND users.deleted_at_ms IS NULL
  ORDER BY sequence DESC`

/** Where the call of a change came from. */
function addressIn(details: string): string | undefined {
  const { by } = JSON.parse(details) as { readonly by?: unknown }
  return isObject(by) && typeof by.address === 'string' ? by.address : undefined
}
