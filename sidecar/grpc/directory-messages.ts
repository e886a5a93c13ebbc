/** Records of the directory: values → wire, and permissions back. */

import type {
  AccountRecord,
  AuditRecord,
  Permission,
  ProjectRecord,
  StaticTokenRecord,
  UserRecord,
} from '../authority/administration.ts'
import type { IssuedToken } from '../authority/authority.ts'
import { invalidArgument } from '../base/call-error.ts'
import * as wire from '../gen/portcullis/v1/directory.ts'
import type { Services } from '../usecases/services.ts'

export function permissionsOf(path: string, permissions: readonly wire.Permission[]): Permission[] {
  return permissions.map(({ scope, projects }, index) => {
    if (scope === wire.PermissionScope.PERMISSION_SCOPE_ACCOUNT && projects.length === 0)
      return { scope: 'account' }
    if (scope === wire.PermissionScope.PERMISSION_SCOPE_PROJECTS && projects.length > 0)
      return { scope: 'projects', projects }
    throw invalidArgument({
      field: `${path}[${index}]`,
      expected: 'scope ACCOUNT without projects, or scope PROJECTS with one or more',
    })
  })
}

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
  createdAtMs,
}: UserRecord): wire.ServiceUser {
  return {
    account,
    name,
    id,
    enabled,
    permissions: permissions.map(permissionMessage),
    roles: [...roles],
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
  createdAtMs,
  revokedAtMs,
}: StaticTokenRecord): wire.StaticToken {
  return {
    tokenId: id,
    account,
    userName,
    name,
    createdAt: new Date(createdAtMs),
    revokedAt: revokedAtMs === undefined ? undefined : new Date(revokedAtMs),
  }
}

/** With the advice that decisions on it will carry. */
export function panelTokenMessage(
  { rules }: Services,
  { value, token }: IssuedToken,
): wire.ControlPanelUserToken {
  const { engine } = rules
  const [api = ''] = engine.apis.keys()
  const { advice } = engine.decide({ api, kind: token.kind, scope: token.scope, holder: token.subject.type })
  return {
    header: engine.tokenKinds.get(token.kind)?.header ?? '',
    value: value.reveal(),
    kind: token.kind,
    scope: { account: token.scope.account, project: token.scope.project ?? '' },
    issuedAt: new Date(token.issuedAtMs),
    expiresAt: token.expiresAtMs === undefined ? undefined : new Date(token.expiresAtMs),
    tokenId: token.tokenId,
    advice: [...advice],
  }
}

export function auditMessage({
  sequence,
  atMs,
  actor,
  action,
  account,
  subject,
  details,
}: AuditRecord): wire.AuditRecord {
  return { sequence, at: new Date(atMs), actor, action, account, subject, details: { ...details } }
}
