/**
 * Passwords that people choose for the control panel. Every login with one is throttled: what people choose
 * can be guessed.
 */
import { CallError, callError, invalidArgument } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { type PanelLogin, PanelRecords } from '../../directory/panel-records.ts'
import { controlPanelUser } from '../actor.ts'
import { changeDirectory } from '../administration/change-directory.ts'
import type { Origin, PasswordRequester } from '../authority.ts'
import { KnownLogins } from '../known-logins.ts'
import { canBeName } from '../names.ts'
import { PASSWORD_LENGTH_MAX } from '../password.ts'
import type { LoginOutcome } from '../throttle.ts'
import type { PanelParts } from './parts.ts'

/** Length of the shortest password, in characters. */
const PASSWORD_LENGTH_MIN = 12

/** Length of the shortest name that no password may have in it, in characters. */
const NAME_LENGTH_MIN = 3

/** A user whose password was right. */
export interface ProvenLogin extends PanelLogin {
  readonly passwordHash: string
}

/** @throws CallError that says what a password is like */
export function checkPanelPassword(
  field: string,
  password: Secret,
  { account, name }: { readonly account: string; readonly name: string },
): void {
  const text = password.reveal()
  const length = [...text].length
  const fault =
    length < PASSWORD_LENGTH_MIN || text.length > PASSWORD_LENGTH_MAX
      ? `${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters`
      : new Set(text).size === 1
        ? 'more than one character repeated'
        : [account, name].some((part) => part.length >= NAME_LENGTH_MIN && contains(text, part))
          ? 'a password without the account number and the name of the user'
          : undefined
  if (fault !== undefined) throw invalidArgument({ field, expected: fault })
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase())
}

/**
 * The password was right before the transaction, and counts only while it is the user's.
 *
 * @throws CallError `LOGIN_FAILED`
 */
export async function expectSame(
  change: DirectoryChange,
  { user, passwordHash }: ProvenLogin,
): Promise<void> {
  const now = await new PanelRecords(change.records).login(user.account, user.name)
  if (
    now?.user.id !== user.id ||
    now.user.generation !== user.generation ||
    now.passwordHash !== passwordHash
  )
    throw callError('LOGIN_FAILED', {})
}

export class PanelPasswords {
  readonly #parts: PanelParts
  readonly #records: PanelRecords
  readonly #logins = new KnownLogins()

  constructor(parts: PanelParts) {
    this.#parts = parts
    this.#records = new PanelRecords(parts.store.records)
  }

  /** When the user set the password, in milliseconds since the epoch; `undefined`: there is none. */
  async since(userId: string): Promise<number | undefined> {
    return (await this.#records.password(userId))?.changedAtMs
  }

  /** @returns a PHC string. Hashing takes long, so it comes before the change that stores it. */
  hash(password: Secret, userId: string): Promise<string> {
    return this.#parts.passwords.hash(password.reveal(), userId)
  }

  /**
   * Checks a password, and does what it is for. The login goes on after its client has disconnected, so that
   * every guess is counted. An unknown user takes as long as a wrong password.
   *
   * @param then what the password is for; a wrong code (`CODE_WRONG`) counts as a wrong password
   * @throws CallError `LOGIN_FAILED`, `LOGIN_THROTTLED`, and what `then` throws
   */
  async prove<T>(
    claim: PasswordRequester,
    from: Pick<Origin, 'source' | 'connection'>,
    then: (login: ProvenLogin) => Promise<T>,
  ): Promise<T> {
    const { failedLogins, passwords } = this.#parts
    const placed = this.#logins.placeOf(claim, from)
    const attempt = { ...placed.names, source: placed.source, guesses: 'chosen password' } as const
    const settle = await failedLogins.admit(attempt)
    // A right password without its code leaves the count as it is: it must not set back the count of guessed
    // codes.
    let outcome: LoginOutcome = 'abandoned'
    try {
      const { account, userName } = claim
      const known = canBeName(account) && canBeName(userName)
      const login = known ? await this.#records.login(account, userName) : undefined
      const hash = login?.passwordHash
      const right = await passwords.verify({ ...claim, chosen: true }, hash, placed.place)
      if (!right || login === undefined || hash === undefined) throw callError('LOGIN_FAILED', {})
      const result = await then({ ...login, passwordHash: hash })
      outcome = 'succeeded'
      this.#logins.remember(placed)
      if (passwords.isOutdated(hash)) await this.#rehash(login, hash, claim.password)
      return result
    } catch (error) {
      if (error instanceof CallError && error.row.login === 'wrong_password') outcome = 'failed'
      throw error
    } finally {
      settle(outcome)
    }
  }

  /**
   * Hashes a right password again with today's parameters. If the store fails, the next login tries again.
   */
  async #rehash({ user }: PanelLogin, before: string, password: Secret): Promise<void> {
    try {
      const hash = await this.#parts.passwords.hash(password.reveal(), user.id)
      await changeDirectory(this.#parts.store, controlPanelUser(user), (change) =>
        new PanelChange(change).rehashPassword(user, before, hash),
      )
    } catch (error) {
      if (!(error instanceof CallError)) throw error
    }
  }
}
