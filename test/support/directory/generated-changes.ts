/**
 * Changes of a directory at chance: every one that its interface has, of a few names, so that each finds what
 * others left. A change that finds nothing to change says so.
 */
import { createHash } from 'node:crypto'
import {
  ApplicationCredentialChange,
  ApplicationCredentialRecords,
} from '../../../sidecar/directory/application-credential-records.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { Permission, UserRecord, UserType } from '../../../sidecar/directory/directory.ts'
import { FactorChange } from '../../../sidecar/directory/factor-change.ts'
import { FactorRecords } from '../../../sidecar/directory/factor-records.ts'
import { keepReplaced, putInForce } from '../../../sidecar/directory/matrix-versions.ts'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { PanelRecords } from '../../../sidecar/directory/panel-records.ts'
import { methodOf, RECORDED_CHANGES } from '../../directory/contract/audit.ts'
import type { Dice } from '../inputs/random.ts'

/** Names that databases could order, compare or quote in their own ways. */
export const ACCOUNTS = ['1', '10', 'Zoë', "o'b%_"]
export const PROJECTS = ['alpha', 'ALPHA', 'álpha', '😀', '\uff5e']
export const USERS = ['ann', 'Ann', 'a_n', 'b!%', 'é']
export const KEYS = ['key', 'Key', 'kéy']
const HASHES = ['$argon2id$one', '$argon2id$two']
const RANGES = ['203.0.113.0/24', '10.0.0.0/8', '2001:db8::/32']
export const ROLES = ['iam.admin', 'member', 'Member']
export const TYPES: readonly UserType[] = ['service_user', 'control_panel_user']
export const DAY_MS = 86_400_000

/** What a secret is known by, of a few. */
export const hashOf = (what: string, index: number) =>
  createHash('sha256').update(`${what} ${index}`).digest()
/** Id of a token without a record. */
export const tokenIdOf = (index: number) => `token-${index}`.padEnd(22, '_')
const passkeyId = (index: number) => `passkey-${index}`

/** A change within a transaction, with what it needs of the directory. */
export class Inside {
  readonly change: DirectoryChange
  readonly nowMs: number
  readonly panel: PanelChange
  readonly factors: FactorChange
  readonly credentials: ApplicationCredentialChange

  constructor(change: DirectoryChange, nowMs: number) {
    this.change = change
    this.nowMs = nowMs
    this.panel = new PanelChange(change)
    this.factors = new FactorChange(change)
    this.credentials = new ApplicationCredentialChange(change)
  }

  async account(name: string) {
    return (await this.change.records.account(name)) ?? missing()
  }

  async project(account: string, name: string) {
    return (await this.change.records.project(account, name)) ?? missing()
  }

  async user(account: string, name: string, type: UserType): Promise<UserRecord> {
    return (await this.change.records.user(account, name, type)) ?? missing()
  }

  async session(hash: Buffer) {
    return (await new PanelRecords(this.change.records).session(hash)) ?? missing()
  }
}

/** There is no such thing to change. */
export class Missing extends Error {
  override readonly name = 'Missing'
}

function missing(): never {
  throw new Missing()
}

/** Chooses whom and what, and returns what does it. */
type Plan = (dice: Dice) => (inside: Inside) => Promise<unknown>

const anUser = (dice: Dice, type = dice.one(TYPES)) => {
  const [account, name] = [dice.one(ACCOUNTS), dice.one(USERS)]
  return (inside: Inside) => inside.user(account, name, type)
}
const aServiceUser = (dice: Dice) => anUser(dice, 'service_user')
const aPanelUser = (dice: Dice) => anUser(dice, 'control_panel_user')
const aProject = (dice: Dice) => {
  const [account, name] = [dice.one(ACCOUNTS), dice.one(PROJECTS)]
  return (inside: Inside) => inside.project(account, name)
}
const anAccount = (dice: Dice) => {
  const name = dice.one(ACCOUNTS)
  return (inside: Inside) => inside.account(name)
}
const yes = (dice: Dice) => dice.of(2) === 0
const later = (dice: Dice) => (dice.of(4) + 1) * 30_000

function permissions(dice: Dice): Permission[] {
  const projects = PROJECTS.filter(() => dice.of(3) === 0)
  return [
    ...(dice.of(3) === 0 ? [{ scope: 'account' as const }] : []),
    ...(projects.length > 0 ? [{ scope: 'projects' as const, projects }] : []),
  ]
}

/** Changes as the test of the audit trail makes them, by their methods: what has no plan below. */
const RECORDED = Object.fromEntries(
  Array.from(Map.groupBy(RECORDED_CHANGES, methodOf), ([method, rows]): [string, Plan] => [
    method,
    (dice) => {
      const [name, [, , , change]] = [dice.one(ACCOUNTS), dice.one(rows)]
      return async (inside) => {
        const first = async (type: UserType) =>
          (await inside.change.records.users(name, type, { after: '', size: 1 }))[0] ?? missing()
        return change(inside.change, {
          account: await inside.account(name),
          robot: await first('service_user'),
          person: await first('control_panel_user'),
        })
      }
    },
  ]),
)

/** Changes of `DirectoryChange`, by their names there. */
const OF_DIRECTORY: Readonly<Record<string, Plan>> = {
  ...RECORDED,
  createAccount: (dice) => {
    const name = dice.one(ACCOUNTS)
    return ({ change }) => change.createAccount(name)
  },
  setAccountEnabled: (dice) => {
    const [account, enabled] = [anAccount(dice), dice.of(4) > 0]
    return async (inside) => inside.change.setAccountEnabled(await account(inside), enabled)
  },
  deleteAccount: (dice) => {
    const [account, rarely] = [anAccount(dice), dice.of(4) === 0]
    return async (inside) => (rarely ? inside.change.deleteAccount(await account(inside)) : missing())
  },
  createProject: (dice) => {
    const [account, name] = [anAccount(dice), dice.one(PROJECTS)]
    return async (inside) => inside.change.createProject(await account(inside), name)
  },
  setProjectEnabled: (dice) => {
    const [project, enabled] = [aProject(dice), dice.of(3) > 0]
    return async (inside) => inside.change.setProjectEnabled(await project(inside), enabled)
  },
  deleteProject: (dice) => {
    const project = aProject(dice)
    return async (inside) => inside.change.deleteProject(await project(inside))
  },
  createUser: (dice) => {
    const [account, name, type, owner] = [anAccount(dice), dice.one(USERS), dice.one(TYPES), yes(dice)]
    const user = type === 'service_user' ? { passwordHash: dice.one(HASHES) } : { owner }
    return async (inside) => inside.change.createUser(await account(inside), { name, type, ...user })
  },
  setUserEnabled: (dice) => {
    const [user, enabled] = [anUser(dice), dice.of(3) > 0]
    return async (inside) => inside.change.setUserEnabled(await user(inside), enabled)
  },
  setOwner: (dice) => {
    const [user, owner] = [aPanelUser(dice), yes(dice)]
    return async (inside) => inside.change.setOwner(await user(inside), owner)
  },
  setRoles: (dice) => {
    const [user, roles] = [anUser(dice), ROLES.filter(() => yes(dice))]
    return async (inside) => inside.change.setRoles(await user(inside), [...roles, ...roles])
  },
  setValidator: (dice) => {
    const [user, validator] = [aServiceUser(dice), yes(dice)]
    return async (inside) => inside.change.setValidator(await user(inside), validator)
  },
  setPermissions: (dice) => {
    const [user, granted] = [aServiceUser(dice), permissions(dice)]
    return async (inside) => inside.change.setPermissions(await user(inside), granted)
  },
  setPassword: (dice) => {
    const [user, hash] = [aServiceUser(dice), dice.one(HASHES)]
    return async (inside) => inside.change.setPassword(await user(inside), hash)
  },
  rehashPassword: (dice) => {
    const [user, [before, hash]] = [aServiceUser(dice), dice.mixed(HASHES) as [string, string]]
    return async (inside) => {
      const { id, name, account, generation } = await user(inside)
      const facts = { id, name, account, generation, addresses: [], passwordHash: before }
      return inside.change.rehashPassword(facts, hash)
    }
  },
  deleteUser: (dice) => {
    const user = anUser(dice)
    return async (inside) => inside.change.deleteUser(await user(inside))
  },
  addStaticToken: (dice) => {
    const [user, name, hash] = [aPanelUser(dice), dice.one(KEYS), hashOf('static', dice.of(12))]
    const pepper = dice.one(['old', 'new'])
    const more = { lastFour: dice.one(['', 'abcd']), note: dice.one(['', 'for é']) }
    return async (inside) =>
      inside.change.addStaticToken(await user(inside), {
        ...{ kind: 'static_token', name, hash, pepper, ...more },
      })
  },
  raiseLastUsedDays: (dice) => {
    const [user, name, day] = [aPanelUser(dice), dice.one(KEYS), 20_000 + dice.of(5)]
    return async (inside) => {
      const { id } = await user(inside)
      const token = (await inside.change.records.activeStaticToken(id, name)) ?? missing()
      return inside.change.raiseLastUsedDays(new Map([[token.id, day]]))
    }
  },
  setPanelToken: (dice) => {
    const [user, project] = [aPanelUser(dice), dice.one(['', 'p'])]
    return async (inside) => {
      const holder = await user(inside)
      // No two tokens have the same id.
      const id = `${holder.id}${project}`
      return inside.change.setPanelToken(holder, project, JSON.stringify({ jti: id }), id)
    }
  },
  setAddressRules: (dice) => {
    const [account, ranges] = [anAccount(dice), RANGES.filter(() => yes(dice))]
    return async (inside) => inside.change.setAddressRules(await account(inside), [...ranges, ...ranges])
  },
  revoke: (dice) => {
    const [user, name, id] = [anUser(dice), dice.one(KEYS), tokenIdOf(dice.of(30))]
    const ofStatic = yes(dice)
    return async (inside) => {
      const { account, id: holder } = await user(inside)
      if (!ofStatic) return inside.change.revoke(id, account, holder)
      const token = (await inside.change.records.activeStaticToken(holder, name)) ?? missing()
      return inside.change.revoke(token.id, account)
    }
  },
  forgetAudit: (dice) => {
    const [rarely, kept] = [dice.of(6) === 0, dice.of(60)]
    return async ({ change }) => {
      if (!rarely) missing()
      const through = (await change.records.changeNumber()) - kept
      return change.forgetAudit(through, 'archive.jsonl')
    }
  },
}

const newSession = (dice: Dice, nowMs: number) => ({
  hash: hashOf('session', dice.of(12)),
  ...{ way: 'password', endsAtMs: nowMs + later(dice), address: '192.0.2.1', client: 'a browser ☂' },
})

/** Changes of `PanelChange`. */
const OF_PANEL: Readonly<Record<string, Plan>> = {
  addLink: (dice) => {
    const [user, hash] = [aPanelUser(dice), hashOf('link', dice.of(8))]
    const [purpose, afterMs] = [dice.one(['invitation', 'login'] as const), later(dice)]
    return async (inside) => {
      const endsAtMs = inside.nowMs + afterMs
      return inside.panel.addLink(await user(inside), { hash, purpose, endsAtMs })
    }
  },
  removeLink: (dice) => {
    const hash = hashOf('link', dice.of(8))
    return ({ panel }) => panel.removeLink(hash)
  },
  acceptInvitation: (dice) => {
    const [user, hash] = [aPanelUser(dice), dice.one(HASHES)]
    return async (inside) => inside.panel.acceptInvitation(await user(inside), hash)
  },
  replacePassword: (dice) => {
    const [hash, password] = [hashOf('session', dice.of(12)), dice.one(HASHES)]
    return async (inside) => {
      const session = await inside.session(hash)
      if (session.holder === 'caller') return missing()
      return inside.panel.replacePassword(session.user, password, session.id)
    }
  },
  rehashPassword: (dice) => {
    const [user, [before, hash]] = [aPanelUser(dice), dice.mixed(HASHES) as [string, string]]
    return async (inside) => inside.panel.rehashPassword(await user(inside), before, hash)
  },
  beginSession: (dice) => {
    const [user, ofCaller, session] = [aPanelUser(dice), dice.of(3) === 0, newSession(dice, 0)]
    const caller = { caller: 'operator', digest: 'd'.repeat(64) }
    return async (inside) => {
      const holder = ofCaller ? caller : await user(inside)
      return inside.panel.beginSession({ ...session, holder, endsAtMs: inside.nowMs + session.endsAtMs })
    }
  },
  touchSession: (dice) => {
    const hash = hashOf('session', dice.of(12))
    return ({ panel }) => panel.touchSession(hash)
  },
  confirmSession: (dice) => {
    const hash = hashOf('session', dice.of(12))
    return ({ panel }) => panel.confirmSession(hash)
  },
  endLaterThan: (dice) => {
    const beforeMs = dice.of(5) * 60_000
    return ({ panel, nowMs }) => panel.endLaterThan(nowMs - beforeMs)
  },
  logOut: (dice) => {
    const hash = hashOf('session', dice.of(12))
    return async (inside) => inside.panel.logOut(await inside.session(hash), 'operator')
  },
  replaceSession: (dice) => {
    const hash = hashOf('session', dice.of(12))
    return async (inside) => inside.panel.replaceSession(await inside.session(hash))
  },
  endSession: (dice) => {
    const [user, hash] = [aPanelUser(dice), hashOf('session', dice.of(12))]
    return async (inside) => inside.panel.endSession(await user(inside), (await inside.session(hash)).id)
  },
  endSessionsOf: (dice) => {
    const user = aPanelUser(dice)
    return async (inside) => inside.panel.endSessionsOf((await user(inside)).id, '')
  },
}

/** Changes of `FactorChange`. */
const OF_FACTORS: Readonly<Record<string, Plan>> = {
  setCode: (dice) => {
    const [user, secret, step] = [aPanelUser(dice), hashOf('code', dice.of(3)), dice.of(5)]
    return async (inside) =>
      inside.factors.setCode(await user(inside), { secret, sealedWith: 'pepper' }, step)
  },
  deleteCode: (dice) => {
    const user = aPanelUser(dice)
    return async (inside) => inside.factors.deleteCode(await user(inside))
  },
  useStep: (dice) => {
    const [user, step, stale] = [aPanelUser(dice), dice.of(12), dice.of(4) === 0]
    return async (inside) => {
      const { id } = await user(inside)
      const code = (await new FactorRecords(inside.change.records).code(id)) ?? missing()
      return inside.factors.useStep(id, stale ? { secret: Buffer.from('other') } : code, step)
    }
  },
  addPasskey: (dice) => {
    const [user, id, counter] = [aPanelUser(dice), passkeyId(dice.of(6)), dice.of(3)]
    const transports = dice.one([[], ['usb'], ['usb', 'nfc']])
    const passkey = { id, name: dice.one(USERS), publicKey: hashOf('key', 0), counter, transports }
    return async (inside) => inside.factors.addPasskey(await user(inside), passkey)
  },
  deletePasskey: (dice) => {
    const [user, id] = [aPanelUser(dice), passkeyId(dice.of(6))]
    return async (inside) => inside.factors.deletePasskey(await user(inside), id)
  },
  usePasskey: (dice) => {
    const [id, counter] = [passkeyId(dice.of(6)), dice.of(6)]
    return ({ factors }) => factors.usePasskey(id, counter)
  },
  useChallenge: (dice) => {
    const [hash, beforeMs] = [hashOf('challenge', dice.of(8)), dice.of(3) * DAY_MS]
    return ({ factors, nowMs }) => factors.useChallenge({ hash, endsAtMs: nowMs - beforeMs })
  },
}

/** Changes of `ApplicationCredentialChange`. */
const OF_CREDENTIALS: Readonly<Record<string, Plan>> = {
  add: (dice) => {
    const [account, name, project] = [dice.one(ACCOUNTS), dice.one(USERS), dice.one(PROJECTS)]
    const credential = {
      ...{ name: dice.one(KEYS), description: 'ein Schlüssel', secretHash: dice.one(HASHES) },
      ...{ roles: ROLES.filter(() => yes(dice)), limited: yes(dice), unrestricted: yes(dice) },
      expiresAt: dice.one([undefined, { ms: 1_800_000_000_123, us: 456 }]),
    }
    return async (inside) => {
      const user = await inside.user(account, name, 'service_user')
      const { id: projectId } = await inside.project(account, project)
      return inside.credentials.add(user, { ...credential, projectId })
    }
  },
  delete: (dice) => {
    const [user, first] = [aServiceUser(dice), yes(dice)]
    return async (inside) => {
      const { id } = await user(inside)
      const records = new ApplicationCredentialRecords(inside.change.records.queries)
      const all = await records.list(id, { after: '', size: 5 })
      return inside.credentials.delete(all.at(first ? 0 : -1) ?? missing())
    }
  },
}

/** Changes of the matrix in force, which are functions. */
const OF_MATRICES: Readonly<Record<string, Plan>> = {
  putInForce: (dice) => {
    const [index, action] = [dice.of(4), dice.one(['promoted', 'rolled_back'] as const)]
    const matrix = index === 0 ? undefined : { digest: `sha256:${index}`, content: hashOf('matrix', index) }
    const reason = dice.one(['', 'é'])
    return ({ change }) => putInForce(change, { matrix, action, reason })
  },
  keepReplaced: (dice) => {
    const content = hashOf('matrix', dice.of(3))
    return ({ change }) => keepReplaced(change, { digest: 'sha256:kept', content })
  },
}

/** Every change, by the interface that has it. */
export const CHANGES: Readonly<Record<string, Readonly<Record<string, Plan>>>> = {
  DirectoryChange: OF_DIRECTORY,
  PanelChange: OF_PANEL,
  FactorChange: OF_FACTORS,
  ApplicationCredentialChange: OF_CREDENTIALS,
  matrices: OF_MATRICES,
}
