/**
 * The rows and names that a change holds until it ends: no other change alters them meanwhile, so whatever it
 * has read of them is true when it is committed. `docs/decisions/directory.md` lists the rules that rest on
 * each. Others may hold the same, but for what `changes` names: this change alone holds that.
 */
export interface Hold {
  /** Number of the account that users and projects are in. */
  readonly account?: string
  readonly userIds?: readonly string[]
  readonly userNames?: readonly string[]
  /** Names of projects. */
  readonly projects?: readonly string[]
  readonly changes?: 'account' | 'users' | 'projects'
  /** The session that the author of the change has, by its SHA-256: it is not ended meanwhile. */
  readonly session?: Buffer
  /** Ids of the tokens that the author has presented: none of them is revoked meanwhile. */
  readonly tokens?: readonly string[]
  /** Names of things without a row, or whose row is not known. One change at a time holds such a name. */
  readonly alone?: readonly string[]
}
