/** `portcullis.v1.DirectoryService`: one row a call: what it needs, and what it does. */
import type { AccountRecord, Page } from '../authority/administration.ts'
import * as wire from '../gen/portcullis/v1/directory.ts'
import { actorOf, authorize, authorizeAsOwner, identify } from '../usecases/directory.ts'
import type { Services } from '../usecases/services.ts'
import { type Call, call } from './directory-call.ts'
import {
  accountMessage,
  auditMessage,
  controlPanelUserMessage,
  panelTokenMessage,
  permissionsOf,
  projectMessage,
  serviceUserMessage,
  staticTokenMessage,
} from './directory-messages.ts'
import { passThrough, peerAddress, type UnaryHandlers, unaryHandler } from './handler.ts'
import { paged } from './paging.ts'

export const directoryService = passThrough(wire.DirectoryServiceService)

const CALLS: { readonly [Name in keyof typeof wire.DirectoryServiceService]: Call } = {
  createAccount: call(
    'operator',
    wire.CreateAccountRequest,
    wire.CreateAccountResponse,
    async ({ account }, { administration, actor }) => ({
      account: accountMessage(await administration.createAccount(actor, account)),
    }),
  ),
  getAccount: call(
    'administrator',
    wire.GetAccountRequest,
    wire.GetAccountResponse,
    async ({ account }, { administration }) => ({
      account: accountMessage(await administration.account(account)),
    }),
  ),
  listAccounts: call(
    'operator',
    wire.ListAccountsRequest,
    wire.ListAccountsResponse,
    async (request, { administration }) => {
      const [accounts, nextPageToken] = await paged(
        request,
        (page) => administration.accounts(page),
        accountOf,
      )
      return { accounts: accounts.map(accountMessage), nextPageToken }
    },
  ),
  updateAccount: call(
    'operator',
    wire.UpdateAccountRequest,
    wire.UpdateAccountResponse,
    async ({ account, enabled }, { administration, actor }) => ({
      account: accountMessage(
        enabled === undefined
          ? await administration.account(account)
          : await administration.setAccountEnabled(actor, account, enabled),
      ),
    }),
  ),
  deleteAccount: call(
    'operator',
    wire.DeleteAccountRequest,
    wire.DeleteAccountResponse,
    ({ account }, { administration, actor }) => administration.deleteAccount(actor, account),
  ),

  createProject: call(
    'administrator',
    wire.CreateProjectRequest,
    wire.CreateProjectResponse,
    async ({ account, name }, { administration, actor }) => ({
      project: projectMessage(await administration.createProject(actor, account, name)),
    }),
  ),
  getProject: call(
    'administrator',
    wire.GetProjectRequest,
    wire.GetProjectResponse,
    async ({ account, name }, { administration }) => ({
      project: projectMessage(await administration.project(account, name)),
    }),
  ),
  listProjects: call(
    'administrator',
    wire.ListProjectsRequest,
    wire.ListProjectsResponse,
    async (request, { administration }) => {
      const [projects, nextPageToken] = await paged(
        request,
        (page) => administration.projects(request.account, page),
        nameOf,
      )
      return { projects: projects.map(projectMessage), nextPageToken }
    },
  ),
  updateProject: call(
    'administrator',
    wire.UpdateProjectRequest,
    wire.UpdateProjectResponse,
    async ({ account, name, enabled }, { administration, actor }) => ({
      project: projectMessage(
        enabled === undefined
          ? await administration.project(account, name)
          : await administration.setProjectEnabled(actor, account, name, enabled),
      ),
    }),
  ),
  deleteProject: call(
    'administrator',
    wire.DeleteProjectRequest,
    wire.DeleteProjectResponse,
    async ({ account, name }, { administration, actor }) => {
      await administration.deleteProject(actor, account, name)
      return {}
    },
  ),

  createServiceUser: call(
    'administrator',
    wire.CreateServiceUserRequest,
    wire.CreateServiceUserResponse,
    async ({ account, name, permissions, roles }, { administration, actor }) => {
      const created = await administration.createServiceUser(actor, account, {
        name,
        permissions: permissionsOf('permissions', permissions),
        roles,
      })
      return { user: serviceUserMessage(created.user), password: created.password.reveal() }
    },
  ),
  getServiceUser: call(
    'administrator',
    wire.GetServiceUserRequest,
    wire.GetServiceUserResponse,
    async ({ account, name }, { administration }) => ({
      user: serviceUserMessage(await administration.user(account, name, 'service_user')),
    }),
  ),
  listServiceUsers: call(
    'administrator',
    wire.ListServiceUsersRequest,
    wire.ListServiceUsersResponse,
    async (request, { administration }) => {
      const list = (page: Page) => administration.users(request.account, 'service_user', page)
      const [users, nextPageToken] = await paged(request, list, nameOf)
      return { users: users.map(serviceUserMessage), nextPageToken }
    },
  ),
  updateServiceUser: call(
    'administrator',
    wire.UpdateServiceUserRequest,
    wire.UpdateServiceUserResponse,
    async ({ account, name, enabled, permissions, roles }, { administration, actor }) => ({
      user: serviceUserMessage(
        await administration.updateUser(actor, account, name, 'service_user', {
          enabled,
          permissions: permissions && permissionsOf('permissions.permissions', permissions.permissions),
          roles: roles?.roles,
        }),
      ),
    }),
  ),
  deleteServiceUser: call(
    'administrator',
    wire.DeleteServiceUserRequest,
    wire.DeleteServiceUserResponse,
    async ({ account, name }, { administration, actor }) => {
      await administration.deleteUser(actor, account, name, 'service_user')
      return {}
    },
  ),
  replaceServiceUserPassword: call(
    'administrator',
    wire.ReplaceServiceUserPasswordRequest,
    wire.ReplaceServiceUserPasswordResponse,
    async ({ account, name }, { administration, actor }) => ({
      password: (await administration.replacePassword(account, name, actor)).value,
    }),
  ),

  createControlPanelUser: call(
    'administrator',
    wire.CreateControlPanelUserRequest,
    wire.CreateControlPanelUserResponse,
    async ({ account, name, owner, roles }, { administration, actor, principal }) => {
      if (owner) authorizeAsOwner(principal)
      const user = await administration.createControlPanelUser(actor, account, { name, owner, roles })
      return { user: controlPanelUserMessage(user) }
    },
  ),
  getControlPanelUser: call(
    'self_or_administrator',
    wire.GetControlPanelUserRequest,
    wire.GetControlPanelUserResponse,
    async ({ account, name }, { administration }) => ({
      user: controlPanelUserMessage(await administration.user(account, name, 'control_panel_user')),
    }),
  ),
  listControlPanelUsers: call(
    'administrator',
    wire.ListControlPanelUsersRequest,
    wire.ListControlPanelUsersResponse,
    async (request, { administration }) => {
      const list = (page: Page) => administration.users(request.account, 'control_panel_user', page)
      const [users, nextPageToken] = await paged(request, list, nameOf)
      return { users: users.map(controlPanelUserMessage), nextPageToken }
    },
  ),
  updateControlPanelUser: call(
    'administrator',
    wire.UpdateControlPanelUserRequest,
    wire.UpdateControlPanelUserResponse,
    async ({ account, name, enabled, owner, roles }, { administration, actor, principal }) => {
      const to = { enabled, owner, roles: roles?.roles }
      const user = await administration.updateUser(
        actor,
        account,
        name,
        'control_panel_user',
        to,
        (before) => {
          if (before.owner || owner !== undefined) authorizeAsOwner(principal)
        },
      )
      return { user: controlPanelUserMessage(user) }
    },
  ),
  deleteControlPanelUser: call(
    'administrator',
    wire.DeleteControlPanelUserRequest,
    wire.DeleteControlPanelUserResponse,
    async ({ account, name }, { administration, actor, principal }) => {
      await administration.deleteUser(actor, account, name, 'control_panel_user', ({ owner }) => {
        if (owner) authorizeAsOwner(principal)
      })
      return {}
    },
  ),
  copyControlPanelUserToken: call(
    'self',
    wire.CopyControlPanelUserTokenRequest,
    wire.CopyControlPanelUserTokenResponse,
    async ({ account, name, project }, { administration, actor, services }) => ({
      token: panelTokenMessage(
        services,
        await administration.copyPanelToken(actor, account, name, project || undefined),
      ),
    }),
  ),
  reissueControlPanelUserToken: call(
    'self',
    wire.ReissueControlPanelUserTokenRequest,
    wire.ReissueControlPanelUserTokenResponse,
    async ({ account, name, project }, { administration, actor, services }) => ({
      token: panelTokenMessage(
        services,
        await administration.reissuePanelToken(actor, account, name, project || undefined),
      ),
    }),
  ),

  createStaticToken: call(
    'self',
    wire.CreateStaticTokenRequest,
    wire.CreateStaticTokenResponse,
    async ({ account, userName, name }, { administration, actor, services }) => {
      const { token, kind, value } = await administration.createStaticToken(actor, account, userName, name)
      const header = services.rules.engine.tokenKinds.get(kind)?.header ?? ''
      return { token: staticTokenMessage(token), header, value: value.reveal() }
    },
  ),
  listStaticTokens: call(
    'self_or_administrator',
    wire.ListStaticTokensRequest,
    wire.ListStaticTokensResponse,
    async (request, { administration }) => {
      const list = (page: Page) => administration.staticTokens(request.account, request.userName, page)
      const [tokens, nextPageToken] = await paged(request, list, ({ id }) => id)
      return { tokens: tokens.map(staticTokenMessage), nextPageToken }
    },
  ),
  revokeStaticToken: call(
    'self_or_administrator',
    wire.RevokeStaticTokenRequest,
    wire.RevokeStaticTokenResponse,
    async ({ account, userName, name }, { administration, actor }) => ({
      token: staticTokenMessage(await administration.revokeStaticToken(actor, account, userName, name)),
    }),
  ),

  getAddressRestriction: call(
    'administrator',
    wire.GetAddressRestrictionRequest,
    wire.GetAddressRestrictionResponse,
    async ({ account }, { administration }) => ({ ranges: await administration.addressRestriction(account) }),
  ),
  setAddressRestriction: call(
    'administrator',
    wire.SetAddressRestrictionRequest,
    wire.SetAddressRestrictionResponse,
    async ({ account, ranges }, { administration, actor }) => ({
      ranges: await administration.setAddressRestriction(actor, account, ranges),
    }),
  ),

  listRevocations: call(
    'operator',
    wire.ListRevocationsRequest,
    wire.ListRevocationsResponse,
    async (request, { administration }) => {
      const [found, nextPageToken] = await paged(request, (page) => administration.revocations(page), idOf)
      const revocations = found.map(({ tokenId, revokedAtMs }) => ({
        tokenId,
        revokedAt: new Date(revokedAtMs),
      }))
      return { revocations, nextPageToken }
    },
  ),
  listAuditRecords: call(
    'administrator',
    wire.ListAuditRecordsRequest,
    wire.ListAuditRecordsResponse,
    async (request, { administration, principal }) => {
      // What an account of that number did before this one is nothing to its users.
      const earlier = principal.type === 'operator'
      const list = (page: Page) => administration.audit(request.account, page, earlier)
      const [records, nextPageToken] = await paged(request, list, ({ sequence }) => String(sequence))
      return { records: records.map(auditMessage), nextPageToken }
    },
  ),
}

/** The handlers of the service. @param reachable whether other machines can reach the listener */
export function directoryHandlers(services: Services, reachable: boolean): UnaryHandlers {
  const { rules, authority, administration, callers, log } = services
  return Object.fromEntries(
    Object.entries(CALLS).map(([name, { need, run }]) => [
      name,
      unaryHandler(log, async (bytes, metadata, call) => {
        const principal = await identify(
          { engine: rules.engine, authority, administration, callers },
          {
            authorization: metadata.get('authorization').map(String),
            iamToken: metadata.get('x-auth-token').map(String),
            // An account that restricts addresses lets this machine in by listing it; a Unix socket is this machine.
            clientAddress: peerAddress(call) ?? (reachable ? undefined : '127.0.0.1'),
          },
        )
        return run(bytes, (account, holder) => {
          authorize(principal, need, account, holder)
          return { administration, principal, actor: actorOf(principal), services }
        })
      }),
    ]),
  )
}

const accountOf = ({ account }: AccountRecord): string => account
const nameOf = ({ name }: { readonly name: string }): string => name
const idOf = ({ tokenId }: { readonly tokenId: string }): string => tokenId
