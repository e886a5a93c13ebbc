/** Users replace the password that they log in to the control panel with. */
import { invalidArgument } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import { PanelChange } from '../../directory/panel-change.ts'
import { PanelRecords } from '../../directory/panel-records.ts'
import { changeDirectory } from '../administration/change.ts'
import type { Origin } from '../authority.ts'
import type { Setting } from './factors.ts'
import { expectSame } from './log-in.ts'
import type { PanelParts } from './parts.ts'
import { checkPanelPassword, type PanelPasswords } from './passwords.ts'

export interface NewPassword {
  /** The password that the user has; `undefined`: they have none, because a link logged them in. */
  readonly current: Secret | undefined
  readonly password: Secret
}

export class PasswordReplacement {
  readonly #parts: Pick<PanelParts, 'store' | 'passwords'>
  readonly #passwords: PanelPasswords
  readonly #records: PanelRecords

  constructor(parts: Pick<PanelParts, 'store' | 'passwords'>, passwords: PanelPasswords) {
    this.#parts = parts
    this.#passwords = passwords
    this.#records = new PanelRecords(parts.store.records)
  }

  /** When the user set the password, in milliseconds since the epoch; `undefined`: there is none. */
  async since(userId: string): Promise<number | undefined> {
    return (await this.#records.password(userId))?.changedAtMs
  }

  /**
   * The other sessions of the user end.
   *
   * @throws CallError `LOGIN_FAILED` where the current password is another one
   */
  async replace(
    setting: Setting,
    { current, password }: NewPassword,
    from: Pick<Origin, 'source' | 'connection'>,
  ): Promise<void> {
    const { account, name: userName } = setting.user
    checkPanelPassword('password', password, setting.user)
    if (current === undefined) return this.#setFirst(setting, password)
    if (current.reveal() === password.reveal())
      throw invalidArgument({ field: 'password', expected: 'another password than the current one' })
    await this.#passwords.prove({ account, userName, password: current }, from, (login) =>
      this.#set(setting, password, (change) => expectSame(change, login)),
    )
  }

  #setFirst(setting: Setting, password: Secret): Promise<void> {
    return this.#set(setting, password, async ({ records }) => {
      if ((await new PanelRecords(records).password(setting.user.id)) !== undefined)
        throw invalidArgument({ field: 'current', expected: 'the password that the user has' })
    })
  }

  async #set(
    { user, session, actor }: Setting,
    password: Secret,
    expect: (change: Parameters<typeof expectSame>[0]) => Promise<void>,
  ): Promise<void> {
    const hash = await this.#parts.passwords.hash(password.reveal(), user.id)
    await changeDirectory(this.#parts.store, actor, async (change) => {
      await expect(change)
      await new PanelChange(change).replacePassword(user, hash, session)
    })
  }
}
