/** What the control panel is made of: how people and callers log in, and their sessions. Loaded only where it is used. */
import { PanelLinks } from './links.ts'
import { LogIn } from './log-in.ts'
import type { PanelParts } from './parts.ts'
import { PanelPasswords } from './passwords.ts'
import { NO_SECOND_FACTORS } from './second-factors.ts'
import { PanelSessions } from './sessions.ts'

export class ControlPanel {
  readonly links: PanelLinks
  readonly sessions: PanelSessions
  readonly logIn: LogIn

  constructor(given: Omit<PanelParts, 'factors'>) {
    const parts: PanelParts = { ...given, factors: NO_SECOND_FACTORS }
    const { links, sessions } = { links: new PanelLinks(parts), sessions: new PanelSessions(parts) }
    this.links = links
    this.sessions = sessions
    this.logIn = new LogIn(parts, { links, sessions, passwords: new PanelPasswords(parts) })
  }
}
