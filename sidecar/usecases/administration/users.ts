/** Operations on service users and control panel users. */
import {
  administersAccount,
  type Permission,
  type UserRecord,
} from '../../authority/administration/administration.ts'
import type { ChangedUser } from '../../authority/administration/users.ts'
import { invalidArgument } from '../../base/call-error.ts'
import type { Secret } from '../../base/secret.ts'
import type { ListRequest, NamedRequest } from './accounts.ts'
import { operation } from './operation.ts'
import { type Listed, paged } from './paging.ts'

/** A permission as a request has it, which may not be one yet. */
export interface RequestedPermission {
  readonly scope: Permission['scope'] | undefined
  readonly projects: readonly string[]
}

export interface NewServiceUserRequest extends NamedRequest {
  readonly permissions: readonly RequestedPermission[]
  readonly roles: readonly string[]
}

/** What is `undefined` stays as it is. */
export interface ServiceUserUpdate extends NamedRequest {
  readonly enabled: boolean | undefined
  readonly permissions: readonly RequestedPermission[] | undefined
  readonly roles: readonly string[] | undefined
}

export interface ValidatorRequest extends NamedRequest {
  readonly validator: boolean
}

export interface NewControlPanelUserRequest extends NamedRequest {
  readonly owner: boolean
  readonly roles: readonly string[]
}

/** What is `undefined` stays as it is. */
export interface ControlPanelUserUpdate extends NamedRequest {
  readonly enabled: boolean | undefined
  readonly owner: boolean | undefined
  readonly roles: readonly string[] | undefined
}

export const SERVICE_USER_OPERATIONS = {
  createServiceUser: operation<
    NewServiceUserRequest,
    { readonly user: UserRecord; readonly password: Secret }
  >({
    need: 'account_administrator',
    proof: true,
    about: ({ account }) => ({ account }),
    work: async ({ administration, actor }, { account, name, permissions, roles }) =>
      administration.users.createServiceUser(actor, account, {
        name,
        permissions: permissionsOf('permissions', permissions),
        roles,
      }),
  }),
  getServiceUser: operation<NamedRequest, UserRecord>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, { account, name }) => administration.users.get(account, name, 'service_user'),
  }),
  listServiceUsers: operation<ListRequest, Listed<UserRecord>>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.users.list(request.account, 'service_user', page),
        ({ name }) => name,
      ),
  }),
  updateServiceUser: operation<ServiceUserUpdate, ChangedUser>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    forOperators: (user, { enabled }) => user.validator && enabled === true,
    proof: makesAdministrator,
    revokes: onlyDisables,
    work: async ({ administration, actor }, { account, name, enabled, permissions, roles }) =>
      administration.users.update(actor, account, name, 'service_user', {
        enabled,
        permissions: permissions && permissionsOf('permissions.permissions', permissions),
        roles,
      }),
  }),
  deleteServiceUser: operation<NamedRequest, void>({
    need: 'account_administrator',
    about: ({ account }) => ({ account }),
    revokes: () => true,
    work: ({ administration, actor }, { account, name }) =>
      administration.users.delete(actor, account, name, 'service_user'),
  }),
  replaceServiceUserPassword: operation<NamedRequest, { readonly password: Secret }>({
    need: 'account_administrator',
    proof: true,
    about: ({ account }) => ({ account }),
    forOperators: (user) => user.validator,
    work: async ({ administration, actor }, { account, name }) => {
      const { value } = await administration.users.replacePassword(actor, account, name)
      return { password: value }
    },
  }),
  setServiceUserValidator: operation<ValidatorRequest, ChangedUser>({
    need: 'operator',
    about: ({ account }) => ({ account }),
    work: ({ administration, actor }, { account, name, validator }) =>
      administration.users.setValidator(actor, account, name, validator),
  }),
}

export const CONTROL_PANEL_USER_OPERATIONS = {
  createControlPanelUser: operation<NewControlPanelUserRequest, UserRecord>({
    need: 'account_administrator',
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    forOwners: { request: ({ owner }) => owner },
    proof: makesAdministrator,
    work: ({ administration, actor }, { account, name, owner, roles }) =>
      administration.users.createControlPanelUser(actor, account, { name, owner, roles }),
  }),
  getControlPanelUser: operation<NamedRequest, UserRecord>({
    need: 'self_or_account_administrator',
    reads: true,
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    work: ({ administration }, { account, name }) =>
      administration.users.get(account, name, 'control_panel_user'),
  }),
  listControlPanelUsers: operation<ListRequest, Listed<UserRecord>>({
    need: 'account_administrator',
    reads: true,
    about: ({ account }) => ({ account }),
    work: ({ administration }, request) =>
      paged(
        request,
        (page) => administration.users.list(request.account, 'control_panel_user', page),
        ({ name }) => name,
      ),
  }),
  updateControlPanelUser: operation<ControlPanelUserUpdate, ChangedUser>({
    need: 'account_administrator',
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    revokes: onlyDisables,
    forOwners: { user: (user, { owner }) => user.owner || owner !== undefined },
    proof: makesAdministrator,
    work: ({ administration, actor }, { account, name, enabled, owner, roles }) =>
      administration.users.update(actor, account, name, 'control_panel_user', { enabled, owner, roles }),
  }),
  deleteControlPanelUser: operation<NamedRequest, void>({
    need: 'account_administrator',
    about: ({ account, name }) => ({ account, controlPanelUser: name }),
    revokes: () => true,
    forOwners: { user: (user) => user.owner },
    work: ({ administration, actor }, { account, name }) =>
      administration.users.delete(actor, account, name, 'control_panel_user'),
  }),
}

/**
 * Whether a request has somebody administer the account: who takes over a session must not stay in it by
 * another user.
 */
function makesAdministrator({
  owner = false,
  roles = [],
}: {
  readonly owner?: boolean | undefined
  readonly roles?: readonly string[] | undefined
}): boolean {
  return administersAccount({ owner, roles })
}

/** Whether an update does nothing but disable. */
function onlyDisables(update: { readonly enabled: boolean | undefined }): boolean {
  const { enabled, ...others } = update
  const { account: _account, name: _name, ...changes } = others as Partial<NamedRequest>
  return enabled === false && Object.values(changes).every((value) => value === undefined)
}

/**
 * @param path of the permissions in the contract's request
 * @throws CallError that names the one that is not one
 */
function permissionsOf(path: string, requested: readonly RequestedPermission[]): Permission[] {
  return requested.map(({ scope, projects }, index) => {
    if (scope === 'account' && projects.length === 0) return { scope }
    if (scope === 'projects' && projects.length > 0) return { scope, projects }
    throw invalidArgument({
      field: `${path}[${index}]`,
      expected: 'scope ACCOUNT without projects, or scope PROJECTS with one or more',
    })
  })
}
