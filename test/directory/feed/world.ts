/**
 * A directory, processes that follow it and what lies between them, under one seed: answers are late,
 * notifications are lost, doubled and reordered, connections end. The directory and all that a process
 * remembers are the real ones; time, the network and PostgreSQL's notifications are not. Whatever a process
 * allows is compared with what the directory said.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { EmbeddedAuthority } from '../../../sidecar/authority/embedded.ts'
import type { IamClaims } from '../../../sidecar/authority/iam-claims.ts'
import { IamTokenSigner } from '../../../sidecar/authority/iam-token.ts'
import { KeyRing } from '../../../sidecar/authority/keys.ts'
import { hashStaticToken, newStaticToken, pepperOf } from '../../../sidecar/authority/static-token.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { Parameters } from '../../../sidecar/directory/database.ts'
import { NotifiedChanges } from '../../../sidecar/directory/feed/notified-changes.ts'
import { DirectoryVerification } from '../../../sidecar/directory/verification.ts'
import { randomFrom } from '../../support/inputs/random.ts'
import { newFolder } from '../../support/suite/resources.ts'
import { DirectoryItself, tokenKinds } from '../../world/directory-itself.ts'
import { DueHeap } from '../../world/due.ts'
import { isOver, note, type Said, wasActive } from '../../world/standing.ts'
import { AnyChange, PROJECTS, SERVICE_USERS } from './any-change.ts'
import { type Statement, Truth } from './truth.ts'

/** The staleness bound, in milliseconds. */
const BOUND_MS = 1_000
/** Time between two questions for changes, in milliseconds. */
const ASK_MS = 250
const PROCESSES = 3
const TOKENS = 24
/** Where all checks come from. */
const CLIENT = '192.0.2.1'
const PEPPER = pepperOf('11'.repeat(32), 'a test')
const WALL_MS = 1_800_000_000_000

/** Nothing waits for a turn, so that a seed always gives the same history. */
const AT_ONCE = { run: (_connection: unknown, work: () => unknown) => work(), suspect: () => {} }

/** A token, and when the directory would have allowed it. */
interface Held {
  readonly value: string
  readonly claims: IamClaims | undefined
  /** What the directory has said since, each time that it changed. */
  readonly said: Said[]
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
  readonly #any: AnyChange
  readonly #truth = new Truth()
  readonly #itself = new DirectoryItself({
    all: (...statement: Statement) => this.#truth.all(...statement),
    ...{ pepper: PEPPER, client: CLIENT },
  })
  readonly #ring = new KeyRing(join(newFolder(), 'signing-keys.json'), WALL_MS, {
    onRefused: () => {},
    pollMs: 3_600_000,
  })
  readonly #signer = new IamTokenSigner(this.#ring)
  readonly #processes: Process[] = []
  readonly #events = new DueHeap()
  readonly #endings: Ending[] = []
  #tokens: Held[] = []
  #nowMs = 0
  #allowed = 0
  #denied = 0
  #changes = 0
  #asked = 0
  #atRest = false
  #wrong: string | undefined

  constructor(seed: number) {
    this.#random = randomFrom(seed)
    this.#any = new AnyChange(this.#random)
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
    const timed = { stalenessMs: BOUND_MS, now: () => this.#nowMs + clockMs }
    const changes = new NotifiedChanges({ ...timed, ask, has: async () => true })
    const all = (...statement: Statement) => {
      this.#asked++
      return ask(...statement)
    }
    const verification = new DirectoryVerification({ all, changes } as never)
    const authority = new EmbeddedAuthority({
      ...{ store: { verification }, signer: this.#signer, turns: AT_ONCE, pepper: PEPPER },
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
    else if (dice < 0.0434) this.#truth.replicate()
    else if (dice < 0.0436) this.#failOver()
    else if (dice < 0.06) await this.#replaceToken()
    else this.#check(this.#pick(this.#processes), this.#pick(this.#tokens))
    await turn()
  }

  /** Time passes, and what was to happen does. */
  async #pass(ms: number): Promise<void> {
    this.#nowMs += ms
    for (let run = this.#events.take(this.#nowMs); run !== undefined; run = this.#events.take(this.#nowMs)) {
      run()
      await turn()
    }
  }

  #check(process: Process, held: Held): void {
    const beganMs = this.#nowMs
    const heard = process.heardAgainst.get(held) ?? Number.NEGATIVE_INFINITY
    const judge = ({ ok }: { readonly ok: boolean }) => {
      // What the directory says to a token that was replaced meanwhile is not known.
      if (!this.#tokens.includes(held)) return
      if (ok) this.#allowed++
      else this.#denied++
      const sinceMs = Math.max(beganMs - BOUND_MS, heard)
      if (ok && !wasActive(held.said, sinceMs, this.#nowMs))
        this.#wrong = `allowed a ${held.claims?.type ?? 'static token'} between ${beganMs} and ${this.#nowMs}, and the directory said ${JSON.stringify(held.said.slice(-4))}`
    }
    const verification = process.authority.verify(held.value, tokenKinds, { clientAddress: CLIENT })
    if (verification instanceof Promise) verification.then(judge, () => {})
    else judge(verification)
  }

  async #change(): Promise<void> {
    this.#changes++
    const [last] = this.#truth.all('SELECT sequence, at_ms FROM audit ORDER BY sequence DESC LIMIT 1')
    const previous = { sequence: Number(last?.sequence ?? 0), atMs: Number(last?.at_ms ?? 0) }
    const records = await this.#truth.change(this.#wallMs, (by) =>
      this.#any.anything(by, this.#pick(this.#tokens).claims),
    )
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
          process.changes.hear(previous, records)
        })
      if (process !== maker) continue
      process.changes.touch(records)
      for (const { sequence } of records) this.#hears(process, sequence)
    }
  }

  /** Another server, which lacks the last changes. Each process notices it when its connection is lost. */
  #failOver(): void {
    if (!this.#truth.failOver()) return
    this.#lookAtTokens()
    const last = this.#truth.all('SELECT MAX(sequence) AS last FROM audit')[0]?.last
    while ((this.#endings.at(-1)?.sequence ?? 0) > Number(last)) this.#endings.pop()
    for (const process of this.#processes) this.#later(this.#delayMs(), () => process.changes.reconnected())
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

  async #populate(): Promise<void> {
    while (this.#tokens.length < TOKENS) await this.#addToken()
  }

  async #replaceToken(): Promise<void> {
    // First those that can no longer be used.
    const dead = this.#tokens.find(({ said }) => isOver(said, this.#nowMs, 2 * BOUND_MS))
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
    const account = await this.#any.account(by)
    if (this.#random() < 0.25) {
      const value = newStaticToken()
      const person = await this.#any.user(by, account, 'person', 'control_panel_user')
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
    const user = await this.#any.user(
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
    return this.#tokens.filter((held) =>
      note(held.said, this.#itself.isActive(held.value, held.claims), this.#nowMs),
    )
  }

  /**
   * When nothing is changed any more and everything is answered, all processes say what the directory says.
   */
  async #comeToRest(): Promise<void> {
    this.#atRest = true
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
    const dice = this.#atRest ? 0 : this.#random()
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
    this.#events.at(this.#nowMs + ms, run)
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
