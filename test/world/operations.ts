/**
 * The operations of clients on a directory: one vocabulary for every driver. An operation is a value. It can
 * be chosen, made over any client, put into a model, recorded, and read by a judge in another language.
 */
import type { Client } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'

/** The object of an operation, and its new state. */
export interface Asked {
  /** Number of the account. */
  readonly account: string
  /** Of the project, the user, or the static token of the owner. */
  readonly name?: string
  /** Whether it is enabled, from then on. */
  readonly enabled?: boolean | undefined
  /** Whether the account allows none of the addresses that clients have. */
  readonly restricted?: boolean | undefined
  /** The permissions of the user: everything of the account, everything of a project, or both. */
  readonly ofAccount?: boolean | undefined
  readonly ofProject?: string | undefined
  /** Whether the user administers the account. */
  readonly administers?: boolean | undefined
  /** The password of the user's login. A secret. */
  readonly password?: string | undefined
  /** Project of the token that is issued; default: it is for the account. */
  readonly project?: string | undefined
  /** The token that is revoked, or its id. */
  readonly token?: { readonly value: string } | { readonly tokenId: string }
  /** How many service users are created in one transaction, and how many the account has of them. */
  readonly count?: number
  readonly from?: number
  /** A service user of any account who is disabled in the same transaction. */
  readonly disabled?: { readonly account: string; readonly name: string } | undefined
}

export interface Operation {
  readonly what: What
  readonly asked: Asked
  /** The directory must refuse it, with this reason. */
  readonly refused?: string
}

/** The values that only the answer has: the secret that was made, and when a token expires. */
export interface Learned {
  readonly secret?: string
  readonly expiresMs?: number
}

/** A client of a sidecar, or what stands in for one. */
export type Caller = Pick<Client, 'directory' | 'issue' | 'revoke'> & {
  /** Brings the directory to what a file says, in one transaction, as `portcullis directory apply`. */
  readonly apply?: (file: { readonly accounts: readonly object[] }) => Promise<unknown>
}

/** Most records that one change has. */
export const RECORDS_MAX = 20_000
/** The owner of an account, who has its static tokens. */
export const OWNER = 'person'
/** The addresses of an account that allows none of those that clients have. */
const ELSEWHERE = ['192.0.2.0/24']

/** How each is called. */
const CALLS = {
  createAccount: ({ directory }, { account }) => directory.createAccount({ account }),
  updateAccount: ({ directory }, { account, enabled }) => directory.updateAccount({ account, enabled }),
  deleteAccount: ({ directory }, { account }) => directory.deleteAccount({ account }),
  restrict: ({ directory }, { account, restricted }) => {
    const ranges = restricted ? ELSEWHERE : []
    return directory.setAddressRestriction({ account, ranges, allowExcludingRequester: true })
  },
  createProject: ({ directory }, { account, name = '' }) => directory.createProject({ account, name }),
  updateProject: ({ directory }, { account, name = '', enabled }) =>
    directory.updateProject({ account, name, enabled }),
  deleteProject: ({ directory }, { account, name = '' }) => directory.deleteProject({ account, name }),
  createUser: async ({ directory }, { account, name = '', ...rights }) => {
    const user = { account, name, permissions: permissionsOf(rights), roles: rolesOf(rights) }
    return { secret: (await directory.createServiceUser(user)).password }
  },
  /** As many as are counted, in one transaction. */
  createUsers: ({ apply }, { account, count = 0, from = 0, disabled }) => {
    if (apply === undefined) throw new TypeError('expected a caller that applies files')
    const permissions = [{ scope: 'account' }]
    const names = Array.from({ length: count }, (_, index) => crowdName(from + index))
    const created = { account, service_users: names.map((name) => ({ name, permissions })) }
    if (disabled === undefined) return apply({ accounts: [created] })
    const user = { name: disabled.name, permissions, enabled: false }
    return apply({ accounts: [created, { account: disabled.account, service_users: [user] }] })
  },
  /** Fields of the user that are absent stay as they are. */
  updateUser: ({ directory }, { account, name = '', enabled, administers, ...rights }) =>
    directory.updateServiceUser({
      ...{ account, name, enabled },
      ...((rights.ofAccount ?? rights.ofProject) !== undefined && {
        permissions: { permissions: permissionsOf(rights) },
      }),
      ...(administers !== undefined && { roles: { roles: rolesOf({ administers }) } }),
    }),
  replacePassword: async ({ directory }, { account, name = '' }) => ({
    secret: (await directory.replaceServiceUserPassword({ account, name })).password,
  }),
  deleteUser: ({ directory }, { account, name = '' }) => directory.deleteServiceUser({ account, name }),
  createOwner: ({ directory }, { account }) =>
    directory.createControlPanelUser({ account, name: OWNER, owner: true }),
  updateOwner: ({ directory }, { account, enabled }) =>
    directory.updateControlPanelUser({ account, name: OWNER, enabled }),
  createKey: async ({ directory }, { account, name = '' }) => ({
    secret: (await directory.createStaticToken({ account, userName: OWNER, name })).value,
  }),
  revokeKey: ({ directory }, { account, name = '' }) =>
    directory.revokeStaticToken({ account, userName: OWNER, name }),
  revoke: (client, { token }) => client.revoke(token ?? { value: '' }),
  issue: async (client, { account, name = '', password = '', project }) => {
    const { value, expiresAt } = await client.issue({
      password: { userName: name, account, password },
      scope: { account, ...(project !== undefined && { project }) },
    })
    return { secret: value, expiresMs: expiresAt?.getTime() }
  },
} satisfies Readonly<Record<string, (caller: Caller, asked: Asked) => Promise<unknown>>>

export type What = keyof typeof CALLS

/**
 * Makes the call.
 *
 * @throws what the client throws, where it is refused or not answered
 */
export async function perform(
  caller: Caller,
  { what, asked }: Pick<Operation, 'what' | 'asked'>,
): Promise<Learned> {
  const answered = await CALLS[what](caller, asked)
  return typeof answered === 'object' && answered !== null && 'secret' in answered
    ? (answered as Learned)
    : {}
}

/**
 * A number of records, small ones as often as large ones: each number of digits is as likely as any other.
 */
export function someRecords(random: () => number, most = RECORDS_MAX): number {
  return Math.floor((most + 1) ** random())
}

/** Names of the users that are created together, so that they can be counted. */
const crowdName = (index: number) => `crowd-${index}`
export const isOfCrowd = (name: string) => name.startsWith('crowd-')

function permissionsOf({ ofAccount, ofProject }: Partial<Asked>) {
  const { PERMISSION_SCOPE_ACCOUNT, PERMISSION_SCOPE_PROJECTS } = PermissionScope
  return [
    ...(ofAccount ? [{ scope: PERMISSION_SCOPE_ACCOUNT, projects: [] }] : []),
    ...(ofProject === undefined ? [] : [{ scope: PERMISSION_SCOPE_PROJECTS, projects: [ofProject] }]),
  ]
}

const rolesOf = ({ administers }: Partial<Asked>) => (administers ? ['iam.admin'] : [])
