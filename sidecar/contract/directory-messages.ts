/** Records of the directory: values → wire, and permissions back. */

import * as wire from '../../proto/gen/portcullis/v1/directory.ts'
import { isoDate } from '../base/day.ts'
import type { AddressPreview } from '../usecases/administration/accounts.ts'
import type {
  AccountRecord,
  ApplicationCredentialRecord,
  AuditRecord,
  PanelSession,
  Permission,
  ProjectRecord,
  RevocationRecord,
  StaticTokenRecord,
  UserRecord,
} from '../usecases/administration/returned-records.ts'
import type { PanelToken } from '../usecases/administration/tokens.ts'
import type { RequestedPermission } from '../usecases/administration/users.ts'

export function requestedPermissions(permissions: readonly wire.Permission[]): RequestedPermission[] {
  return permissions.map(({ scope, projects }) => ({ scope: SCOPES.get(scope), projects }))
}

const SCOPES: ReadonlyMap<wire.PermissionScope, RequestedPermission['scope']> = new Map([
  [wire.PermissionScope.PERMISSION_SCOPE_ACCOUNT, 'account'],
  [wire.PermissionScope.PERMISSION_SCOPE_PROJECTS, 'projects'],
])

function permissionMessage(permission: Permission): wire.Permission {
  return permission.scope === 'account'
    ? { scope: wire.PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }
    : { scope: wire.PermissionScope.PERMISSION_SCOPE_PROJECTS, projects: [...permission.projects] }
}

export function accountMessage({ createdAtMs, ...account }: AccountRecord): wire.Account {
  return { ...account, createdAt: new Date(createdAtMs) }
}

export function projectMessage({ createdAtMs, ...project }: ProjectRecord): wire.Project {
  return { ...project, createdAt: new Date(createdAtMs) }
}

export function serviceUserMessage({
  account,
  name,
  id,
  enabled,
  permissions,
  roles,
  validator,
  createdAtMs,
}: UserRecord): wire.ServiceUser {
  return {
    account,
    name,
    id,
    enabled,
    permissions: permissions.map(permissionMessage),
    roles: [...roles],
    validator,
    createdAt: new Date(createdAtMs),
  }
}

export function controlPanelUserMessage({
  account,
  name,
  id,
  enabled,
  owner,
  roles,
  createdAtMs,
}: UserRecord): wire.ControlPanelUser {
  return { account, name, id, enabled, owner, roles: [...roles], createdAt: new Date(createdAtMs) }
}

export function staticTokenMessage({
  id,
  account,
  userName,
  name,
  lastFour,
  note,
  kind,
  createdAtMs,
  revokedAtMs,
  lastUsedDay,
}: StaticTokenRecord): wire.StaticToken {
  return {
    tokenId: id,
    account,
    userName,
    name,
    createdAt: new Date(createdAtMs),
    revokedAt: revokedAtMs === undefined ? undefined : new Date(revokedAtMs),
    lastUsedDay: lastUsedDay === undefined ? undefined : isoDate(lastUsedDay),
    ...{ lastFour, note, kind },
  }
}

export function applicationCredentialMessage({
  id,
  account,
  userName,
  name,
  description,
  project,
  roles,
  unrestricted,
  createdAtMs,
  expiresAt,
}: ApplicationCredentialRecord): wire.ApplicationCredential {
  return {
    ...{ id, account, userName, name, description, project, roles: [...roles], unrestricted },
    createdAt: new Date(createdAtMs),
    expiresAt: expiresAt && new Date(expiresAt.ms),
  }
}

export function panelTokenMessage({
  header,
  scheme,
  value,
  token,
  advice,
}: PanelToken): wire.ControlPanelUserToken {
  return {
    header,
    scheme,
    value: value.reveal(),
    kind: token.kind,
    scope: { account: token.scope.account, project: token.scope.project ?? '' },
    issuedAt: new Date(token.issuedAtMs),
    expiresAt: token.expiresAtMs === undefined ? undefined : new Date(token.expiresAtMs),
    tokenId: token.tokenId,
    advice: [...advice],
  }
}

export function panelTokenStatusMessage(
  token: PanelToken['token'] | undefined,
): wire.GetControlPanelUserTokenResponse {
  return {
    active: token !== undefined,
    tokenId: token?.tokenId ?? '',
    expiresAt: token?.expiresAtMs === undefined ? undefined : new Date(token.expiresAtMs),
  }
}

export function sessionMessage({
  id,
  createdAtMs,
  usedAtMs,
  endsAtMs,
  address,
  client,
}: PanelSession): wire.Session {
  return {
    id,
    createdAt: new Date(createdAtMs),
    lastUsedAt: new Date(usedAtMs),
    endsAt: new Date(endsAtMs),
    address,
    client,
  }
}

export function addressPreviewMessage({
  requester,
  others,
  truncated,
}: AddressPreview): wire.PreviewAddressRestrictionResponse {
  return {
    requester: { ...requester },
    others: others.map(({ lastSeenMs, ...known }) => ({ ...known, lastSeen: new Date(lastSeenMs) })),
    truncated,
  }
}

export function revocationMessage({ tokenId, revokedAtMs }: RevocationRecord): wire.Revocation {
  return { tokenId, revokedAt: new Date(revokedAtMs) }
}

export function auditMessage({
  sequence,
  atMs,
  actor,
  action,
  account,
  subject,
  subjectId,
  details,
}: AuditRecord): wire.AuditRecord {
  return { sequence, at: new Date(atMs), actor, action, account, subject, subjectId, details: { ...details } }
}
