/**
 * Changes of the second factors of control panel users, and their use, which uses something up: the step of a
 * one-time code, the challenge of a passkey. The audit trail has each new or deleted factor.
 */
import type { DirectoryChange } from './change.ts'
import type { ChangeWriter } from './change-writer.ts'
import type { UserRecord } from './directory.ts'
import type { CodeRecord, PasskeyRecord } from './factor-records.ts'

type Whom = Pick<UserRecord, 'id' | 'account' | 'name'>

/** A passkey that the directory does not have yet. */
export type PasskeyToAdd = Omit<PasskeyRecord, 'userId' | 'createdAtMs' | 'lastUsedDay'>

const DAY_MS = 24 * 60 * 60_000

/** Writes within one transaction, and must not be used after it. */
export class FactorChange {
  readonly #writer: ChangeWriter

  constructor({ writer }: DirectoryChange) {
    this.#writer = writer
  }

  /**
   * Replaces the one-time code that the user has, if any.
   *
   * @param step that of the code which showed that the user has it; it is used up
   */
  async setCode(user: Whom, code: Omit<CodeRecord, 'createdAtMs'>, step: number): Promise<void> {
    await this.#all('DELETE FROM panel_codes WHERE user_id = :user', { user: user.id })
    await this.#writer.insert('panel_codes', {
      ...{ user_id: user.id, secret: code.secret, sealed_with: code.sealedWith, last_step: step },
      created_at_ms: this.#writer.nowMs,
    })
    this.#writer.record('control_panel_user.set_code', user)
  }

  /** Whether there was one. */
  async deleteCode(user: Whom): Promise<boolean> {
    const [deleted] = await this.#all('DELETE FROM panel_codes WHERE user_id = :user RETURNING user_id', {
      user: user.id,
    })
    if (deleted !== undefined) this.#writer.record('control_panel_user.delete_code', user)
    return deleted !== undefined
  }

  /**
   * Uses up a step, with those before it. Whether it was not used up yet, and the code is still the one that
   * was read.
   */
  async useStep(userId: string, code: Pick<CodeRecord, 'secret'>, step: number): Promise<boolean> {
    const [used] = await this.#all(
      `UPDATE panel_codes SET last_step = :step
       WHERE user_id = :user AND secret = :secret AND last_step < :step RETURNING user_id`,
      { user: userId, secret: code.secret, step },
    )
    return used !== undefined
  }

  /** @throws AlreadyExists if a user has this passkey */
  async addPasskey(user: Whom, passkey: PasskeyToAdd): Promise<void> {
    const { id, name, publicKey, counter, transports } = passkey
    await this.#writer.insert('passkeys', {
      ...{ id, user_id: user.id, name, public_key: publicKey, counter },
      ...{ transports: transports.join(' '), created_at_ms: this.#writer.nowMs },
    })
    this.#writer.record('control_panel_user.add_passkey', user, { name, id })
  }

  /** Whether the user had it. */
  async deletePasskey(user: Whom, id: string): Promise<boolean> {
    const [deleted] = await this.#all(
      'DELETE FROM passkeys WHERE id = :id AND user_id = :user RETURNING name',
      { id, user: user.id },
    )
    if (deleted === undefined) return false
    const { name } = deleted
    this.#writer.record('control_panel_user.delete_passkey', user, { name, id })
    return true
  }

  /**
   * Records that a passkey was used. Whether it is still there, and counts on: a copy of an authenticator
   * counts beside it. One that does not count says 0 each time.
   */
  async usePasskey(id: string, counter: number): Promise<boolean> {
    const [used] = await this.#all(
      `UPDATE passkeys SET counter = :counter, last_used_day = :day
       WHERE id = :id AND (counter < :counter OR (counter = 0 AND :counter = 0)) RETURNING id`,
      { id, counter, day: Math.floor(this.#writer.nowMs / DAY_MS) },
    )
    return used !== undefined
  }

  /** Uses up a challenge, by its SHA-256. Whether it was not answered yet. */
  async useChallenge({
    hash,
    endsAtMs,
  }: {
    readonly hash: Buffer
    readonly endsAtMs: number
  }): Promise<boolean> {
    const [used] = await this.#all(
      `INSERT INTO panel_challenges (hash, ends_at_ms) VALUES (:hash, :ends)
       ON CONFLICT DO NOTHING RETURNING ends_at_ms`,
      { hash, ends: endsAtMs },
    )
    return used !== undefined
  }

  #all(...statement: Parameters<ChangeWriter['queries']['all']>) {
    return this.#writer.queries.all(...statement)
  }
}
