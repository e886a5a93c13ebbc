/** Reads what control panel users log in with, their links and their sessions. */
import type { UserRecord } from './directory.ts'
import type { DirectoryRecords } from './records.ts'
import { USER_VALUES, userOf } from './records.ts'
import { lines, NEWLINE, number, text } from './rows.ts'
import { ADDRESSES, ENABLED, SESSION_HOLDS } from './verification.ts'

export type LinkPurpose = 'invitation' | 'login'

/** A link that works once. */
export interface PanelLinkRecord {
  readonly user: UserRecord
  /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
  readonly addresses: readonly string[]
  readonly purpose: LinkPurpose
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
}

/** A session of the control panel. Times are milliseconds since the epoch. */
export interface PanelSession {
  /** Names the session, and opens nothing. */
  readonly id: string
  readonly createdAtMs: number
  /** When it was last used, to the minute. */
  readonly usedAtMs: number
  /** When its holder last proved who they are. */
  readonly confirmedAtMs: number
  /** It ends then at the latest. */
  readonly endsAtMs: number
  /** Where it began: an IP address. */
  readonly address: string
  /** The name that the browser gave itself. */
  readonly client: string
}

/** A session with whose it is: a control panel user, or a caller, by SHA-256 of the caller token. */
export type PanelSessionRecord = PanelSession &
  (
    | {
        readonly holder: 'user'
        readonly user: UserRecord
        /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
        readonly addresses: readonly string[]
      }
    | { readonly holder: 'caller'; readonly callerDigest: string }
  )

/** A user who logs in. */
export interface PanelLogin {
  readonly user: UserRecord
  /** PHC string; `undefined`: they have no password. */
  readonly passwordHash: string | undefined
  /** Address ranges (CIDR) that the account restricts its tokens to (§1); empty: no restriction. */
  readonly addresses: readonly string[]
}

/** A password of a control panel user. */
export interface PanelPassword {
  /** PHC string. */
  readonly hash: string
  readonly changedAtMs: number
}

type Row = Record<string, unknown>

/**
 * Links and sessions of users who are disabled, deleted or have another generation are not found. Their times
 * are not looked at.
 */
export class PanelRecords {
  readonly #records: DirectoryRecords

  constructor(records: DirectoryRecords) {
    this.#records = records
  }

  async password(userId: string): Promise<PanelPassword | undefined> {
    const [row] = await this.#all('SELECT hash, changed_at_ms FROM panel_passwords WHERE user_id = :user', {
      user: userId,
    })
    return row && { hash: text(row.hash), changedAtMs: number(row.changed_at_ms) }
  }

  /**
   * Whom a login names: an enabled control panel user of an enabled account. In one statement, for unknown
   * users too.
   */
  async login(account: string, name: string): Promise<PanelLogin | undefined> {
    const [row] = await this.#all(
      `SELECT hash, ${USER_VALUES}, ${ADDRESSES} AS addresses FROM users
       JOIN accounts ON accounts.id = users.account_id LEFT JOIN panel_passwords ON panel_passwords.user_id = users.id
       WHERE account = :account AND users.name = :name AND type = 'control_panel_user' AND ${ENABLED}`,
      { account, name, newline: NEWLINE },
    )
    return (
      row && {
        user: userOf(row),
        passwordHash: row.hash === null ? undefined : text(row.hash),
        addresses: lines(row.addresses),
      }
    )
  }

  /** @param hash SHA-256 of the secret of the link */
  async link(hash: Buffer, purpose: LinkPurpose): Promise<PanelLinkRecord | undefined> {
    const [row] = await this.#all(
      `SELECT ends_at_ms, ${USER_VALUES}, ${ADDRESSES} AS addresses FROM panel_links
       JOIN users ON users.id = panel_links.user_id JOIN accounts ON accounts.id = users.account_id
       WHERE hash = :hash AND purpose = :purpose AND users.generation = panel_links.generation AND ${ENABLED}
         AND accounts.since <= change_number AND (purpose <> 'invitation' OR invitations_since <= change_number)`,
      { hash, purpose, newline: NEWLINE },
    )
    return (
      row && {
        ...{ user: userOf(row), addresses: lines(row.addresses) },
        ...{ purpose, endsAtMs: number(row.ends_at_ms) },
      }
    )
  }

  /** @param hash SHA-256 of what the cookie has */
  async session(hash: Buffer): Promise<PanelSessionRecord | undefined> {
    const [row] = await this.#all(
      `SELECT ${SESSION_VALUES}, caller_digest, ${USER_VALUES}, ${ADDRESSES} AS addresses FROM panel_sessions
       LEFT JOIN users ON users.id = panel_sessions.user_id LEFT JOIN accounts ON accounts.id = users.account_id
       WHERE hash = :hash
         AND (panel_sessions.user_id IS NULL OR (${SESSION_HOLDS} AND ${ENABLED}))`,
      { hash, newline: NEWLINE },
    )
    if (row === undefined) return undefined
    const session = sessionOf(row)
    return row.caller_digest === null
      ? { ...session, holder: 'user', user: userOf(row), addresses: lines(row.addresses) }
      : { ...session, holder: 'caller', callerDigest: text(row.caller_digest) }
  }

  /** Whether a session was used, or a link made, later than that: a clock that was ahead wrote it. */
  async hasLaterThan(ms: number): Promise<boolean> {
    const rows = await this.#all(
      `SELECT 1 AS later FROM (SELECT MAX(used_at_ms) AS used_at_ms FROM panel_sessions) AS sessions
       CROSS JOIN (SELECT MAX(created_at_ms) AS created_at_ms FROM panel_links) AS links
       WHERE used_at_ms > :ms OR created_at_ms > :ms`,
      { ms },
    )
    return rows.length > 0
  }

  /** The sessions of a user, newest first. There are few. */
  async sessions({ id, generation }: Pick<UserRecord, 'id' | 'generation'>): Promise<PanelSession[]> {
    const rows = await this.#all(
      `SELECT ${SESSION_VALUES} FROM panel_sessions
       JOIN users ON users.id = panel_sessions.user_id JOIN accounts ON accounts.id = users.account_id
       WHERE panel_sessions.user_id = :user AND panel_sessions.generation = :generation AND ${SESSION_HOLDS}
       ORDER BY panel_sessions.created_at_ms DESC, panel_sessions.id DESC`,
      { user: id, generation },
    )
    return rows.map(sessionOf)
  }

  async #all(...statement: Parameters<DirectoryRecords['queries']['all']>): Promise<Row[]> {
    return this.#records.queries.all(...statement)
  }
}

const SESSION_VALUES = `
  panel_sessions.id AS session_id, panel_sessions.created_at_ms AS begun_at_ms, used_at_ms, confirmed_at_ms, ends_at_ms,
  address, client`

function sessionOf(row: Row): PanelSession {
  return {
    id: text(row.session_id),
    createdAtMs: number(row.begun_at_ms),
    usedAtMs: number(row.used_at_ms),
    confirmedAtMs: number(row.confirmed_at_ms),
    endsAtMs: number(row.ends_at_ms),
    address: text(row.address),
    client: text(row.client),
  }
}
