/**
 * Changes of what control panel users log in with, of their links and of their sessions. Each is recorded in
 * the audit trail, but for uses of a session.
 */
import { randomText } from '../base/random-text.ts'
import type { DirectoryChange } from './change.ts'
import type { ChangeWriter } from './change-writer.ts'
import type { Value } from './database.ts'
import type { UserRecord } from './directory.ts'
import type { ChangeAction } from './feed/touches.ts'
import type { LinkPurpose, PanelSessionRecord } from './panel-records.ts'
import { number, text } from './rows.ts'
import { LAST_CHANGE } from './schema.ts'

/** A session that begins: of a user, or of a caller by SHA-256 of the caller token, in hexadecimal. */
export interface NewSession {
  /** SHA-256 of what the cookie has. */
  readonly hash: Buffer
  readonly holder: UserRecord | { readonly caller: string; readonly digest: string }
  /** How they proved who they are, for the audit trail: for example `password`. */
  readonly way: string
  /** Milliseconds since the epoch. */
  readonly endsAtMs: number
  readonly address: string
  readonly client: string
}

/** Most sessions of a user or a caller. The oldest ends when another begins. */
export const SESSIONS_MAX = 50

/** Writes within one transaction, and must not be used after it. */
export class PanelChange {
  readonly #writer: ChangeWriter

  constructor({ writer }: DirectoryChange) {
    this.#writer = writer
  }

  /**
   * Adds a link, in place of those with the same purpose that the user has.
   *
   * @param hash SHA-256 of its secret
   */
  async addLink(
    user: UserRecord,
    link: { readonly hash: Buffer; readonly purpose: LinkPurpose; readonly endsAtMs: number },
  ): Promise<void> {
    const { nowMs } = this.#writer
    await this.#all('DELETE FROM panel_links WHERE user_id = :user AND purpose = :purpose', {
      user: user.id,
      purpose: link.purpose,
    })
    await this.#insert('panel_links', {
      hash: link.hash,
      purpose: link.purpose,
      user_id: user.id,
      generation: user.generation,
      created_at_ms: nowMs,
      ends_at_ms: link.endsAtMs,
    })
    this.#writer.record(LINK_ACTIONS[link.purpose], user)
  }

  /** A link works once. */
  async removeLink(hash: Buffer): Promise<void> {
    await this.#all('DELETE FROM panel_links WHERE hash = :hash', { hash })
  }

  /**
   * Gives the user the password of an invitation that they accept. Passkeys and one-time code are gone, and
   * sessions, other links and IAM tokens have ended, by the generation.
   */
  async acceptInvitation(user: UserRecord, passwordHash: string): Promise<void> {
    await this.#writer.endCredentialsOf(user.id)
    await this.#setPassword(user, passwordHash)
    this.#writer.record('control_panel_user.accept_invitation', user)
  }

  /** Gives the user another password, and ends their sessions but the one in which they asked for it. */
  async replacePassword(user: UserRecord, passwordHash: string, sessionId: string): Promise<void> {
    await this.#setPassword(user, passwordHash)
    await this.endSessionsOf(user.id, sessionId)
    this.#writer.record('control_panel_user.replace_password', user)
  }

  async #setPassword(user: UserRecord, passwordHash: string): Promise<void> {
    await this.#all(
      `INSERT INTO panel_passwords (user_id, hash, changed_at_ms) VALUES (:user, :hash, :now)
       ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at_ms = excluded.changed_at_ms`,
      { user: user.id, hash: passwordHash, now: this.#writer.nowMs },
    )
  }

  /** Stores a new hash of the same password, unless the password was replaced meanwhile. */
  async rehashPassword(user: UserRecord, before: string, hash: string): Promise<void> {
    const [stored] = await this.#all(
      'UPDATE panel_passwords SET hash = :hash WHERE user_id = :user AND hash = :before RETURNING user_id',
      { user: user.id, hash, before },
    )
    if (stored !== undefined) this.#writer.record('control_panel_user.rehash_password', user)
  }

  /** Begins a session. Returns its id. */
  async beginSession({ hash, holder, way, endsAtMs, address, client }: NewSession): Promise<string> {
    const { nowMs } = this.#writer
    await this.#makeRoom(holder)
    const id = randomText(16)
    await this.#insert('panel_sessions', {
      ...{ hash, id },
      user_id: 'digest' in holder ? null : holder.id,
      generation: 'digest' in holder ? 0 : holder.generation,
      caller_digest: 'digest' in holder ? holder.digest : null,
      created_at_ms: nowMs,
      used_at_ms: nowMs,
      confirmed_at_ms: nowMs,
      ends_at_ms: endsAtMs,
      ...{ address, client },
    })
    const details = { session_id: id, way }
    if ('digest' in holder)
      this.#writer.record('caller.log_in', { account: '', name: holder.caller }, details)
    else this.#writer.record('control_panel_user.log_in', holder, details)
    return id
  }

  async #makeRoom(holder: NewSession['holder']): Promise<void> {
    // The index of users has the rows without one, too.
    const rows =
      'digest' in holder
        ? await this.#all(
            `SELECT id FROM panel_sessions WHERE user_id IS NULL AND caller_digest = :digest
             ORDER BY created_at_ms DESC, id DESC`,
            { digest: holder.digest },
          )
        : await this.#all(
            'SELECT id FROM panel_sessions WHERE user_id = :user ORDER BY created_at_ms DESC, id DESC',
            { user: holder.id },
          )
    for (const row of rows.slice(SESSIONS_MAX - 1)) await this.#remove(text(row.id))
  }

  /** The session was used now. */
  async touchSession(hash: Buffer): Promise<void> {
    const now = this.#writer.nowMs
    await this.#all('UPDATE panel_sessions SET used_at_ms = :now WHERE hash = :hash AND used_at_ms < :now', {
      ...{ hash, now },
    })
  }

  /** Its holder has proved again who they are. */
  async confirmSession(hash: Buffer): Promise<void> {
    await this.#all(
      'UPDATE panel_sessions SET used_at_ms = :now, confirmed_at_ms = :now WHERE hash = :hash',
      {
        hash,
        now: this.#writer.nowMs,
      },
    )
  }

  /**
   * Ends sessions that were used, and links that were made, later than that: a clock that was ahead wrote it.
   * Returns how many.
   */
  async endLaterThan(ms: number): Promise<{ readonly sessions: number; readonly links: number }> {
    const sessions = await this.#all('DELETE FROM panel_sessions WHERE used_at_ms > :ms RETURNING id', { ms })
    const links = await this.#all('DELETE FROM panel_links WHERE created_at_ms > :ms RETURNING hash', { ms })
    return { sessions: sessions.length, links: links.length }
  }

  /** Its holder logs out. @param caller name of the caller, where it is a caller's */
  async logOut(session: PanelSessionRecord, caller: string): Promise<void> {
    await this.#remove(session.id)
    const details = { session_id: session.id }
    if (session.holder === 'caller')
      this.#writer.record('caller.log_out', { account: '', name: caller }, details)
    else this.#writer.record('control_panel_user.log_out', session.user, details)
  }

  /** A session of the same browser begins in its place. */
  async replaceSession({ id }: PanelSessionRecord): Promise<void> {
    await this.#remove(id)
  }

  /** Ends a session of a user. Returns whether there was one. */
  async endSession(user: UserRecord, id: string): Promise<boolean> {
    const ended = await this.#all(
      'DELETE FROM panel_sessions WHERE id = :id AND user_id = :user RETURNING id',
      { id, user: user.id },
    )
    if (ended.length === 0) return false
    this.#writer.record('control_panel_user.end_session', user, { session_id: id })
    return true
  }

  /** Ends all sessions of a user but one. Its callers record why. */
  async endSessionsOf(userId: string, exceptId: string): Promise<void> {
    await this.#all('DELETE FROM panel_sessions WHERE user_id = :user AND id <> :except', {
      user: userId,
      except: exceptId,
    })
  }

  /** With the user's account and the last change, by which it ends when the account is disabled. */
  async #insert(
    table: 'panel_links' | 'panel_sessions',
    row: Readonly<Record<string, Value>>,
  ): Promise<void> {
    const [found] = await this.#all(
      `SELECT (${LAST_CHANGE}) AS last, (SELECT account_id FROM users WHERE id = :id) AS account`,
      { id: row.user_id ?? null },
    )
    await this.#writer.insert(table, {
      ...row,
      account_id: found?.account == null ? null : text(found.account),
      change_number: number(found?.last),
    })
  }

  async #remove(id: string): Promise<void> {
    await this.#all('DELETE FROM panel_sessions WHERE id = :id', { id })
  }

  async #all(...statement: Parameters<ChangeWriter['queries']['all']>): Promise<Record<string, unknown>[]> {
    return this.#writer.queries.all(...statement)
  }
}

const LINK_ACTIONS = {
  invitation: 'control_panel_user.invite',
  login: 'control_panel_user.make_login_link',
} as const satisfies Readonly<Record<LinkPurpose, ChangeAction>>
