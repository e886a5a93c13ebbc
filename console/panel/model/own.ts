/** Messages of the contract as the pages of the profile show them. */
import type { ControlPanelUserToken, StaticToken } from '../../gen/portcullis/v1/directory_pb.ts'
import { msOf } from './dates.ts'
import type { ApiKey } from './keys.ts'

export function apiKeyOf(token: StaticToken): ApiKey {
  const { tokenId, name, createdAt, revokedAt } = token
  return {
    ...{ id: tokenId, name },
    createdAtMs: msOf(createdAt) ?? 0,
    revokedAtMs: msOf(revokedAt),
    lastUsedDay: (token as { lastUsedDay?: string }).lastUsedDay ?? '',
  }
}

/** An IAM token of one's own. */
export interface OwnToken {
  readonly header: string
  readonly value: string
  /** Id of its kind. */
  readonly kind: string
  readonly account: string
  /** Empty: it is for the account. */
  readonly project: string
  readonly expiresAtMs: number | undefined
}

export function ownTokenOf({ header, value, kind, scope, expiresAt }: ControlPanelUserToken): OwnToken {
  const { account = '', project = '' } = scope ?? {}
  return { header, value, kind, account, project, expiresAtMs: msOf(expiresAt) }
}
