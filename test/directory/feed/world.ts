/**
 * A directory, processes that follow it and what lies between them, under one seed: answers are late, notifications
 * are lost, doubled and reordered, connections end. The directory and all that a process remembers are the
 * real ones; time, the network and PostgreSQL's notifications are not. Whatever a process allows is compared
 * with what the directory said.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { compile, type TokenKind } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { isAllowed } from '../../../sidecar/authority/addresses.ts'
import { EmbeddedAuthority } from '../../../sidecar/authority/embedded.ts'
import type { IamClaims } from '../../../sidecar/authority/iam-claims.ts'
import { IamTokenSigner, queryOf, tokenOf } from '../../../sidecar/authority/iam-token.ts'
import { KeyRing } from '../../../sidecar/authority/keys.ts'
import { hashStaticToken, newStaticToken, pepperOf } from '../../../sidecar/authority/static-token.ts'
import { Turns } from '../../../sidecar/base/turns.ts'
import { DirectoryChange, NoSuchProject } from '../../../sidecar/directory/change.ts'
import type { Parameters } from '../../../sidecar/directory/database.ts'
import type { AccountRecord, UserRecord } from '../../../sidecar/directory/directory.ts'
import { NotifiedChanges } from '../../../sidecar/directory/feed/notified-changes.ts'
import type { FeedRecord } from '../../../sidecar/directory/feed/touches.ts'
import { numberParameters } from '../../../sidecar/directory/named-parameters.ts'
import { migrationsFrom } from '../../../sidecar/directory/schema.ts'
import { DirectoryVerification } from '../../../sidecar/directory/verification.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { newFolder } from '../../support/suite/resources.ts'

/** The staleness bound, in milliseconds. */
const BOUND_MS = 1_000
/** Time between two questions for changes, in milliseconds. */
const ASK_MS = 250
const PROCESSES = 3
const TOKENS = 24
const ACCOUNTS = ['10001', '10002']
const SERVICE_USERS = ['job', 'robot']
const PROJECTS = ['alpha', 'beta']
/** Where all checks come from. */
const CLIENT = '192.0.2.1'
const PEPPER = pepperOf('11'.repeat(32), 'a test')
const WALL_MS = 1_800_000_000_000

const tokenKinds: ReadonlyMap<string, TokenKind> = compile(supportMatrix).tokenKinds

/** A token, and when the directory would have allowed it. */
interface Held {
  readonly value: string
  readonly claims: IamClaims | undefined
  /** What the directory has said since, each time that it changed. */
  readonly said: { readonly atMs: number; readonly active: boolean }[]
}

interface Process {
  readonly changes: NotifiedChanges
  readonly authority: EmbeddedAuthority
  /** Of each token: the time of the last change against it that this process has heard of. */
  readonly heardAgainst: Map<Held, number>
  /** While it is cut off, nothing is answered and it hears of nothing. */
  cutOffUntilMs: number
}

/** A change that ended tokens. */
interface Ending {
  readonly sequence: number
  readonly atMs: number
  readonly tokens: readonly Held[]
}

export interface Findings {
  readonly allowed: number
  readonly denied: number
  readonly changes: number
  /** Questions for the status of a token. */
  readonly asked: number
}

export class World {
  readonly #random: () => number
  readonly #truth = new Truth()
  readonly #ring = new KeyRing(join(newFolder(), 'signing-keys.json'), WALL_MS, {
    onRefused: () => {},
    pollMs: 3_600_000,
  })
  readonly #signer = new IamTokenSigner(this.#ring)
  readonly #processes: Process[] = []
  readonly #events: { readonly atMs: number; readonly run: () => void }[] = []
  readonly #endings: Ending[] = []
  #tokens: Held[] = []
  #nowMs = 0
  #allowed = 0
  #denied = 0
  #changes = 0
  #asked = 0
  #wrong: string | undefined

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    for (let index = 0; index < PROCESSES; index++) this.#processes.push(this.#newProcess(1_000 * index))
  }

  /** @throws Error that says what was allowed wrongly */
  async run(steps: number): Promise<Findings> {
    try {
      await this.#populate()
      for (const process of this.#processes) void process.changes.look()
      for (let step = 0; step < steps; step++) {
        await this.#step()
        if (this.#wrong !== undefined) throw new Error(`step ${step}: ${this.#wrong}`)
      }
      await this.#comeToRest()
      if (this.#wrong !== undefined) throw new Error(`at rest: ${this.#wrong}`)
    } finally {
      this.#ring.close()
      this.#truth.close()
    }
    return { allowed: this.#allowed, denied: this.#denied, changes: this.#changes, asked: this.#asked }
  }

  #newProcess(clockMs: number): Process {
    const cutOff = () => process.cutOffUntilMs > this.#nowMs
    /** A question reaches the directory after a while, and its answer comes after another. */
    const ask = (sql: string, parameters: Parameters = {}) =>
      new Promise<Record<string, unknown>[]>((resolve, reject) => {
        const fail = () => this.#later(30, () => reject(new Error('no answer')))
        this.#later(this.#delayMs(), () => {
          if (cutOff()) return fail()
          const rows = this.#truth.all(sql, parameters)
          this.#later(this.#delayMs(), () => {
            if (cutOff()) return fail()
            for (const row of rows) if (row.touches !== undefined) this.#hears(process, Number(row.sequence))
            resolve(rows)
          })
        })
      })
    const changes = new NotifiedChanges({ ask, stalenessMs: BOUND_MS, now: () => this.#nowMs + clockMs })
    const all = (...statement: Statement) => {
      this.#asked++
      return ask(...statement)
    }
    const verification = new DirectoryVerification({ all, changes } as never)
    const parts = { store: { verification }, signer: this.#signer, turns: new Turns(), pepper: PEPPER }
    const authority = new EmbeddedAuthority({
      ...parts,
      staticTokenUses: { today: 0, note: () => 0 },
      now: () => WALL_MS + this.#nowMs,
      rememberedMax: 10_000,
    } as never)
    const process: Process = { changes, authority, heardAgainst: new Map(), cutOffUntilMs: 0 }
    this.#every(ASK_MS, () => void changes.look())
    return process
  }

  async #step(): Promise<void> {
    // No two things happen at one time.
    await this.#pass(0.001 + this.#random() * 4)
    const dice = this.#random()
    if (dice < 0.04) await this.#change()
    else if (dice < 0.042) this.#pick(this.#processes).changes.reconnected()
    else if (dice < 0.043) this.#pick(this.#processes).cutOffUntilMs = this.#nowMs + this.#random() * 3_000
    else if (dice < 0.06) await this.#replaceToken()
    else this.#check(this.#pick(this.#processes), this.#pick(this.#tokens))
    await turn()
  }

  /** Time passes, and what was to happen does. */
  async #pass(ms: number): Promise<void> {
    this.#nowMs += ms
    for (let next = this.#events[0]; next !== undefined && next.atMs <= this.#nowMs; next = this.#events[0]) {
      this.#events.shift()
      next.run()
      await turn()
    }
  }

  #check(process: Process, held: Held): void {
    const beganMs = this.#nowMs
    const heard = process.heardAgainst.get(held) ?? Number.NEGATIVE_INFINITY
    const judge = ({ ok }: { readonly ok: boolean }) => {
      if (ok) this.#allowed++
      else this.#denied++
      const sinceMs = Math.max(beganMs - BOUND_MS, heard)
      if (ok && !wasActive(held, sinceMs, this.#nowMs))
        this.#wrong = `allowed a ${held.claims?.type ?? 'static token'} between ${beganMs} and ${this.#nowMs}, and the directory said ${JSON.stringify(held.said.slice(-4))}`
    }
    const verification = process.authority.verify(held.value, tokenKinds, { clientAddress: CLIENT })
    if (verification instanceof Promise) verification.then(judge, () => {})
    else judge(verification)
  }

  async #change(): Promise<void> {
    this.#changes++
    const [last] = this.#truth.all('SELECT COALESCE(MAX(sequence), 0) AS last FROM audit')
    const records = await this.#truth.change(this.#wallMs, (by) => this.#somethingElse(by))
    if (records.length === 0) return
    const ended = this.#lookAtTokens()
    this.#endings.push({ sequence: records.at(-1)?.sequence ?? 0, atMs: this.#nowMs, tokens: ended })
    const maker = this.#pick(this.#processes)
    for (const process of this.#processes) {
      // Some are lost, and some come twice.
      for (let times = this.#pick([0, 1, 1, 1, 1, 2]); times > 0; times--)
        this.#later(this.#delayMs(), () => {
          if (process.cutOffUntilMs > this.#nowMs) return
          // A long one does not say what was recorded.
          if (this.#random() < 0.1) return void process.changes.look()
          for (const { sequence } of records) this.#hears(process, sequence)
          process.changes.hear(Number(last?.last), records)
        })
      if (process !== maker) continue
      process.changes.touch(records)
      for (const { sequence } of records) this.#hears(process, sequence)
    }
  }

  /** From now on the process must not allow what that change ended. */
  #hears(process: Process, sequence: number): void {
    for (let index = this.#endings.length - 1; index >= 0; index--) {
      const ending = this.#endings[index]
      if (ending === undefined || ending.sequence < sequence) return
      if (ending.sequence === sequence)
        for (const held of ending.tokens) process.heardAgainst.set(held, ending.atMs)
    }
  }

  /** Any change that is there, of anything. */
  async #somethingElse(by: DirectoryChange): Promise<void> {
    const { records } = by
    const account = await this.#anAccount(by)
    const name = this.#pick(SERVICE_USERS)
    const job = await this.#aUser(by, account, name, 'service_user')
    const project = await records.project(account.account, this.#pick(PROJECTS))
    const switched = this.#random() < 0.5
    const permissions = this.#pick([
      [{ scope: 'account' as const }],
      [{ scope: 'projects' as const, projects: [this.#pick(PROJECTS)] }],
      [],
    ])
    const token = this.#pick(this.#tokens)
    await this.#pick([
      () => by.revoke(token.claims?.jti ?? 'another', account.account),
      () => by.revoke(this.#pick(token.claims?.from ?? ['another']), account.account),
      () => by.setUserEnabled(job, switched),
      () => by.setUserEnabled(job, true),
      () => by.deleteUser(job),
      () => by.setPermissions(job, permissions),
      () => by.setPassword(job, `hash ${this.#nowMs}`),
      () => by.setRoles(job, switched ? ['iam.admin'] : []),
      () => project && by.setProjectEnabled(project, switched),
      () => project && by.setProjectEnabled(project, true),
      () => project && by.deleteProject(project),
      () => this.#random() < 0.2 && by.setAccountEnabled(account, switched),
      () => by.setAccountEnabled(account, true),
      () => this.#random() < 0.05 && by.deleteAccount(account),
      () => by.setAddressRules(account, this.#random() < 0.2 ? ['10.0.0.0/8'] : ['192.0.2.0/24']),
      () => by.setAddressRules(account, []),
      () => by.createAccount(`unrelated-${this.#nowMs}`),
      () => this.#random() < 0.1 && by.forgetAudit(this.#truth.lastChange - 3, 'a file'),
    ])()
  }

  async #anAccount(by: DirectoryChange): Promise<AccountRecord> {
    const name = this.#pick(ACCOUNTS)
    if ((await by.records.account(name)) === undefined) await by.createAccount(name)
    const account = (await by.records.account(name)) as AccountRecord
    for (const project of PROJECTS)
      if ((await by.records.project(name, project)) === undefined) await by.createProject(account, project)
    return account
  }

  async #aUser(
    by: DirectoryChange,
    account: AccountRecord,
    name: string,
    type: 'service_user' | 'control_panel_user',
  ): Promise<UserRecord> {
    const found = await by.records.user(account.account, name, type)
    if (found !== undefined) return found
    const hash = type === 'service_user' ? { passwordHash: 'hash' } : {}
    const id = await by.createUser(account, { name, type, ...hash })
    if (type === 'service_user')
      await by.setPermissions({ id, account: account.account, name }, [{ scope: 'account' }])
    return (await by.records.userById(id)) as UserRecord
  }

  async #populate(): Promise<void> {
    while (this.#tokens.length < TOKENS) await this.#addToken()
  }

  async #replaceToken(): Promise<void> {
    // First those that nobody can use any more.
    const dead = this.#tokens.find(({ said }) => isLongOver(said, this.#nowMs))
    this.#tokens = this.#tokens.filter((held) => held !== (dead ?? this.#tokens[0]))
    await this.#addToken()
  }

  async #addToken(): Promise<void> {
    const parent =
      this.#random() < 0.3
        ? this.#pick(this.#tokens.filter(({ claims }) => claims?.type === 'service_user'))
        : undefined
    let made: { readonly value: string; readonly claims: IamClaims | undefined } | undefined
    const records = await this.#truth.change(this.#wallMs, async (by) => {
      made = parent?.claims === undefined ? await this.#newToken(by) : this.#derived(parent.claims)
    })
    const held: Held = { value: '', claims: undefined, said: [], ...made }
    this.#tokens.push(held)
    this.#lookAtTokens()
    // Records of what was missing reach the others by their own questions.
    for (const { sequence } of records) this.#endings.push({ sequence, atMs: this.#nowMs, tokens: [] })
  }

  async #newToken(by: DirectoryChange) {
    const account = await this.#anAccount(by)
    if (this.#random() < 0.25) {
      const value = newStaticToken()
      const person = await this.#aUser(by, account, 'person', 'control_panel_user')
      const hash = hashStaticToken(value, PEPPER)
      await by.addStaticToken(person, {
        kind: 'static_token',
        name: randomBytes(6).toString('hex'),
        hash,
        pepper: 'p',
      })
      return { value, claims: undefined }
    }
    const type = this.#random() < 0.2 ? 'control_panel_user' : 'service_user'
    const user = await this.#aUser(
      by,
      account,
      type === 'service_user' ? this.#pick(SERVICE_USERS) : 'person',
      type,
    )
    const project =
      this.#random() < 0.5 ? await by.records.project(account.account, this.#pick(PROJECTS)) : undefined
    return this.#signed({
      kind: project === undefined ? 'iam_token_account_scoped' : 'iam_token_project_scoped',
      account: account.account,
      ...(project && { project: project.name, project_id: project.id }),
      ...{ sub: user.id, name: user.name, type, gen: user.generation, seq: await by.records.changeNumber() },
      jti: this.#newId(),
      iat: Math.floor((WALL_MS + this.#nowMs) / 1_000),
    })
  }

  #derived(parent: IamClaims) {
    const from = [parent.jti, ...(parent.from ?? [])].slice(0, 3)
    return this.#signed({ ...parent, jti: this.#newId(), from })
  }

  #signed(claims: IamClaims) {
    return { value: this.#signer.sign(claims), claims }
  }

  #newId(): string {
    return Buffer.from(Array.from({ length: 16 }, () => Math.floor(this.#random() * 256))).toString(
      'base64url',
    )
  }

  /** Notes what the directory says to each token now. Returns those that it has ended. */
  #lookAtTokens(): Held[] {
    const ended: Held[] = []
    for (const held of this.#tokens) {
      const active = this.#truth.isActive(held)
      const before = held.said.at(-1)?.active
      if (before === active) continue
      held.said.push({ atMs: this.#nowMs, active })
      if (before === true) ended.push(held)
    }
    return ended
  }

  /** When nothing is changed any more and everything is answered, all processes say what the directory says. */
  async #comeToRest(): Promise<void> {
    for (const process of this.#processes) process.cutOffUntilMs = 0
    for (let ms = 0; ms < 4 * BOUND_MS; ms += 5) {
      await this.#pass(5)
      if (ms % 1_000 === 0)
        for (const process of this.#processes) for (const held of this.#tokens) this.#check(process, held)
    }
    for (const [index, process] of this.#processes.entries())
      for (const held of this.#tokens) {
        const said = process.authority.verify(held.value, tokenKinds, { clientAddress: CLIENT })
        if (said instanceof Promise) this.#wrong = `process ${index} must ask at rest`
        else if (said.ok !== held.said.at(-1)?.active)
          this.#wrong = `process ${index} says ${said.ok} at rest, and the directory ${held.said.at(-1)?.active}`
      }
  }

  /** Mostly short, and sometimes longer than the bound. */
  #delayMs(): number {
    const dice = this.#random()
    return dice < 0.9
      ? this.#random() * 8
      : dice < 0.99
        ? this.#random() * 200
        : this.#random() * 2 * BOUND_MS
  }

  get #wallMs(): number {
    return Math.floor(WALL_MS + this.#nowMs)
  }

  #later(ms: number, run: () => void): void {
    const atMs = this.#nowMs + ms
    let index = this.#events.length
    while (index > 0 && (this.#events[index - 1]?.atMs ?? 0) > atMs) index--
    this.#events.splice(index, 0, { atMs, run })
  }

  #every(ms: number, run: () => void): void {
    this.#later(ms, () => {
      run()
      this.#every(ms, run)
    })
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

type Statement = [sql: string, parameters?: Parameters]

function isLongOver(said: Held['said'], nowMs: number): boolean {
  const last = said.at(-1)
  return last !== undefined && !last.active && last.atMs < nowMs - 2 * BOUND_MS
}

/** Whether the directory would have allowed the token at some time of the period. */
function wasActive({ said }: Held, fromMs: number, untilMs: number): boolean {
  return said.some(
    ({ active, atMs }, index) =>
      active && atMs <= untilMs && (said[index + 1]?.atMs ?? Number.POSITIVE_INFINITY) > fromMs,
  )
}

/** The directory itself, in memory, asked without delay. */
class Truth {
  readonly #database = new DatabaseSync(':memory:')
  readonly #statements = new Map<string, StatementSync>()
  readonly #verification = new DirectoryVerification({
    all: (...statement: Statement) => this.all(...statement),
  } as never)

  constructor() {
    for (const step of migrationsFrom(0, 'sqlite', 'a test')) this.#database.exec(step)
  }

  all(sql: string, parameters: Parameters = {}): Record<string, unknown>[] {
    const { text, values } = numberParameters('?', sql, parameters)
    const statement = this.#statements.get(text) ?? this.#database.prepare(text)
    this.#statements.set(text, statement)
    return statement.all(...values)
  }

  get lastChange(): number {
    return Number(this.all('SELECT MAX(sequence) AS last FROM audit')[0]?.last)
  }

  /** Returns what was recorded; nothing, where the change was refused. */
  async change(
    nowMs: number,
    work: (by: DirectoryChange) => Promise<unknown>,
  ): Promise<readonly FeedRecord[]> {
    const queries = { all: (...statement: Statement) => this.all(...statement) }
    const by = new DirectoryChange(queries, { author: { name: 'a test' }, nowMs, dialect: 'sqlite' })
    this.#database.exec('BEGIN')
    try {
      await work(by)
      this.#database.exec('COMMIT')
      return by.writer.records
    } catch (error) {
      this.#database.exec('ROLLBACK')
      if (!(error instanceof NoSuchProject)) throw error
      return []
    }
  }

  isActive({ value, claims }: Held): boolean {
    const token = claims && tokenOf(claims)
    const found = token
      ? this.#verification.iamTokenStatus(queryOf(token, tokenKinds.get(token.kind)?.permissionScopes ?? []))
      : this.#verification.staticToken(hashStaticToken(value, PEPPER))
    if (found instanceof Promise) throw new TypeError('the directory is asked without delay')
    return found?.active === true && isAllowed(CLIENT, found.addresses)
  }

  close(): void {
    this.#database.close()
  }
}
