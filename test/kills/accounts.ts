/**
 * What a directory must have: one account after the other, changed by one call at a time, as a plain value.
 * Several such lanes are changed at the same time, so that changes share transactions of the disk.
 */
import { type Client, PortcullisError } from '../../clients/typescript/index.ts'
import { PermissionScope } from '../../proto/gen/portcullis/v1/directory.ts'

/** A token, and what is known of it. */
export interface Token {
  readonly value: string
  readonly user: string
  /** It was ended, and never opens anything again. */
  dead: boolean
  /** It was ended by a revocation, which no restoration takes back. */
  revoked: boolean
  /** It was out of force for a while: whether it opens something is not judged. */
  unsure: boolean
  /** When it expires, in milliseconds since the epoch by the clock of the sidecar. */
  readonly expiresMs: number
}

interface User {
  enabled: boolean
  permitted: boolean
  /** Absent where its call was not answered. */
  password?: string | undefined
}

/** What the directory has of a lane. `audit` and `tokens` are those of its earlier accounts as well. */
export interface Account {
  readonly lane: number
  /** Accounts of the lane so far; the last of them is there while `exists`. */
  made: number
  exists: boolean
  enabled: boolean
  ranges: string[]
  projects: Record<string, boolean>
  users: Record<string, User>
  /** Static tokens of the owner, by name: whether each is active. Absent: there is no owner. */
  keys?: Record<string, boolean> | undefined
  /** Static tokens that were revoked, of all accounts of the lane. */
  revokedKeys: string[]
  tokens: Token[]
  /** Records of the audit trail: account and action. */
  audit: string[]
}

export function newAccount(lane: number): Account {
  const empty = { ranges: [], projects: {}, users: {}, tokens: [], revokedKeys: [], audit: [] }
  return { lane, made: 0, exists: false, enabled: false, ...empty }
}

/** Accounts of a lane have numbers of their own. */
export const numberOf = ({ lane, made }: Account) => String((lane + 1) * 100_000 + made)
export const laneOf = (account: string) => Math.floor(Number(account) / 100_000) - 1

/** One call. */
export interface Operation {
  readonly what: string
  /** Changes the account as the call must. */
  change(account: Account): void
  /** Makes the call, and adds what only the answer tells. */
  call(client: Client, account: Account): Promise<void>
  /** The directory must refuse it, with this reason. */
  readonly refused?: string
}

const OWNER = 'person'
/** Static tokens get names of their own, whichever history they are in. */
let keysMade = 1
const PERMISSIONS = [{ scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }]

/** Chooses among what the account allows. */
export function nextOperation(account: Account, random: () => number): Operation {
  const choices = account.exists ? choicesIn(account, random) : [creation(account)]
  return pick(choices, random)
}

function creation(account: Account): Operation {
  const number = numberOf({ ...account, made: account.made + 1 })
  return {
    what: 'create an account',
    change: (next) => {
      Object.assign(next, { made: next.made + 1, exists: true, enabled: true })
      record(next, 'account.create')
    },
    call: async ({ directory }) => void (await directory.createAccount({ account: number })),
  }
}

function choicesIn(state: Account, random: () => number): Operation[] {
  const account = numberOf(state)
  const choices: Operation[] = [
    {
      what: 'create an account that is there',
      refused: 'ALREADY_EXISTS',
      change: () => {},
      call: async ({ directory }) => void (await directory.createAccount({ account })),
    },
    {
      what: 'disable or enable the account',
      change: (next) => {
        next.enabled = !next.enabled
        doubt(next)
        record(next, next.enabled ? 'account.enable' : 'account.disable')
      },
      call: async ({ directory }, { enabled }) => void (await directory.updateAccount({ account, enabled })),
    },
    {
      what: 'restrict addresses',
      change: (next) => {
        next.ranges = next.ranges.length === 0 ? ['192.0.2.0/24'] : []
        doubt(next)
        record(next, 'address_restriction.set')
      },
      call: async ({ directory }, { ranges }) =>
        void (await directory.setAddressRestriction({ account, ranges, allowExcludingRequester: true })),
    },
    ...pick([projectChoices, userChoices, tokenChoices, keyChoices], random)(state, random),
    ...userChoices(state, random),
    ...tokenChoices(state, random),
  ]
  if (random() < 0.1)
    choices.push({
      what: 'delete the account',
      change: (next) => {
        for (const token of next.tokens) token.dead = true
        record(next, 'account.delete')
        const { made, tokens, revokedKeys, audit } = next
        Object.assign(next, { ...newAccount(next.lane), made, tokens, revokedKeys, audit, keys: undefined })
      },
      call: async ({ directory }) => void (await directory.deleteAccount({ account })),
    })
  return choices
}

function projectChoices(state: Account, random: () => number): Operation[] {
  const account = numberOf(state)
  const name = pick(['alpha', 'beta'], random)
  if (state.projects[name] === undefined)
    return [
      {
        what: 'create a project',
        change: (next) => {
          next.projects[name] = true
          record(next, 'project.create')
        },
        call: async ({ directory }) => void (await directory.createProject({ account, name })),
      },
    ]
  return [
    {
      what: 'disable or enable a project',
      change: (next) => {
        next.projects[name] = !next.projects[name]
        record(next, next.projects[name] ? 'project.enable' : 'project.disable')
      },
      call: async ({ directory }, { projects }) =>
        void (await directory.updateProject({ account, name, enabled: projects[name] })),
    },
    {
      what: 'delete a project',
      change: (next) => {
        delete next.projects[name]
        record(next, 'project.delete')
      },
      call: async ({ directory }) => void (await directory.deleteProject({ account, name })),
    },
  ]
}

function userChoices(state: Account, random: () => number): Operation[] {
  const account = numberOf(state)
  const name = pick(['job', 'robot'], random)
  const user = { account, name }
  if (state.users[name] === undefined)
    return [
      {
        what: 'create a service user',
        change: (next) => {
          next.users[name] = { enabled: true, permitted: true }
          record(next, 'service_user.create', 'service_user.set_permissions')
        },
        call: async ({ directory }, next) => {
          const { password } = await directory.createServiceUser({ ...user, permissions: PERMISSIONS })
          ;(next.users[name] as User).password = password
        },
      },
    ]
  const change =
    (change: (next: User, account: Account) => string): Operation['change'] =>
    (next) =>
      record(next, `service_user.${change(next.users[name] as User, next)}`)
  return [
    {
      what: 'disable or enable a service user',
      change: change((found, next) => {
        found.enabled = !found.enabled
        doubt(next, name)
        return found.enabled ? 'enable' : 'disable'
      }),
      call: async ({ directory }, { users }) =>
        void (await directory.updateServiceUser({ ...user, enabled: users[name]?.enabled })),
    },
    {
      what: 'change the permissions of a service user',
      change: change((found, next) => {
        found.permitted = !found.permitted
        doubt(next, name)
        return 'set_permissions'
      }),
      call: async ({ directory }, { users }) => {
        const permissions = users[name]?.permitted ? PERMISSIONS : []
        await directory.updateServiceUser({ ...user, permissions: { permissions } })
      },
    },
    {
      what: 'replace a password',
      change: change((found, next) => {
        found.password = undefined
        end(next, name)
        return 'replace_password'
      }),
      call: async ({ directory }, next) => {
        const { password } = await directory.replaceServiceUserPassword(user)
        ;(next.users[name] as User).password = password
      },
    },
    {
      what: 'delete a service user',
      change: (next) => {
        delete next.users[name]
        end(next, name)
        record(next, 'service_user.delete')
      },
      call: async ({ directory }) => void (await directory.deleteServiceUser(user)),
    },
  ]
}

function tokenChoices(state: Account, random: () => number): Operation[] {
  const account = numberOf(state)
  const choices: Operation[] = []
  const token = state.tokens.findIndex(({ dead }) => !dead)
  if (token >= 0)
    choices.push({
      what: 'revoke a token',
      change: (next) => {
        Object.assign(next.tokens[token] as Token, { dead: true, revoked: true })
        record(next, 'token.revoke')
      },
      call: async (client, { tokens }) => void (await client.revoke({ value: tokens[token]?.value ?? '' })),
    })
  const user = pick(['job', 'robot'], random)
  const { password, enabled, permitted } = state.users[user] ?? {}
  if (state.enabled && state.ranges.length === 0 && enabled && permitted && password !== undefined)
    choices.push({
      what: 'issue a token',
      change: () => {},
      call: async (client, next) => {
        const asked = { password: { userName: user, account, password }, scope: { account } }
        const { value, expiresAt } = await client.issue(asked)
        const expiresMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
        next.tokens.push({ value, user, dead: false, revoked: false, unsure: false, expiresMs })
      },
    })
  return choices
}

function keyChoices(state: Account): Operation[] {
  const account = numberOf(state)
  const { keys } = state
  if (keys === undefined)
    return [
      {
        what: 'create an owner',
        change: (next) => {
          next.keys = {}
          record(next, 'control_panel_user.create')
        },
        call: async ({ directory }) =>
          void (await directory.createControlPanelUser({ account, name: OWNER, owner: true })),
      },
    ]
  const name = Object.keys(keys).find((each) => keys[each])
  const key = { account, userName: OWNER, name: name ?? `key-${keysMade++}` }
  return [
    {
      what: name === undefined ? 'create a static token' : 'revoke a static token',
      change: (next) => {
        ;(next.keys as Record<string, boolean>)[key.name] = name === undefined
        if (name !== undefined) next.revokedKeys.push(name)
        record(next, name === undefined ? 'static_token.create' : 'token.revoke')
      },
      call: async ({ directory }) =>
        void (await (name === undefined
          ? directory.createStaticToken(key)
          : directory.revokeStaticToken(key))),
    },
  ]
}

function record(account: Account, ...actions: string[]): void {
  account.audit.push(...actions.map((action) => `${numberOf(account)} ${action}`))
}

function doubt(account: Account, user?: string): void {
  for (const token of account.tokens) if (user === undefined || token.user === user) token.unsure = true
}

function end(account: Account, user: string): void {
  for (const token of account.tokens) if (token.user === user) token.dead = true
}

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] as T
}

/**
 * What a restoration makes of an account: all is as in the backup, revocations stay, and no token of the time
 * between is accepted.
 */
export function restored(backup: Account, now: Account): Account {
  const next = structuredClone(backup)
  next.tokens = now.tokens.map((token, index) => {
    const before = backup.tokens[index]
    if (before === undefined) return { ...token, dead: true }
    return { ...before, dead: before.dead || token.revoked, revoked: token.revoked, unsure: true }
  })
  next.revokedKeys = [...now.revokedKeys]
  if (next.keys !== undefined)
    for (const name of now.revokedKeys) if (next.keys[name] !== undefined) next.keys[name] = false
  return next
}

/** Whether the state of an account, of its users and of the token lets it open something. */
export function isInForce({ enabled, ranges, users }: Account, { dead, user }: Token): boolean {
  const holder = users[user]
  return !dead && enabled && ranges.length === 0 && holder?.enabled === true && holder.permitted
}

/** Reasons of errors that say nothing of what the call did. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof PortcullisError && (error.reason === '' || error.code === 'UNAVAILABLE')
}
