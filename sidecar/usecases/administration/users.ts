/** Operations on service users and control panel users. */
import { checkName } from '../../authority/names.ts'
import { invalidArgument } from '../../base/call-error.ts'
import type { DirectoryChange } from '../../directory/change.ts'
import { administersAccount, type Permission, type UserRecord } from '../../directory/directory.ts'
import { listIn, userIn } from '../../directory/found.ts'
import type { ListRequest } from './accounts.ts'
import { changing, listing, reading } from './operation.ts'
import {
  CONTROL_PANEL_USER,
  NAMED_ACCOUNT,
  type NamedRequest,
  NEW_CONTROL_PANEL_USER,
  SERVICE_USER,
  WITHIN_ACCOUNT,
} from './subject.ts'

/** A permission as a request has it, which may not be one yet. */
export interface RequestedPermission {
  readonly scope: Permission['scope'] | undefined
  /** Default: none. */
  readonly projects?: readonly string[]
}

export interface NewServiceUserRequest extends NamedRequest {
  readonly permissions: readonly RequestedPermission[]
  /** Default: none. */
  readonly roles?: readonly string[]
}

/** An `undefined` field stays as it is. */
export interface ServiceUserUpdate extends NamedRequest {
  readonly enabled?: boolean | undefined
  readonly permissions?: readonly RequestedPermission[] | undefined
  readonly roles?: readonly string[] | undefined
}

export interface ValidatorRequest extends NamedRequest {
  readonly validator: boolean
}

export interface NewControlPanelUserRequest extends NamedRequest {
  /** Default: no. */
  readonly owner?: boolean
  /** Default: none. */
  readonly roles?: readonly string[]
}

/** An `undefined` field stays as it is. */
export interface ControlPanelUserUpdate extends NamedRequest {
  readonly enabled?: boolean | undefined
  readonly owner?: boolean | undefined
  readonly roles?: readonly string[] | undefined
}

/** A user after a change. */
export interface ChangedUser {
  readonly user: UserRecord
  /** Whether the user's rights rose: then what they logged in with before has ended. */
  readonly credentialsEnded: boolean
}

export const SERVICE_USER_OPERATIONS = {
  createServiceUser: changing<NewServiceUserRequest>()({
    need: 'account_administrator',
    subject: WITHIN_ACCOUNT,
    proof: true,
    creates: ({ name }) => `user \`${name}\``,
    prepare: async ({ administration, author }, { name, permissions, roles = [] }) => {
      const granted = permissionsOf('permissions', permissions)
      checkName('name', name)
      checkRoles(roles)
      checkPermissions(granted)
      return { granted, ...(await administration.secrets.newPassword(author.principal)) }
    },
    work: async ({ change, subject, ready }, { account, name, roles = [] }) => {
      const { granted, password, hash } = ready
      const id = await change.createUser(subject, { name, type: 'service_user', passwordHash: hash })
      await change.setPermissions({ id, account, name }, granted)
      return { user: await withRoles(change, id, roles), password }
    },
  }),
  getServiceUser: reading<NamedRequest>()({
    need: 'account_administrator',
    subject: SERVICE_USER,
    work: ({ subject }) => subject,
  }),
  listServiceUsers: listing<ListRequest>()({
    need: 'account_administrator',
    subject: NAMED_ACCOUNT,
    page: ({ records }, page, { account }) =>
      listIn(records, account, records.users(account, 'service_user', page)),
    key: ({ name }) => name,
  }),
  updateServiceUser: changing<ServiceUserUpdate>()({
    need: 'account_administrator',
    subject: SERVICE_USER,
    forOperators: (user, { enabled }) => user.validator && enabled === true,
    proof: makesAdministrator,
    revokes: onlyDisables,
    prepare: (_, { permissions, roles = [] }) => {
      const granted = permissions && permissionsOf('permissions.permissions', permissions)
      checkRoles(roles)
      // Survives: `[]` → `["Stryker was here"]`. A text has no scope, so it selects no project.
      checkPermissions(granted ?? [])
      return granted
    },
    work: async ({ change, subject, ready: granted }, { enabled, roles }) => {
      await setEnabled(change, subject, enabled)
      if (granted !== undefined) await change.setPermissions(subject, granted)
      const risen = roles !== undefined && (await change.setRoles(subject, roles))
      return changed(change, subject, risen)
    },
  }),
  deleteServiceUser: changing<NamedRequest>()({
    need: 'account_administrator',
    subject: SERVICE_USER,
    revokes: () => true,
    work: ({ change, subject }) => change.deleteUser(subject),
  }),
  /** The new password (§5.1) is in this answer alone. The user's tokens are revoked. */
  replaceServiceUserPassword: changing<NamedRequest>()({
    need: 'account_administrator',
    subject: SERVICE_USER,
    proof: true,
    forOperators: (user) => user.validator,
    prepare: ({ administration, author }) => administration.secrets.newPassword(author.principal),
    work: async ({ change, subject, ready: { password, hash } }) => {
      await change.setPassword(subject, hash)
      return { password }
    },
  }),
  /** Says whether a service user may validate the tokens of every account. */
  setServiceUserValidator: changing<ValidatorRequest>()({
    need: 'operator',
    subject: SERVICE_USER,
    work: async ({ change, subject }, { validator }) => {
      const risen = subject.validator !== validator && (await change.setValidator(subject, validator))
      return changed(change, subject, risen)
    },
  }),
}

export const CONTROL_PANEL_USER_OPERATIONS = {
  createControlPanelUser: changing<NewControlPanelUserRequest>()({
    need: 'account_administrator',
    subject: NEW_CONTROL_PANEL_USER,
    forOwners: { request: ({ owner = false }) => owner },
    proof: makesAdministrator,
    creates: ({ name }) => `user \`${name}\``,
    prepare: (_, { name, roles = [] }) => {
      checkName('name', name)
      checkRoles(roles)
    },
    work: async ({ change, subject }, { name, owner = false, roles = [] }) =>
      withRoles(change, await change.createUser(subject, { name, type: 'control_panel_user', owner }), roles),
  }),
  getControlPanelUser: reading<NamedRequest>()({
    need: 'self_or_account_administrator',
    subject: CONTROL_PANEL_USER,
    work: ({ subject }) => subject,
  }),
  listControlPanelUsers: listing<ListRequest>()({
    need: 'account_administrator',
    subject: NAMED_ACCOUNT,
    page: ({ records }, page, { account }) =>
      listIn(records, account, records.users(account, 'control_panel_user', page)),
    key: ({ name }) => name,
  }),
  updateControlPanelUser: changing<ControlPanelUserUpdate>()({
    need: 'account_administrator',
    subject: CONTROL_PANEL_USER,
    revokes: onlyDisables,
    forOwners: { user: (user, { owner }) => user.owner || owner !== undefined },
    proof: makesAdministrator,
    prepare: (_, { roles = [] }) => checkRoles(roles),
    work: async ({ change, subject }, { enabled, owner, roles }) => {
      await setEnabled(change, subject, enabled)
      const asOwner =
        owner !== undefined && owner !== subject.owner && (await change.setOwner(subject, owner))
      const asHolder = roles !== undefined && (await change.setRoles(subject, roles))
      return changed(change, subject, asOwner || asHolder)
    },
  }),
  deleteControlPanelUser: changing<NamedRequest>()({
    need: 'account_administrator',
    subject: CONTROL_PANEL_USER,
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    work: ({ change, subject }) => change.deleteUser(subject),
  }),
}

/** A user who was just created, with their roles. */
async function withRoles(change: DirectoryChange, id: string, roles: readonly string[]): Promise<UserRecord> {
  // The user was created in this transaction.
  const created = (await change.records.userById(id)) as UserRecord
  // Survives: `roles.length === 0` → `false`. It only spares statements that change nothing.
  if (roles.length === 0) return created
  await change.setRoles(created, roles)
  return (await change.records.userById(id)) as UserRecord
}

/** @param enabled `undefined`: it stays as it is */
async function setEnabled(
  change: DirectoryChange,
  user: UserRecord,
  enabled: boolean | undefined,
): Promise<void> {
  if (enabled === undefined) return
  if (enabled !== user.enabled) await change.setUserEnabled(user, enabled)
  else change.writer.repeat(`${user.type}.enable`, user)
}

async function changed(
  { records }: DirectoryChange,
  { account, name, type }: UserRecord,
  credentialsEnded: boolean,
): Promise<ChangedUser> {
  return { user: await userIn(records, account, name, type), credentialsEnded }
}

/**
 * Whether a request makes a user administer the account: a thief of a session must not stay in the account by
 * another user.
 */
function makesAdministrator({
  owner = false,
  // Survives: `[]` → `["Stryker was here"]`. No role of that name administers an account.
  roles = [],
}: {
  readonly owner?: boolean | undefined
  readonly roles?: readonly string[] | undefined
}): boolean {
  return administersAccount({ owner, roles })
}

/** Whether an update does nothing but disable. */
function onlyDisables(update: { readonly enabled?: boolean | undefined }): boolean {
  const { enabled, ...others } = update
  const { account: _account, name: _name, ...changes } = others as Partial<NamedRequest>
  return enabled === false && Object.values(changes).every((value) => value === undefined)
}

/**
 * @param path of the permissions in the contract's request
 * @throws CallError that names the one that is not one
 */
function permissionsOf(path: string, requested: readonly RequestedPermission[]): Permission[] {
  return requested.map(({ scope, projects = [] }, index) => {
    if (scope === 'account' && projects.length === 0) return { scope }
    if (scope === 'projects' && projects.length > 0) return { scope, projects }
    throw invalidArgument({
      field: `${path}[${index}]`,
      expected: 'scope ACCOUNT without projects, or scope PROJECTS with one or more',
    })
  })
}

/** How many roles a user can have. */
const ROLES_MAX = 100

/** How many projects a user's permissions can select. */
const SELECTED_PROJECTS_MAX = 1000

/**
 * @throws CallError where there are more than any user needs: each is a row, and the audit trail records all
 *   of them
 */
function checkPermissions(permissions: readonly Permission[]): void {
  const selected = permissions.flatMap((permission) =>
    permission.scope === 'projects' ? permission.projects : [],
  )
  if (selected.length > SELECTED_PROJECTS_MAX)
    throw invalidArgument({
      field: 'permissions',
      expected: `at most ${SELECTED_PROJECTS_MAX} projects selected, not ${selected.length}`,
    })
}

/** @throws CallError where there are too many, or one is not the name of a role */
function checkRoles(roles: readonly string[]): void {
  if (roles.length > ROLES_MAX)
    throw invalidArgument({ field: 'roles', expected: `at most ${ROLES_MAX} roles, not ${roles.length}` })
  for (const [index, role] of roles.entries())
    if (!/^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$/.test(role) || role.length > 64)
      throw invalidArgument({
        field: `roles[${index}]`,
        expected: 'the name of a role, for example iam.admin',
      })
}
