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

type Message<Name extends OperationName> = ReturnType<Service[Name]['requestDeserialize']>
type Decode<Name extends OperationName> = (message: Message<Name>) => OperationRequest<Name>
type Encode<Name extends OperationName> = (
  result: OperationResult<Name>,
) => Parameters<Service[Name]['responseSerialize']>[0]

/** The messages that are not the request of their operation as they are. */
const DECODE: {
  readonly [Name in keyof Service as Message<Name> extends OperationRequest<Name>
    ? never
    : Name]: Decode<Name>
} = {
  createServiceUser: ({ permissions, ...request }) => ({
    ...request,
    permissions: requestedPermissions(permissions),
  }),
  updateServiceUser: ({ permissions, roles, ...request }) => ({
    ...request,
    permissions: permissions && requestedPermissions(permissions.permissions),
    roles: roles?.roles,
  }),
  updateControlPanelUser: ({ roles, ...request }) => ({ ...request, roles: roles?.roles }),
  listAuditRecords: ({ account, since, until, ...request }) => ({
    ...request,
    account: account || undefined,
    sinceMs: since?.getTime(),
    untilMs: until?.getTime(),
  }),
  rollBackMatrix: ({ to, ...request }) => ({ ...request, to: requestedMatrix(to) }),
}

const ENCODE: { readonly [Name in keyof Service]: Encode<Name> } = {
  createAccount: (account) => ({ account: accountMessage(account) }),
  getAccount: (account) => ({ account: accountMessage(account) }),
  listAccounts: ({ items, nextPageToken }) => ({ accounts: items.map(accountMessage), nextPageToken }),
  updateAccount: (account) => ({ account: accountMessage(account) }),
  deleteAccount: ({ projects, users }) => ({ projects, users }),

  createProject: (project) => ({ project: projectMessage(project) }),
  getProject: (project) => ({ project: projectMessage(project) }),
  listProjects: ({ items, nextPageToken }) => ({ projects: items.map(projectMessage), nextPageToken }),
  updateProject: (project) => ({ project: projectMessage(project) }),
  deleteProject: () => ({}),

  createServiceUser: ({ user, password }) => ({
    user: serviceUserMessage(user),
    password: password.reveal(),
  }),
  getServiceUser: (user) => ({ user: serviceUserMessage(user) }),
  listServiceUsers: ({ items, nextPageToken }) => ({ users: items.map(serviceUserMessage), nextPageToken }),
  updateServiceUser: ({ user, credentialsEnded }) => ({ user: serviceUserMessage(user), credentialsEnded }),
  deleteServiceUser: () => ({}),
  replaceServiceUserPassword: ({ password }) => ({ password: password.reveal() }),
  setServiceUserValidator: ({ user, credentialsEnded }) => ({
    user: serviceUserMessage(user),
    credentialsEnded,
  }),

  createControlPanelUser: (user) => ({ user: controlPanelUserMessage(user) }),
  getControlPanelUser: (user) => ({ user: controlPanelUserMessage(user) }),
  listControlPanelUsers: ({ items, nextPageToken }) => ({
    users: items.map(controlPanelUserMessage),
    nextPageToken,
  }),
  updateControlPanelUser: ({ user, credentialsEnded }) => ({
    user: controlPanelUserMessage(user),
    credentialsEnded,
  }),
  deleteControlPanelUser: () => ({}),
  getControlPanelUserToken: panelTokenStatusMessage,
  copyControlPanelUserToken: (token) => ({ token: panelTokenMessage(token) }),
  reissueControlPanelUserToken: (token) => ({ token: panelTokenMessage(token) }),

  createInvitation: ({ secret, endsAtMs }) => ({ secret: secret.reveal(), expiresAt: new Date(endsAtMs) }),
  listSessions: ({ items, nextPageToken }) => ({ sessions: items.map(sessionMessage), nextPageToken }),
  endSession: () => ({}),

  createStaticToken: ({ token, header, scheme, value }) => ({
    token: staticTokenMessage(token),
    header,
    scheme,
    value: value.reveal(),
  }),
  listStaticTokens: ({ items, nextPageToken }) => ({ tokens: items.map(staticTokenMessage), nextPageToken }),
  revokeStaticToken: (token) => ({ token: staticTokenMessage(token) }),
  listApplicationCredentials: ({ items, nextPageToken }) => ({
    credentials: items.map(applicationCredentialMessage),
    nextPageToken,
  }),
  deleteApplicationCredential: () => ({}),

  getAddressRestriction: ({ ranges }) => ({ ranges: [...ranges] }),
  setAddressRestriction: ({ ranges }) => ({ ranges: [...ranges] }),
  previewAddressRestriction: addressPreviewMessage,

  listRevocations: ({ items, nextPageToken }) => ({
    revocations: items.map(revocationMessage),
    nextPageToken,
  }),
  listAuditRecords: ({ items, nextPageToken }) => ({ records: items.map(auditMessage), nextPageToken }),

  getMatrixRollout: rolloutMessage,
  promoteMatrix: () => ({}),
  rollBackMatrix: () => ({}),
}

export type DirectoryServices = PerCall<Identifying & Administering> & Admitting

/** The methods of the service. @param reachable whether other machines can reach the listener */
export function directoryMethods(services: DirectoryServices, reachable: boolean): [path: string, Method][] {
  const names = Object.keys(ENCODE) as OperationName[]
  const handlers = names.map((name) => [name, directoryHandler(services, reachable, name)])
  return methodsOf(wire.DirectoryServiceService, Object.fromEntries(handlers) as Handlers<Service>)
}

function directoryHandler<Name extends OperationName>(
  services: DirectoryServices,
  reachable: boolean,
  operation: Name,
): UnaryMethod {
  const { requestDeserialize, decode, encode, responseSerialize } = codecOf(operation)
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

/** How many changes of one sort by one requester have a separate line each minute. */
const CHANGE_LINES = 10

/** The requester, for the log. */
function namesOf(requester: Requester | undefined): { readonly [name: string]: string } {
  if (requester === undefined) return {}
  const { session } = requester
  const bySession = session === undefined ? {} : { session_id: session.id }
  if (requester.type === 'operator') return { caller: requester.caller.name, ...bySession }
  const { user, token } = requester
  return { user: user.id, account: user.account, ...(token && { token_id: token.tokenId }), ...bySession }
}

/** How a call of this name is read and written. */
interface Codec<Name extends OperationName> {
  readonly requestDeserialize: (reader: BinaryReader) => Message<Name>
  readonly decode: Decode<Name>
  readonly encode: Encode<Name>
  readonly responseSerialize: (message: ReturnType<Encode<Name>>) => Buffer
}

/**
 * TypeScript does not see that the method of a name has the messages of that name, nor that the code reads a
 * reader too.
 */
function codecOf<Name extends OperationName>(name: Name): Codec<Name> {
  const asItIs = (message: unknown) => message
  const { [name]: decode = asItIs } = DECODE as { readonly [each: string]: unknown }
  return { ...wire.DirectoryServiceService[name], decode, encode: ENCODE[name] } as unknown as Codec<Name>
}
