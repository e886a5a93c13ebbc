/** Questions to a directory at chance: every one that its interface has, about what the changes made. */
import { ApplicationCredentialRecords } from '../../../sidecar/directory/application-credential-records.ts'
import type { AuditFilter, IamTokenQuery } from '../../../sidecar/directory/directory.ts'
import { FactorRecords } from '../../../sidecar/directory/factor-records.ts'
import { MatrixVersionRecords } from '../../../sidecar/directory/matrix-versions.ts'
import { PanelRecords } from '../../../sidecar/directory/panel-records.ts'
import type { DirectoryStore } from '../../../sidecar/directory/store.ts'
import type { Dice } from '../inputs/random.ts'
import { ACCOUNTS, hashOf, KEYS, PROJECTS, TYPES, tokenIdOf, USERS } from './generated-changes.ts'

/** Whom there is to ask about, as both directories have said. */
export interface Known {
  readonly nowMs: number
  /** IAM tokens that were issued. */
  readonly tokens: readonly IamTokenQuery[]
  /** Ids of accounts, projects, users and credentials, of which some are gone. */
  readonly ids: readonly string[]
}

/** Chooses what is asked, and returns what asks it. */
type Question = (dice: Dice, known: Known) => (store: DirectoryStore) => unknown

const SCOPES = [[], ['account'], ['projects'], ['account', 'projects']]

const anId = (dice: Dice, { ids }: Known) => (ids.length === 0 ? 'none' : dice.one(ids))
const aPage = (dice: Dice, names: readonly string[]) => ({
  after: dice.one(['', ...names]),
  size: 1 + dice.of(4),
})

function aFilter(dice: Dice, { nowMs }: Known): AuditFilter {
  const one = (values: readonly string[]) => (dice.of(3) === 0 ? { value: dice.one(values) } : undefined)
  const actor = one(['a test', 'A TEST', 'other', '%', '_', '!', ''])
  const action = one(['create', 'SET_', 'é', 'user.'])
  const subject = one([...USERS, ...PROJECTS, ...ACCOUNTS, 'É', 'ZOË', 'o', tokenIdOf(1)])
  return {
    ...(actor && { actor: actor.value }),
    ...(action && { action: action.value }),
    ...(subject && { subject: subject.value }),
    ...(dice.of(4) === 0 && { sinceMs: nowMs - dice.of(100_000) }),
    ...(dice.of(4) === 0 && { untilMs: nowMs - dice.of(100_000) }),
  }
}

const OF_RECORDS: Readonly<Record<string, Question>> = {
  account: (dice) => {
    const name = dice.one(ACCOUNTS)
    return ({ records }) => records.account(name)
  },
  accountById: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => records.accountById(id)
  },
  accounts: (dice) => {
    const page = aPage(dice, ACCOUNTS)
    return ({ records }) => records.accounts(page)
  },
  project: (dice) => {
    const [account, name] = [dice.one(ACCOUNTS), dice.one(PROJECTS)]
    return ({ records }) => records.project(account, name)
  },
  projectById: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => records.projectById(id)
  },
  projects: (dice) => {
    const [account, page] = [dice.one(ACCOUNTS), aPage(dice, PROJECTS)]
    return ({ records }) => records.projects(account, page)
  },
  user: (dice) => {
    const [account, name, type] = [dice.one(ACCOUNTS), dice.one(USERS), dice.one(TYPES)]
    return ({ records }) => records.user(account, name, type)
  },
  users: (dice) => {
    const [account, type, page] = [dice.one(ACCOUNTS), dice.one(TYPES), aPage(dice, USERS)]
    return ({ records }) => records.users(account, type, page)
  },
  userById: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => records.userById(id)
  },
  activeHolder: (dice, { tokens }) => {
    const token = tokens.length === 0 ? undefined : dice.one(tokens)
    return ({ records }) => token && records.activeHolder(token)
  },
  count: (dice) => {
    const [table, account] = [dice.one(['projects', 'users'] as const), dice.one(ACCOUNTS)]
    return ({ records }) => records.count(table, account)
  },
  staticTokens: (dice, known) => {
    const [id, page] = [anId(dice, known), aPage(dice, known.ids)]
    return ({ records }) => records.staticTokens(id, page)
  },
  activeStaticToken: (dice, known) => {
    const [id, name] = [anId(dice, known), dice.one(KEYS)]
    return ({ records }) => records.activeStaticToken(id, name)
  },
  staticTokensOfOtherPeppers: (dice) => {
    const pepper = dice.one(['old', 'new', 'none'])
    return ({ records }) => records.staticTokensOfOtherPeppers(pepper)
  },
  tokenById: (dice, known) => {
    const id = dice.one(['%', anId(dice, known), anId(dice, known), `${anId(dice, known)}p`])
    return ({ records }) => records.tokenById(id)
  },
  changeNumber:
    () =>
    ({ records }) =>
      records.changeNumber(),
  panelToken: (dice, known) => {
    const [id, project] = [anId(dice, known), dice.one(['', 'p'])]
    return ({ records }) => records.panelToken(id, project)
  },
  addressRules: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => records.addressRules(id)
  },
  knownAddresses: (dice, { nowMs }) => {
    const name = dice.one(ACCOUNTS)
    return async ({ records }) => {
      const account = await records.account(name)
      return account && records.knownAddresses(account, nowMs)
    }
  },
  revocations: (dice) => {
    const page = aPage(dice, [tokenIdOf(1), tokenIdOf(3)])
    return ({ records }) => records.revocations(page)
  },
  audit: (dice) => {
    const account = dice.one(['', ...ACCOUNTS])
    const page = { after: String(dice.of(300)), size: 1 + dice.of(10) }
    return ({ records }) => records.audit(account, page)
  },
  auditPage: (dice, known) => {
    const query = {
      ...{ account: dice.one(['', ...ACCOUNTS]), earlier: dice.of(2) === 0, newestFirst: dice.of(2) === 0 },
      ...{ after: dice.of(2) === 0 ? undefined : dice.of(300), size: 1 + dice.of(10) },
      filter: dice.of(3) === 0 ? undefined : aFilter(dice, known),
    }
    return ({ records }) => records.auditPage(query)
  },
}

const OF_VERIFICATION: Readonly<Record<string, Question>> = {
  iamTokenStatus: (dice, { tokens }) => {
    const token = tokens.length === 0 ? undefined : dice.one(tokens)
    const ancestors = dice.of(3) === 0 ? [tokenIdOf(dice.of(30)), tokenIdOf(dice.of(30))] : []
    return ({ verification }) => token && verification.iamTokenStatus({ ...token, ancestors })
  },
  staticToken: (dice) => {
    const hash = hashOf('static', dice.of(12))
    return ({ verification }) => verification.staticToken(hash)
  },
  serviceUser: (dice) => {
    const [account, name] = [dice.one(ACCOUNTS), dice.one(USERS)]
    return ({ verification }) => verification.serviceUser(account, name)
  },
  permits: (dice, known) => {
    const [id, account] = [anId(dice, known), dice.one(ACCOUNTS)]
    const [project, scopes] = [dice.one([undefined, ...PROJECTS]), dice.one(SCOPES)]
    return ({ verification }) => verification.permits(id, account, project, scopes)
  },
}

const OF_PANEL: Readonly<Record<string, Question>> = {
  password: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => new PanelRecords(records).password(id)
  },
  login: (dice) => {
    const [account, name] = [dice.one(ACCOUNTS), dice.one(USERS)]
    return ({ records }) => new PanelRecords(records).login(account, name)
  },
  link: (dice) => {
    const [hash, purpose] = [hashOf('link', dice.of(8)), dice.one(['invitation', 'login'] as const)]
    return ({ records }) => new PanelRecords(records).link(hash, purpose)
  },
  session: (dice) => {
    const hash = hashOf('session', dice.of(12))
    return ({ records }) => new PanelRecords(records).session(hash)
  },
  hasLaterThan: (dice, { nowMs }) => {
    const ms = nowMs - dice.of(100_000)
    return ({ records }) => new PanelRecords(records).hasLaterThan(ms)
  },
  sessions: (dice, known) => {
    const [id, generation] = [anId(dice, known), 1 + dice.of(4)]
    return ({ records }) => new PanelRecords(records).sessions({ id, generation })
  },
}

const OF_FACTORS: Readonly<Record<string, Question>> = {
  kinds: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => new FactorRecords(records).kinds(id)
  },
  code: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => new FactorRecords(records).code(id)
  },
  passkeys: (dice, known) => {
    const id = anId(dice, known)
    return ({ records }) => new FactorRecords(records).passkeys(id)
  },
  passkey: (dice) => {
    const id = `passkey-${dice.of(6)}`
    return ({ records }) => new FactorRecords(records).passkey(id)
  },
}

const OF_CREDENTIALS: Readonly<Record<string, Question>> = {
  login: (dice, known) => {
    const byName = { name: dice.one(KEYS), account: dice.one(ACCOUNTS), userName: dice.one(USERS) }
    const key = dice.of(2) === 0 ? byName : { id: anId(dice, known) }
    return ({ records }) => new ApplicationCredentialRecords(records.queries).login(key)
  },
  ofUser: (dice, known) => {
    const [user, id] = [anId(dice, known), anId(dice, known)]
    return ({ records }) => new ApplicationCredentialRecords(records.queries).ofUser(user, id)
  },
  list: (dice, known) => {
    const [user, page] = [anId(dice, known), aPage(dice, KEYS)]
    return ({ records }) => new ApplicationCredentialRecords(records.queries).list(user, page)
  },
}

const OF_MATRICES: Readonly<Record<string, Question>> = {
  inForce:
    () =>
    ({ records }) =>
      new MatrixVersionRecords(records.queries).inForce(),
  has:
    () =>
    ({ records }) =>
      new MatrixVersionRecords(records.queries).has(),
  all:
    () =>
    ({ records }) =>
      new MatrixVersionRecords(records.queries).all(),
  content: (dice) => {
    const digest = `sha256:${dice.of(30)}`
    return ({ records }) => new MatrixVersionRecords(records.queries).content(digest)
  },
}

/** Every question, by the interface that has it. */
export const QUESTIONS: Readonly<Record<string, Readonly<Record<string, Question>>>> = {
  DirectoryRecords: OF_RECORDS,
  DirectoryVerification: OF_VERIFICATION,
  PanelRecords: OF_PANEL,
  FactorRecords: OF_FACTORS,
  ApplicationCredentialRecords: OF_CREDENTIALS,
  MatrixVersionRecords: OF_MATRICES,
}
