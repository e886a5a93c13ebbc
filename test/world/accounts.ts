/**
 * The state that a directory must have: one account after the other, changed by one operation at a time, as a
 * plain value. Several such lanes are changed at the same time, so that changes share transactions of the
 * disk.
 */
import { type Asked, type Learned, type Operation, someRecords, type What } from './operations.ts'

/** A token, and what is known of it. */
export interface Token {
  readonly value: string
  readonly user: string
  /** The project that it is for; absent: it is for the account. */
  readonly project?: string | undefined
  /** It was ended, and never opens anything again. */
  dead: boolean
  /** It was ended by a revocation, which no restoration takes back. */
  revoked: boolean
  /** Whether it opens something is not judged. */
  unsure: boolean
  /** When it expires, in milliseconds since the epoch by the clock of the sidecar. */
  readonly expiresMs: number
}

interface User {
  enabled: boolean
  /** For everything of the account, and for everything of a project. */
  permitted: boolean
  ofProject?: string | undefined
  administers?: boolean
  /** Absent where its call was not answered. */
  password?: string | undefined
}

/** The state of a lane in the directory. `audit` and `tokens` are those of its earlier accounts as well. */
export interface Account {
  readonly lane: number
  /** Accounts of the lane so far; the last of them is there while `exists`. */
  made: number
  exists: boolean
  enabled: boolean
  restricted: boolean
  projects: Record<string, boolean>
  users: Record<string, User>
  /** How many users it has besides, who were created together. */
  crowd: number
  /** Static tokens of the owner, by name: whether each was not revoked. Absent: there is no owner. */
  keys?: Record<string, boolean> | undefined
  ownerDisabled?: boolean
  /** Static tokens that were revoked, of all accounts of the lane. */
  revokedKeys: string[]
  tokens: Token[]
  /** Records of the audit trail: account and action. */
  audit: string[]
}

export function newAccount(lane: number): Account {
  const empty = { projects: {}, users: {}, crowd: 0, tokens: [], revokedKeys: [], audit: [] }
  return { lane, made: 0, exists: false, enabled: false, restricted: false, ...empty }
}

/** Accounts of a lane have separate numbers. */
export const numberOf = ({ lane, made }: Account) => String((lane + 1) * 100_000 + made)
export const laneOf = (account: string) => Math.floor(Number(account) / 100_000) - 1

/** Static tokens get unique names, whichever history they are in. */
let keysMade = 1

/** Chooses among what the account allows. */
export function nextOperation(account: Account, random: () => number): Operation {
  const number = numberOf({ ...account, made: account.made + (account.exists ? 0 : 1) })
  const [what, asked = {}, refused] = pick(account.exists ? choicesIn(account, random) : CREATION, random)
  return { what, asked: { account: number, ...asked }, ...(refused !== undefined && { refused }) }
}

type Choice = readonly [what: What, asked?: Partial<Asked>, refused?: string]

const CREATION: readonly Choice[] = [['createAccount']]

function choicesIn(state: Account, random: () => number): Choice[] {
  const choices: Choice[] = [
    ['createAccount', {}, 'ALREADY_EXISTS'],
    ['updateAccount', { enabled: !state.enabled }],
    ['restrict', { restricted: !state.restricted }],
    ...pick([projectChoices, userChoices, tokenChoices, keyChoices], random)(state, random),
    ...userChoices(state, random),
    ...tokenChoices(state, random),
  ]
  if (random() < 0.1) choices.push(['deleteAccount'])
  return choices
}

function projectChoices({ projects }: Account, random: () => number): Choice[] {
  const name = pick(['alpha', 'beta'], random)
  if (projects[name] === undefined) return [['createProject', { name }]]
  return [
    ['updateProject', { name, enabled: !projects[name] }],
    ['deleteProject', { name }],
  ]
}

function userChoices({ users }: Account, random: () => number): Choice[] {
  const name = pick(['job', 'robot'], random)
  const user = users[name]
  if (user === undefined) return [['createUser', { name, ofAccount: true }]]
  return [
    ['updateUser', { name, enabled: !user.enabled }],
    ['updateUser', { name, ofAccount: !user.permitted }],
    ['replacePassword', { name }],
    ['deleteUser', { name }],
  ]
}

function tokenChoices({ users, tokens, enabled, restricted }: Account, random: () => number): Choice[] {
  const choices: Choice[] = []
  const token = tokens.find(({ dead }) => !dead)
  if (token !== undefined) choices.push(['revoke', { token: { value: token.value } }])
  const name = pick(['job', 'robot'], random)
  const user = users[name]
  if (enabled && !restricted && user?.enabled && user.permitted && user.password !== undefined)
    choices.push(['issue', { name, password: user.password }])
  return choices
}

function keyChoices({ keys }: Account): Choice[] {
  if (keys === undefined) return [['createOwner']]
  const name = Object.keys(keys).find((each) => keys[each])
  return [name === undefined ? ['createKey', { name: `key-${keysMade++}` }] : ['revokeKey', { name }]]
}

/** Many users are created at once, and the account where it is not there. It has at most `most` of them. */
export function largeChange(account: Account, random: () => number, most: number): Operation {
  const number = numberOf({ ...account, made: account.made + (account.exists ? 0 : 1) })
  const count = someRecords(random, Math.max(1, most - account.crowd))
  return { what: 'createUsers', asked: { account: number, from: account.crowd, count } }
}

/** The reason for which the directory must refuse a change. */
export function refusalOf(
  { exists, projects, users }: Account,
  { what, asked }: Operation,
): string | undefined {
  const { name = '', ofProject } = asked
  if (what === 'revoke') return undefined
  if (!exists) return what === 'createAccount' ? undefined : 'NOT_FOUND'
  const [, verb, thing] = /^(create|update|delete|replace)(Account|Project|User|Password)$/.exec(what) ?? []
  const isThere = thing === 'Account' || (thing === 'Project' ? projects : users)[name] !== undefined
  if (verb === 'create' && isThere) return 'ALREADY_EXISTS'
  if (verb !== undefined && verb !== 'create' && !isThere) return 'NOT_FOUND'
  return ofProject !== undefined && projects[ofProject] === undefined ? 'NO_SUCH_PROJECT' : undefined
}

/** Changes the account as the directory must, and records it. */
export function take(account: Account, { what, asked }: Operation): void {
  const { [what]: effect } = EFFECTS
  if (effect === undefined) throw new Error(`no account is changed by ${what}`)
  const actions = effect(account, asked)
  // An IAM token ends for good when anything is taken that it needs.
  for (const token of account.tokens) if (!stands(account, token)) token.dead = true
  account.audit.push(...actions.map((action) => `${asked.account} ${action}`))
}

/** Adds the values that only the answer has. */
export function learn(account: Account, { what, asked }: Operation, { secret, expiresMs }: Learned): void {
  const { name = '', project } = asked
  if (what === 'issue')
    account.tokens.push({
      ...{ value: secret ?? '', user: name, project, dead: false, revoked: false, unsure: false },
      expiresMs: expiresMs ?? Number.POSITIVE_INFINITY,
    })
  const user = account.users[name]
  if (user !== undefined && (what === 'createUser' || what === 'replacePassword')) user.password = secret
}

/** Returns the actions that are recorded. */
type Effect = (account: Account, asked: Asked) => readonly string[]

const EFFECTS: Partial<Readonly<Record<What, Effect>>> = {
  createAccount,
  updateAccount: (account, { enabled = false }) => {
    account.enabled = enabled
    return [enabled ? 'account.enable' : 'account.disable']
  },
  deleteAccount: (account) => {
    const { lane, made, tokens, revokedKeys, audit } = account
    Object.assign(account, { ...newAccount(lane), made, tokens, revokedKeys, audit, keys: undefined })
    return ['account.delete']
  },
  restrict: (account, { restricted = false }) => {
    account.restricted = restricted
    return ['address_restriction.set']
  },
  createProject: ({ projects }, { name = '' }) => {
    projects[name] = true
    return ['project.create']
  },
  updateProject: ({ projects }, { name = '', enabled = false }) => {
    projects[name] = enabled
    return [enabled ? 'project.enable' : 'project.disable']
  },
  deleteProject: ({ projects, users }, { name = '' }) => {
    delete projects[name]
    // A later project of the same name is another one.
    for (const user of Object.values(users)) if (user.ofProject === name) user.ofProject = undefined
    return ['project.delete']
  },
  createUser: ({ users }, { name = '', ofAccount = false, ofProject, administers = false }) => {
    users[name] = { enabled: true, permitted: ofAccount, ofProject, administers }
    return NEW_USER
  },
  createUsers: (account, { count = 0 }) => {
    const creation = account.exists ? [] : createAccount(account)
    account.crowd += count
    return [...creation, ...newUsers(count)]
  },
  updateUser: (account, { name = '', enabled, ofAccount, ofProject, administers }) => {
    const user = account.users[name] as User
    const isPermitted = (ofAccount ?? ofProject) !== undefined
    if (isPermitted) Object.assign(user, { permitted: ofAccount ?? false, ofProject })
    // A password of before says nothing of an administrator.
    if (administers && !user.administers) endPassword(account, name)
    Object.assign(user, {
      enabled: enabled ?? user.enabled,
      administers: administers ?? user.administers,
    })
    return [
      ...(isPermitted ? ['service_user.set_permissions'] : []),
      ...(administers === undefined ? [] : ['service_user.set_roles']),
      ...(enabled === undefined ? [] : [enabled ? 'service_user.enable' : 'service_user.disable']),
    ]
  },
  replacePassword: (account, { name = '' }) => {
    endPassword(account, name)
    return ['service_user.replace_password']
  },
  deleteUser: ({ users }, { name = '' }) => {
    delete users[name]
    return ['service_user.delete']
  },
  createOwner: (account) => {
    Object.assign(account, { keys: {}, ownerDisabled: false })
    return ['control_panel_user.create']
  },
  updateOwner: (account, { enabled = false }) => {
    account.ownerDisabled = !enabled
    return [enabled ? 'control_panel_user.enable' : 'control_panel_user.disable']
  },
  createKey: ({ keys = {} }, { name = '' }) => {
    keys[name] = true
    return ['static_token.create']
  },
  revokeKey: ({ keys = {}, revokedKeys }, { name = '' }) => {
    keys[name] = false
    revokedKeys.push(name)
    return ['token.revoke']
  },
  revoke: ({ tokens, keys = {} }, { token }) => {
    const value = token !== undefined && 'value' in token ? token.value : ''
    for (const each of tokens) if (each.value === value) Object.assign(each, { dead: true, revoked: true })
    if (keys[value] !== undefined) keys[value] = false
    return ['token.revoke']
  },
  issue: () => [],
}

function createAccount(account: Account): readonly string[] {
  Object.assign(account, { made: account.made + 1, exists: true, enabled: true })
  return ['account.create']
}

const NEW_USER = ['service_user.create', 'service_user.set_permissions']

/** Entries of a directory file that take the same step together. */
const TOGETHER = 500

function newUsers(count: number): string[] {
  const together = Math.min(count, TOGETHER)
  if (together === 0) return []
  const steps = NEW_USER.flatMap((step) => Array.from({ length: together }, () => step))
  return [...steps, ...newUsers(count - together)]
}

/** With the tokens that it has opened. */
function endPassword({ users, tokens }: Account, name: string): void {
  ;(users[name] as User).password = undefined
  for (const token of tokens) if (token.user === name) token.dead = true
}

function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)] as T
}

/**
 * The account after a restoration: all is as in the backup, revocations stay, and no token of the time
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
export function isInForce(account: Account, token: Token): boolean {
  return !token.dead && !account.restricted && stands(account, token)
}

/** Whether there is all that an IAM token needs to be issued, and to stay active. */
export function stands(
  { exists, enabled, users, projects }: Account,
  { user, project }: Pick<Token, 'user' | 'project'>,
): boolean {
  const holder = users[user]
  if (!exists || !enabled || !holder?.enabled) return false
  if (project === undefined) return holder.permitted
  return (holder.permitted || holder.ofProject === project) && projects[project] === true
}
