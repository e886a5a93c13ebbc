/**
 * What the control panel keeps and proves with: links, passwords, one-time codes, passkeys and sessions. Its
 * use cases decide which of them a login takes. Loaded only where it is used.
 */
import type { KeyObject } from 'node:crypto'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import type { DirectoryRecords } from '../../directory/records.ts'
import { changeDirectory } from '../administration/change-directory.ts'
import type { LoginThrottle } from '../throttle.ts'
import { Challenges } from './challenges.ts'
import { Codes } from './codes.ts'
import { PanelLinks } from './links.ts'
import { PanelSessions } from './panel-sessions.ts'
import type { PanelParts } from './parts.ts'
import { Passkeys } from './passkeys.ts'
import { PanelPasswords } from './passwords.ts'
import { type ClockEvents, WrongClock } from './wrong-clock.ts'

export class ControlPanel {
  readonly records: DirectoryRecords
  readonly failedLogins: LoginThrottle
  readonly links: PanelLinks
  readonly passwords: PanelPasswords
  readonly codes: Codes
  readonly passkeys: Passkeys
  readonly sessions: PanelSessions
  readonly #parts: PanelParts

  constructor({ pepper, ...parts }: PanelParts & { readonly pepper: KeyObject }) {
    this.#parts = parts
    this.records = parts.store.records
    this.failedLogins = parts.failedLogins
    this.links = new PanelLinks(parts)
    this.passwords = new PanelPasswords(parts)
    this.codes = new Codes(pepper)
    this.passkeys = new Passkeys(new Challenges(pepper))
    this.sessions = new PanelSessions(parts)
  }

  /** As `changeDirectory`. */
  change<T>(
    author: ChangeAuthor,
    work: (change: DirectoryChange) => Promise<T>,
    creating?: string,
  ): Promise<T> {
    return changeDirectory(this.#parts.store, author, work, creating)
  }

  /** Ends for good what a clock that was ahead began, from now on. */
  watchClock(events: ClockEvents): WrongClock {
    return new WrongClock({ ...this.#parts, ...events })
  }
}
