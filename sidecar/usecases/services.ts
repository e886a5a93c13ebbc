/** What the protocols are given: the rules in force, the authority, and who may call. */
import type { Logger } from 'pino'
import type { Administration } from '../authority/administration.ts'
import type { Authority } from '../authority/authority.ts'
import type { Rules } from '../rules.ts'
import type { Callers } from './callers.ts'
import type { Profile } from './issue.ts'

export interface Services {
  readonly rules: Rules
  readonly authority: Authority
  readonly administration: Administration
  readonly callers: Callers
  readonly profiles: ReadonlyMap<string, Profile>
  /** How long an answer may be reused, in milliseconds. */
  readonly cacheForMs: number
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Logger
}
