/** Second factors of control panel users: how they are set up and deleted, and what they prove. */
import type { KeyObject } from 'node:crypto'
import { CallError, callError } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { UserRecord } from '../../directory/directory.ts'
import { FactorChange } from '../../directory/factor-change.ts'
import { FactorRecords, type PasskeyRecord } from '../../directory/factor-records.ts'
import { found } from '../../directory/found.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import type { Actor } from '../actor.ts'
import { changeDirectory } from '../administration/change.ts'
import { checkName } from '../names.ts'
import type { LoginOutcome, Settle } from '../throttle.ts'
import { type ChallengeFor, Challenges } from './challenges.ts'
import { type CodeSetup, Codes } from './codes.ts'
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
  readonly actor: Actor
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
  beginCode({ user, session }: Omit<Setting, 'actor'>): Promise<CodeSetup> {
    return this.#codes.begin(user, session, this.#parts.now())
  }

  /** Replaces the one-time code that the user has, if any, by one whose app shows this code. */
  async setCode(
    { user, session, actor }: Setting,
    shown: { readonly sealed: string; readonly code: string },
  ): Promise<void> {
    const { step, ...code } = await this.#codes.finish(user, session, shown, this.#parts.now())
    await changeDirectory(this.#parts.store, actor, (change) =>
      new FactorChange(change).setCode(user, code, step),
    )
  }

  async deleteCode({ user, actor }: Omit<Setting, 'session'>): Promise<void> {
    await changeDirectory(this.#parts.store, actor, async (change) => {
      const deleted = await new FactorChange(change).deleteCode(user)
      found(deleted || undefined, 'one-time code')
    })
  }

  /** @param origin of the page, which the server knows to be its own */
  async optionsOfNewPasskey(
    { user, session }: Omit<Setting, 'actor'>,
    origin: string,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const existing = await this.#records.passkeys(user.id)
    expectRoom(existing)
    return this.#passkeys.optionsOfNew(user, existing, session, { origin, nowMs: this.#parts.now() })
  }

  async addPasskey(
    { user, session, actor }: Setting,
    { name, response }: { readonly name: string; readonly response: RegistrationResponseJSON },
    origin: string,
  ): Promise<PasskeyRecord> {
    checkName('name', name)
    const asked = { origin, nowMs: this.#parts.now() }
    const { challenge, ...passkey } = await this.#passkeys.verifyNew(response, session, asked)
    return changeDirectory(
      this.#parts.store,
      actor,
      async (change) => {
        const factors = new FactorChange(change)
        const records = new FactorRecords(change.records)
        if (!(await factors.useChallenge(challenge))) throw callError('PASSKEY_REFUSED', {})
        expectRoom(await records.passkeys(user.id))
        await factors.addPasskey(user, { ...passkey, name })
        return found(await records.passkey(passkey.id), 'passkey')
      },
      'the passkey',
    )
  }

  async deletePasskey({ user, actor }: Omit<Setting, 'session'>, id: string): Promise<void> {
    await changeDirectory(this.#parts.store, actor, async (change) => {
      const deleted = canBePasskey(id) && (await new FactorChange(change).deletePasskey(user, id))
      found(deleted || undefined, 'such passkey')
    })
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

function expectRoom(passkeys: readonly PasskeyRecord[]): void {
  if (passkeys.length >= PASSKEYS_MAX) throw callError('PASSKEYS_FULL', { max: PASSKEYS_MAX })
}
