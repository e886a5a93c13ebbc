/** Messages of the contract as the pages of the profile show them. */

import type { ControlPanelUserToken, Session, StaticToken } from '../../gen/portcullis/v1/directory.ts'
import type { Carried } from '../../model/shell.ts'
import { msOf } from './dates.ts'
import type { ApiKey } from './keys.ts'

/** The control panel user whom keys and sessions are of. */
export interface Holder {
  readonly account: string
  readonly name: string
}

export function apiKeyOf(token: StaticToken): ApiKey {
  const { tokenId, name, lastFour, note, kind, createdAt, revokedAt, lastUsedDay = '' } = token
  return {
    ...{ id: tokenId, name, lastFour, note, kind, lastUsedDay },
    createdAtMs: msOf(createdAt) ?? 0,
    revokedAtMs: msOf(revokedAt),
  }
}

/** An IAM token of one's own. */
export interface OwnToken {
  readonly place: Carried
  readonly value: string
  /** Id of its kind. */
  readonly kind: string
  readonly account: string
  /** Empty: it is for the account. */
  readonly project: string
  readonly expiresAtMs: number | undefined
}

export function ownTokenOf({
  header,
  scheme,
  value,
  kind,
  scope,
  expiresAt,
}: ControlPanelUserToken): OwnToken {
  const { account = '', project = '' } = scope ?? {}
  return { place: { header, scheme }, value, kind, account, project, expiresAtMs: msOf(expiresAt) }
}

/** A session of one's own, as the list of them has it. */
export interface OwnSession {
  readonly id: string
  readonly createdAtMs: number | undefined
  readonly lastUsedAtMs: number | undefined
  readonly endsAtMs: number | undefined
  /** Empty: it is not known. */
  readonly address: string
  /** The name that the browser gave itself. */
  readonly client: string
}

export function ownSessionOf({ id, createdAt, lastUsedAt, endsAt, address, client }: Session): OwnSession {
  return {
    ...{ id, address, client },
    createdAtMs: msOf(createdAt),
    lastUsedAtMs: msOf(lastUsedAt),
    endsAtMs: msOf(endsAt),
  }
}

/** The sessions as a list shows them: this one first, and then those that were used last. */
export function shownSessions(sessions: readonly OwnSession[], here: string): readonly OwnSession[] {
  return sessions.toSorted(
    (one, other) =>
      Number(other.id === here) - Number(one.id === here) ||
      (other.lastUsedAtMs ?? 0) - (one.lastUsedAtMs ?? 0),
  )
}
