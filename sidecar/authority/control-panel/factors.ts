/** Second factors of control panel users: what is proved with them, and with new ones. */
import type { KeyObject } from 'node:crypto'
import { CallError, callError } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorChange } from '../../directory/factor-change.ts'
import { FactorRecords, type PasskeyRecord } from '../../directory/factor-records.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { LoginOutcome, Settle } from '../throttle.ts'
import { type ChallengeFor, Challenges } from './challenges.ts'
import { type CodeSetup, Codes, type NewCode } from './codes.ts'
import type { PanelParts } from './parts.ts'
import {
  type AuthenticationResponseJSON,
  canBePasskey,
  Passkeys,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from './passkeys.ts'
import type { FactorWay, SecondFactors } from './second-factors.ts'

export type { CodeSetup, PasskeyRecord }

/** Most passkeys of a user. */
const PASSKEYS_MAX = 20

/** A user, and the session in which they set something up. */
export interface Setting {
  readonly user: UserRecord
  /** Id of the session. */
  readonly session: string
}

/** What a passkey proved, once `use` has used it up. */
export interface PasskeyProof {
  readonly userId: string
  /** To be called inside the transaction of what it is for. @throws CallError `PASSKEY_REFUSED` */
  readonly use: (change: DirectoryChange) => Promise<void>
}

export interface FactorsParts extends Pick<PanelParts, 'store' | 'failedLogins' | 'now'> {
  readonly pepper: KeyObject
}

/** Every method throws `CallError` where there is no answer. */
export class Factors implements SecondFactors {
  readonly #parts: FactorsParts
  readonly #records: FactorRecords
  readonly #codes: Codes
  readonly #passkeys: Passkeys

  constructor(parts: FactorsParts) {
    this.#parts = parts
    this.#records = new FactorRecords(parts.store.records)
    this.#codes = new Codes(parts.pepper)
    this.#passkeys = new Passkeys(new Challenges(parts.pepper))
  }

  async waysOf(records: DirectoryRecords, userId: string): Promise<readonly FactorWay[]> {
    const { code, passkey } = await new FactorRecords(records).kinds(userId)
    return [...(code ? ['code' as const] : []), ...(passkey ? ['passkey' as const] : [])]
  }

  async useCode(change: DirectoryChange, user: UserRecord, code: string): Promise<void> {
    const stored = await new FactorRecords(change.records).code(user.id)
    const step = stored && (await this.#codes.stepOf(user.id, stored, code, this.#parts.now()))
    if (
      stored === undefined ||
      step === undefined ||
      !(await new FactorChange(change).useStep(user.id, stored, step))
    )
      throw callError('CODE_WRONG', {})
  }

  async whileGuessed<T>(user: UserRecord, code: string | undefined, work: () => Promise<T>): Promise<T> {
    if (code === undefined) return work()
    const settle = await this.#admitCode(user)
    let outcome: LoginOutcome = 'abandoned'
    try {
      const result = await work()
      outcome = 'succeeded'
      return result
    } catch (error) {
      if (error instanceof CallError && error.row.login === 'wrong_password') outcome = 'failed'
      throw error
    } finally {
      settle(outcome)
    }
  }

  /** The user's codes are a source of their own: it is the same wherever they come from. */
  async #admitCode({ id, account, name: userName }: UserRecord): Promise<Settle> {
    try {
      const source = `codes of ${id}`
      return await this.#parts.failedLogins.admit({ account, userName, source, guesses: 'code' })
    } catch (error) {
      const seconds = error instanceof CallError ? error.metadata.retry_after_seconds : undefined
      if (seconds === undefined) throw error
      const cause = 'too many wrong one-time codes of this user'
      throw callError('LOGIN_THROTTLED', { cause, seconds }, { metadata: { retry_after_seconds: seconds } })
    }
  }

  /** When the user set up their one-time code; `undefined`: there is none. */
  async codeSince(userId: string): Promise<number | undefined> {
    return (await this.#records.code(userId))?.createdAtMs
  }

  /** Those of a user, the oldest first. */
  passkeys(userId: string): Promise<readonly PasskeyRecord[]> {
    return this.#records.passkeys(userId)
  }

  /** Nothing is stored before `setCode`. */
  beginCode({ user, session }: Setting): Promise<CodeSetup> {
    return this.#codes.begin(user, session, this.#parts.now())
  }

  /** The one-time code of an app that shows this code. Nothing is stored. @throws CallError */
  proveCode(
    { user, session }: Setting,
    shown: { readonly sealed: string; readonly code: string },
  ): Promise<NewCode> {
    return this.#codes.finish(user, session, shown, this.#parts.now())
  }

  /** @param origin of the page, which the server knows to be its own */
  async optionsOfNewPasskey(
    { user, session }: Setting,
    origin: string,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const existing = await this.#records.passkeys(user.id)
    expectRoom(existing)
    return this.#passkeys.optionsOfNew(user, existing, session, { origin, nowMs: this.#parts.now() })
  }

  /** The passkey that a browser has made. Nothing is stored. @throws CallError `PASSKEY_REFUSED` */
  proveNewPasskey(
    { session }: Pick<Setting, 'session'>,
    response: RegistrationResponseJSON,
    origin: string,
  ): ReturnType<Passkeys['verifyNew']> {
    return this.#passkeys.verifyNew(response, session, { origin, nowMs: this.#parts.now() })
  }

  /**
   * What a browser asks a passkey with. Nothing is stored.
   *
   * @param user whose passkeys are asked for; `undefined`: it is not known yet who logs in
   */
  async passkeyOptions(
    what: ChallengeFor,
    user: Pick<UserRecord, 'id'> | undefined,
    origin: string,
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const of = user === undefined ? [] : await this.#records.passkeys(user.id)
    return this.#passkeys.options(what, of, { origin, nowMs: this.#parts.now() })
  }

  /** Who answered with a passkey. */
  async provePasskey(
    what: ChallengeFor,
    response: AuthenticationResponseJSON,
    origin: string,
  ): Promise<PasskeyProof> {
    const passkey = canBePasskey(response.id) ? await this.#records.passkey(response.id) : undefined
    if (passkey === undefined) throw callError('PASSKEY_REFUSED', {})
    const asked = { origin, nowMs: this.#parts.now() }
    const { counter, challenge } = await this.#passkeys.verify(response, what, passkey, asked)
    return {
      userId: passkey.userId,
      use: async (change) => {
        const factors = new FactorChange(change)
        const unused = await factors.useChallenge(challenge)
        if (!unused || !(await factors.usePasskey(passkey.id, counter)))
          throw callError('PASSKEY_REFUSED', {})
      },
    }
  }
}

/** @throws CallError `PASSKEYS_FULL` */
export function expectRoom(passkeys: readonly PasskeyRecord[]): void {
  if (passkeys.length >= PASSKEYS_MAX) throw callError('PASSKEYS_FULL', { max: PASSKEYS_MAX })
}
