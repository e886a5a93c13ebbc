/** `portcullis.v1.DirectoryService`: one row a call, which reads the request and writes the answer. */
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import * as wire from '../../proto/gen/portcullis/v1/directory.ts'
import {
  type Administering,
  administer,
  isRead,
  type OperationName,
  type OperationRequest,
  type OperationResult,
  requesterOf,
} from '../usecases/administration/administer.ts'
import type { Admitting, PerCall } from '../usecases/capabilities.ts'
import type { Identifying, PresentedCredentials, Requester } from '../usecases/requester.ts'
import { type Handlers, type Method, methodsOf, type UnaryMethod } from './call.ts'
import {
  accountMessage,
  addressPreviewMessage,
  applicationCredentialMessage,
  auditMessage,
  controlPanelUserMessage,
  panelTokenMessage,
  panelTokenStatusMessage,
  projectMessage,
  requestedPermissions,
  revocationMessage,
  serviceUserMessage,
  sessionMessage,
  staticTokenMessage,
} from './directory-messages.ts'
import { decoded, nameOfConnection, presentedIn, requestOf } from './handler.ts'
import { requestedMatrix, rolloutMessage } from './rollout-messages.ts'

type Service = typeof wire.DirectoryServiceService

/** How a call of this name is read and written. */
interface Row<Name extends OperationName> {
  readonly decode: (message: ReturnType<Service[Name]['requestDeserialize']>) => OperationRequest<Name>
  readonly encode: (result: OperationResult<Name>) => Parameters<Service[Name]['responseSerialize']>[0]
}

const ROWS: { readonly [Name in keyof Service]: Row<Name> } = {
  createAccount: {
    decode: ({ account }) => ({ account }),
    encode: (account) => ({ account: accountMessage(account) }),
  },
  getAccount: {
    decode: ({ account }) => ({ account }),
    encode: (account) => ({ account: accountMessage(account) }),
  },
  listAccounts: {
    decode: ({ pageSize, pageToken }) => ({ pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ accounts: items.map(accountMessage), nextPageToken }),
  },
  updateAccount: {
    decode: ({ account, enabled }) => ({ account, enabled }),
    encode: (account) => ({ account: accountMessage(account) }),
  },
  deleteAccount: {
    decode: ({ account }) => ({ account }),
    encode: ({ projects, users }) => ({ projects, users }),
  },

  createProject: {
    decode: ({ account, name }) => ({ account, name }),
    encode: (project) => ({ project: projectMessage(project) }),
  },
  getProject: {
    decode: ({ account, name }) => ({ account, name }),
    encode: (project) => ({ project: projectMessage(project) }),
  },
  listProjects: {
    decode: ({ account, pageSize, pageToken }) => ({ account, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ projects: items.map(projectMessage), nextPageToken }),
  },
  updateProject: {
    decode: ({ account, name, enabled }) => ({ account, name, enabled }),
    encode: (project) => ({ project: projectMessage(project) }),
  },
  deleteProject: {
    decode: ({ account, name }) => ({ account, name }),
    encode: () => ({}),
  },

  createServiceUser: {
    decode: ({ account, name, permissions, roles }) => ({
      account,
      name,
      permissions: requestedPermissions(permissions),
      roles,
    }),
    encode: ({ user, password }) => ({ user: serviceUserMessage(user), password: password.reveal() }),
  },
  getServiceUser: {
    decode: ({ account, name }) => ({ account, name }),
    encode: (user) => ({ user: serviceUserMessage(user) }),
  },
  listServiceUsers: {
    decode: ({ account, pageSize, pageToken }) => ({ account, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ users: items.map(serviceUserMessage), nextPageToken }),
  },
  updateServiceUser: {
    decode: ({ account, name, enabled, permissions, roles }) => ({
      account,
      name,
      enabled,
      permissions: permissions && requestedPermissions(permissions.permissions),
      roles: roles?.roles,
    }),
    encode: ({ user, credentialsEnded }) => ({ user: serviceUserMessage(user), credentialsEnded }),
  },
  deleteServiceUser: {
    decode: ({ account, name }) => ({ account, name }),
    encode: () => ({}),
  },
  replaceServiceUserPassword: {
    decode: ({ account, name }) => ({ account, name }),
    encode: ({ password }) => ({ password: password.reveal() }),
  },
  setServiceUserValidator: {
    decode: ({ account, name, validator }) => ({ account, name, validator }),
    encode: ({ user, credentialsEnded }) => ({ user: serviceUserMessage(user), credentialsEnded }),
  },

  createControlPanelUser: {
    decode: ({ account, name, owner, roles }) => ({ account, name, owner, roles }),
    encode: (user) => ({ user: controlPanelUserMessage(user) }),
  },
  getControlPanelUser: {
    decode: ({ account, name }) => ({ account, name }),
    encode: (user) => ({ user: controlPanelUserMessage(user) }),
  },
  listControlPanelUsers: {
    decode: ({ account, pageSize, pageToken }) => ({ account, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ users: items.map(controlPanelUserMessage), nextPageToken }),
  },
  updateControlPanelUser: {
    decode: ({ account, name, enabled, owner, roles }) => ({
      account,
      name,
      enabled,
      owner,
      roles: roles?.roles,
    }),
    encode: ({ user, credentialsEnded }) => ({ user: controlPanelUserMessage(user), credentialsEnded }),
  },
  deleteControlPanelUser: {
    decode: ({ account, name }) => ({ account, name }),
    encode: () => ({}),
  },
  getControlPanelUserToken: {
    decode: ({ account, name, project }) => ({ account, name, project: project || undefined }),
    encode: panelTokenStatusMessage,
  },
  copyControlPanelUserToken: {
    decode: ({ account, name, project }) => ({ account, name, project: project || undefined }),
    encode: (token) => ({ token: panelTokenMessage(token) }),
  },
  reissueControlPanelUserToken: {
    decode: ({ account, name, project }) => ({ account, name, project: project || undefined }),
    encode: (token) => ({ token: panelTokenMessage(token) }),
  },

  createInvitation: {
    decode: ({ account, userName }) => ({ account, userName }),
    encode: ({ secret, endsAtMs }) => ({ secret: secret.reveal(), expiresAt: new Date(endsAtMs) }),
  },
  listSessions: {
    decode: ({ account, userName, pageSize, pageToken }) => ({ account, userName, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ sessions: items.map(sessionMessage), nextPageToken }),
  },
  endSession: {
    decode: ({ account, userName, id }) => ({ account, userName, id }),
    encode: () => ({}),
  },

  createStaticToken: {
    decode: ({ account, userName, name, note }) => ({ account, userName, name, note }),
    encode: ({ token, header, scheme, value }) => ({
      token: staticTokenMessage(token),
      header,
      scheme,
      value: value.reveal(),
    }),
  },
  listStaticTokens: {
    decode: ({ account, userName, pageSize, pageToken }) => ({ account, userName, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ tokens: items.map(staticTokenMessage), nextPageToken }),
  },
  revokeStaticToken: {
    decode: ({ account, userName, name }) => ({ account, userName, name }),
    encode: (token) => ({ token: staticTokenMessage(token) }),
  },
  listApplicationCredentials: {
    decode: ({ account, userName, pageSize, pageToken }) => ({ account, userName, pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({
      credentials: items.map(applicationCredentialMessage),
      nextPageToken,
    }),
  },
  deleteApplicationCredential: {
    decode: ({ account, userName, id }) => ({ account, userName, id }),
    encode: () => ({}),
  },

  getAddressRestriction: {
    decode: ({ account }) => ({ account }),
    encode: ({ ranges }) => ({ ranges: [...ranges] }),
  },
  setAddressRestriction: {
    decode: ({ account, ranges, allowExcludingRequester }) => ({ account, ranges, allowExcludingRequester }),
    encode: ({ ranges }) => ({ ranges: [...ranges] }),
  },
  previewAddressRestriction: {
    decode: ({ account, ranges }) => ({ account, ranges }),
    encode: addressPreviewMessage,
  },

  listRevocations: {
    decode: ({ pageSize, pageToken }) => ({ pageSize, pageToken }),
    encode: ({ items, nextPageToken }) => ({ revocations: items.map(revocationMessage), nextPageToken }),
  },
  listAuditRecords: {
    decode: ({ account, since, until, ...request }) => ({
      ...request,
      account: account || undefined,
      sinceMs: since?.getTime(),
      untilMs: until?.getTime(),
    }),
    encode: ({ items, nextPageToken }) => ({ records: items.map(auditMessage), nextPageToken }),
  },

  getMatrixRollout: {
    decode: ({ matrices, toDigest }) => ({ matrices, toDigest }),
    encode: rolloutMessage,
  },
  promoteMatrix: {
    decode: ({ shadowDigest, digest, reason }) => ({ shadowDigest, digest, reason }),
    encode: () => ({}),
  },
  rollBackMatrix: {
    decode: ({ digest, reason, to }) => ({ digest, reason, to: requestedMatrix(to) }),
    encode: () => ({}),
  },
}

export type DirectoryServices = PerCall<Identifying & Administering> & Admitting

/** The methods of the service. @param reachable whether other machines can reach the listener */
export function directoryMethods(services: DirectoryServices, reachable: boolean): [path: string, Method][] {
  const names = Object.keys(ROWS) as OperationName[]
  const handlers = names.map((name) => [name, directoryHandler(services, reachable, name)])
  return methodsOf(wire.DirectoryServiceService, Object.fromEntries(handlers) as Handlers<Service>)
}

function directoryHandler<Name extends OperationName>(
  services: DirectoryServices,
  reachable: boolean,
  operation: Name,
): UnaryMethod {
  const { decode, encode } = ROWS[operation] as Row<Name>
  const { requestDeserialize, responseSerialize } = codecOf(operation)
  return async (bytes, context) => {
    const presented = presentedIn(context, reachable)
    let requester: Requester | undefined
    try {
      await services.intake.turn(nameOfConnection(context), presented)
      const current = services.forCall()
      requester = await requesterOf(current, operation, presented)
      const request = decode(decoded(bytes, requestDeserialize))
      const result = await administer(current, { requester, operation, request })
      if (!isRead(operation)) traceChange(services, presented, requester, operation)
      return responseSerialize(encode(result))
    } catch (error) {
      services.trace.refused(
        'an administrative call was refused',
        error,
        { ...presented.from, ...namesOf(requester) },
        () => ({ operation, ...requestOf(presented) }),
      )
      throw error
    }
  }
}

/** A change has its record in the audit trail. The line joins it with the client's id of the request. */
function traceChange(
  { trace }: Admitting,
  presented: PresentedCredentials,
  requester: Requester,
  operation: OperationName,
): void {
  trace.record({
    level: 'info',
    message: 'the directory was changed',
    by: { ...presented.from, ...namesOf(requester), operation },
    details: () => requestOf(presented),
    lines: CHANGE_LINES,
  })
}

/** How many changes of one sort by one requester have a line of their own each minute. */
const CHANGE_LINES = 10

/** Who asked, for the log. */
function namesOf(requester: Requester | undefined): { readonly [name: string]: string } {
  if (requester === undefined) return {}
  const { session } = requester
  const bySession = session === undefined ? {} : { session_id: session.id }
  if (requester.type === 'operator') return { caller: requester.caller.name, ...bySession }
  const { user, token } = requester
  return { user: user.id, account: user.account, ...(token && { token_id: token.tokenId }), ...bySession }
}

/** Generated code that reads and writes a call of this name. */
interface Codec<Name extends OperationName> {
  readonly requestDeserialize: (reader: BinaryReader) => Parameters<Row<Name>['decode']>[0]
  readonly responseSerialize: (message: ReturnType<Row<Name>['encode']>) => Buffer
}

/**
 * TypeScript does not see that the method of a name has the messages of that name, nor that the code reads a
 * reader too.
 */
function codecOf<Name extends OperationName>(name: Name): Codec<Name> {
  return wire.DirectoryServiceService[name] as unknown as Codec<Name>
}
