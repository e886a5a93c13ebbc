/**
 * What the control panel is made of: how people and callers log in, and their sessions. Loaded only where it
 * is used.
 */
import type { KeyObject } from 'node:crypto'
import type { ChangeAuthor } from '../../directory/author.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { changeDirectory } from '../administration/change.ts'
import { Factors } from './factors.ts'
import { PanelLinks } from './links.ts'
import { LogIn } from './log-in.ts'
import type { PanelParts } from './parts.ts'
import { PanelPasswords } from './passwords.ts'
import { PanelSessions } from './sessions.ts'
import { type ClockEvents, WrongClock } from './wrong-clock.ts'

export class ControlPanel {
  readonly links: PanelLinks
  readonly sessions: PanelSessions
  readonly logIn: LogIn
  readonly factors: Factors
  readonly passwords: PanelPasswords
  readonly #given: Pick<PanelParts, 'store' | 'now'>

  constructor({ pepper, ...given }: Omit<PanelParts, 'factors'> & { readonly pepper: KeyObject }) {
    const factors = new Factors({ ...given, pepper })
    const parts: PanelParts = { ...given, factors }
    const { links, sessions } = { links: new PanelLinks(parts), sessions: new PanelSessions(parts) }
    const passwords = new PanelPasswords(parts)
    this.#given = given
    this.links = links
    this.sessions = sessions
    this.logIn = new LogIn(parts, { links, sessions, passwords })
    this.factors = factors
    this.passwords = passwords
  }

  /** As `changeDirectory`. */
  change<T>(
    author: ChangeAuthor,
    work: (change: DirectoryChange) => Promise<T>,
    creating?: string,
  ): Promise<T> {
    return changeDirectory(this.#given.store, author, work, creating)
  }

  /** Ends for good what a clock that was ahead began, from now on. */
  watchClock(events: ClockEvents): WrongClock {
    return new WrongClock({ ...this.#given, ...events })
  }
}
