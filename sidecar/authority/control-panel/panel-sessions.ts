/**
 * Sessions of the control panel. The directory has them, so that every process knows them, and each ends when
 * its row is gone.
 */

import { CallError, callError } from '../../base/call-error.ts'
import { ipAddress } from '../../base/ip-address.ts'
import { TimeLimit } from '../../base/time-limit.ts'
import type { ChangeAuthor, ChangeOrigin } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { found } from '../../directory/found.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords, type PanelSession, type PanelSessionRecord } from '../../directory/panel-records.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import { trusted } from '../actor.ts'
import { isAllowed } from '../addresses.ts'
import { changeDirectory } from '../administration/change-directory.ts'
import { LazyLruCache } from '../lazy-lru-cache.ts'
import type { PanelParts } from './parts.ts'

export type { PanelSession }

/** A session that has not ended, with what is stored of its secret. */
export type LiveSession = PanelSessionRecord & { readonly hash: Buffer }

export type UserSession = Extract<LiveSession, { readonly holder: 'user' }>
export type CallerSession = Extract<LiveSession, { readonly holder: 'caller' }>

/** How often the use of a session is written at most, in milliseconds. */
const TOUCH_MS = 60_000

/**
 * How often it is written within the idle limit, at least. Less often, and a session that is used could end.
 */
const TOUCHES_PER_IDLE = 4

/** Most sessions of callers that are known without a look into the directory. */
const KNOWN_MAX = 1_000

export class PanelSessions {
  readonly #parts: Pick<PanelParts, 'store' | 'limits' | 'now'>
  readonly #idle: TimeLimit
  readonly #lifetime: TimeLimit
  readonly #touching = new Set<string>()
  readonly #ofCallers = new LazyLruCache<{ readonly digest: Buffer }>(KNOWN_MAX)

  constructor(parts: Pick<PanelParts, 'store' | 'limits' | 'now'>) {
    this.#parts = parts
    this.#idle = new TimeLimit(parts.limits.idleMs)
    this.#lifetime = new TimeLimit(parts.limits.lifetimeMs)
  }

  /** @param hash SHA-256 of what the cookie has */
  async find(
    hash: Buffer,
    records: DirectoryRecords = this.#parts.store.records,
  ): Promise<LiveSession | undefined> {
    const session = await new PanelRecords(records).session(hash)
    if (session === undefined || !this.#isLive(session)) return undefined
    return { ...session, hash }
  }

  /**
   * Finds the session of a request, and writes that it was used: at most once a minute, or four times within
   * a shorter idle limit.
   *
   * @param expect throws where the session does not count for the request: then it is not used
   */
  async use(hash: Buffer, expect: (session: LiveSession) => void): Promise<LiveSession | undefined> {
    const session = await this.find(hash)
    if (session === undefined) return undefined
    expect(session)
    if (session.holder === 'caller')
      this.#ofCallers.set(hash.toString('hex'), { digest: Buffer.from(session.callerDigest, 'hex') })
    const touchMs = Math.min(TOUCH_MS, this.#parts.limits.idleMs / TOUCHES_PER_IDLE)
    if (this.#parts.now() - session.usedAtMs < touchMs) return session
    await this.#touch(session)
    return { ...session, usedAtMs: this.#parts.now() }
  }

  /** The session as it is inside the transaction of a change; `undefined`: it has ended meanwhile. */
  again(records: DirectoryRecords, { hash }: LiveSession): Promise<LiveSession | undefined> {
    return this.find(hash, records)
  }

  /**
   * SHA-256 of the caller token of a session that was a caller's when it was used last. It says nothing of
   * whether it is now.
   */
  callerBefore(hash: Buffer): Buffer | undefined {
    return this.#ofCallers.get(hash.toString('hex'))?.digest
  }

  /** When the session ends unless it is used, in milliseconds since the epoch. */
  idleUntilMs({ usedAtMs, endsAtMs }: PanelSession): number {
    return Math.min(this.#idle.endOf(usedAtMs), endsAtMs)
  }

  /** When a session ends at the latest that begins now. */
  endsAtMs(): number {
    return this.#lifetime.endOf(this.#parts.now())
  }

  /**
   * The sessions of a user that have not ended, newest first.
   */
  async list(user: UserRecord): Promise<readonly PanelSession[]> {
    return (await new PanelRecords(this.#parts.store.records).sessions(user)).filter((session) =>
      this.#isLive(session),
    )
  }

  /** Ends a session of a user. @throws CallError where there is none */
  async end(change: DirectoryChange, user: UserRecord, id: string): Promise<void> {
    const ended = await new PanelChange(change).endSession(user, id)
    found(ended ? id : undefined, `such session of control panel user \`${user.name}\``)
  }

  #isLive({ createdAtMs, usedAtMs, endsAtMs }: PanelSession): boolean {
    const nowMs = this.#parts.now()
    const over = this.#idle.isOverSince(usedAtMs, nowMs) || this.#lifetime.isOverSince(createdAtMs, nowMs)
    return !over && nowMs < endsAtMs
  }

  /** A use that cannot be written is no reason to refuse the request. */
  async #touch(session: LiveSession): Promise<void> {
    const key = session.hash.toString('hex')
    if (this.#touching.has(key)) return
    this.#touching.add(key)
    try {
      await changeDirectory(this.#parts.store, touchingAuthor(session), (change) =>
        new PanelChange(change).touchSession(session.hash),
      )
    } catch (error) {
      if (!(error instanceof CallError)) throw error
    } finally {
      this.#touching.delete(key)
    }
  }
}

/** The change has no record in the audit trail. Its lane is that of who uses the session. */
function touchingAuthor(session: LiveSession): ChangeAuthor {
  if (session.holder === 'caller') return trusted(`session ${session.id}`)
  return { ...trusted(`session ${session.id}`, 'users'), principal: session.user.id }
}

/**
 * An owner who restricted the account too far must be able to fix it (§1).
 *
 * @throws CallError where the account does not allow the address
 */
export function expectAddress(
  { user, addresses }: { readonly user: UserRecord; readonly addresses: readonly string[] },
  origin: ChangeOrigin | undefined,
): void {
  if (!isAllowed(ipAddress(origin?.address), addresses) && !user.owner)
    throw callError('ADDRESS_NOT_ALLOWED', {})
}

/** The session is unknown, or has ended. */
export function sessionEnded(): CallError {
  return callError('REQUESTER_NOT_AUTHENTICATED', { credential: 'a session of the control panel; log in' })
}
