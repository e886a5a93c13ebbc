/**
 * The subjects of a change of the directory: their tokens may have another status after it. Each record of
 * the audit trail says it, in the transaction of the change. So the trail is the list of changes that every
 * process follows, by the number of the last one it knows.
 */

/**
 * The dependencies of a token: itself and the tokens that it was derived from, its holder, its account and
 * its project.
 */
export type TokenDependency = 'token' | 'user' | 'account' | 'project'

/** `matrix`: which matrix is in force. No token has another status after that. */
export type TouchedThing = TokenDependency | 'matrix'

/** One thing that was touched. An account is named as in tokens, everything else by its id. */
interface Touch {
  readonly thing: TouchedThing
  readonly id: string
}

/**
 * The subjects that each kind of change touches. Whatever a condition of `verification.ts` reads must be
 * covered: a test compares the tables before and after every kind of change.
 *
 * - `nothing`: no token has another status after it. A new record needs no touch, because no token of it was
 *   asked about before.
 */
const TOUCHED_BY = {
  'account.create': 'nothing',
  'account.enable': 'account',
  'account.disable': 'account',
  'account.delete': 'account',
  'address_restriction.set': 'account',

  'project.create': 'nothing',
  'project.enable': 'project',
  'project.disable': 'project',
  'project.delete': 'project',

  'service_user.create': 'nothing',
  'service_user.enable': 'user',
  'service_user.disable': 'user',
  'service_user.delete': 'user',
  'service_user.set_owner': 'user',
  'service_user.set_roles': 'user',
  'service_user.set_validator': 'user',
  'service_user.set_permissions': 'user',
  'service_user.replace_password': 'user',
  'service_user.rehash_password': 'nothing',

  'control_panel_user.create': 'nothing',
  'control_panel_user.enable': 'user',
  'control_panel_user.disable': 'user',
  'control_panel_user.delete': 'user',
  'control_panel_user.set_owner': 'user',
  'control_panel_user.set_roles': 'user',
  'control_panel_user.set_validator': 'user',
  'control_panel_user.accept_invitation': 'user',
  // The token before it is revoked by its own record.
  'control_panel_user.reissue_token': 'nothing',
  'control_panel_user.copy_token': 'nothing',
  'control_panel_user.invite': 'nothing',
  'control_panel_user.make_login_link': 'nothing',
  // Of the control panel, which no token depends on.
  'control_panel_user.replace_password': 'nothing',
  'control_panel_user.rehash_password': 'nothing',
  'control_panel_user.set_code': 'nothing',
  'control_panel_user.delete_code': 'nothing',
  'control_panel_user.add_passkey': 'nothing',
  'control_panel_user.delete_passkey': 'nothing',
  'control_panel_user.log_in': 'nothing',
  'control_panel_user.log_out': 'nothing',
  'control_panel_user.end_session': 'nothing',
  'caller.log_in': 'nothing',
  'caller.log_out': 'nothing',

  'application_credential.create': 'nothing',
  // Its tokens are derived from it.
  'application_credential.delete': 'token',

  'static_token.create': 'nothing',
  'token.revoke': 'token',

  'matrix.promote': 'matrix',
  'matrix.roll_back': 'matrix',
  // Whatever was active with a row that is removed has ended before.
  'directory.remove': 'nothing',
  // A process that does not know all that was deleted misses the record of its position.
  'audit.archive': 'nothing',
} as const satisfies Readonly<Record<string, TouchedThing | 'nothing'>>

/** A kind of change, as the audit trail names it. */
export type ChangeAction = keyof typeof TOUCHED_BY

/** A record of the feed. */
export interface FeedRecord {
  /**
   * Number of the change; 0: of none, because nothing changed. Only the processes of this
   * host hear of that: none of them may use an earlier state.
   */
  readonly sequence: number
  /** Milliseconds since the epoch. */
  readonly atMs: number
  /** Number of the account that the change was about; empty: of none. */
  readonly account: string
  /** As `touchText` wrote it. */
  readonly touches: string | null
}

/** Whether it is in the audit trail. */
export function isOfChange({ sequence }: FeedRecord): boolean {
  return sequence > 0
}

/**
 * A place in the feed: the last record that is known with all before it. Before the first record of a
 * directory it is 0.
 */
export type Position = Pick<FeedRecord, 'sequence' | 'atMs'>

/** The position for which an answer about tokens holds. */
export interface TrueOf {
  /** `undefined`: it is not known. */
  readonly position: Position | undefined
  /** Names what the answer rests on besides the directory. */
  readonly basis: string
}

/** The subject of a change. */
export interface ChangeSubject {
  /** Empty if the change does not concern an account. */
  readonly account: string
  /** Name of the changed subject, or a substitute for it, for the audit trail. */
  readonly name: string
  /** Id of the account, the project, the user, the token or the credential; digest of the matrix. */
  readonly id?: string
}

/** The subject that a record of the feed touched; `undefined`: it does not say, so maybe everything. */
export type Touched = Touch | 'nothing' | undefined

/** The subject that a change touches, as its record has it: `user:ID`; empty: nothing. */
export function touchText(action: ChangeAction, subject: ChangeSubject): string {
  const thing = TOUCHED_BY[action]
  if (thing === 'nothing') return ''
  const id = thing === 'account' ? subject.account : subject.id
  if (id === undefined) throw new TypeError(`${action}: expected the id of the ${thing}`)
  return `${thing}:${id}`
}

/**
 * Reads what a record says.
 *
 * @param text `null`: an earlier version wrote the record, or a restoration did
 */
export function readTouched(text: unknown): Touched {
  if (text === '') return 'nothing'
  const [, thing, id = ''] = /^(token|user|account|project|matrix):(.+)$/s.exec(String(text)) ?? []
  return thing === undefined ? undefined : { thing: thing as TouchedThing, id }
}
