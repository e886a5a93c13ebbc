/**
 * One simulated fleet under a seed: operators change the directory, programs ask, and everything that can go
 * wrong does. Each answer is judged by what the directory itself has said.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type CheckAnswer, type Client, connect, PortcullisError } from '../../clients/typescript/index.ts'
import { pepperOf } from '../../sidecar/authority/static-token.ts'
import { CallError } from '../../sidecar/base/call-error.ts'
import { DIRECTORY_FILE } from '../../sidecar/base/data-folder.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { isOver } from '../world/standing.ts'
import { Faults } from './faults.ts'
import { BOUND_MS, Fleet, type Host, KEY_POLL_MS, operatorOf, type Program, type Worker } from './fleet.ts'
import { Judge, type Pending } from './judge.ts'
import { Once } from './once.ts'
import { ACCOUNTS, BOSS, Operations, PROJECTS, SERVICE_USERS } from './operations.ts'
import type { Populated } from './populated.ts'
import { EXTRA_API, type Held, type Recorded, Truth } from './truth.ts'
import { DirectoryFile } from './world/directory-file.ts'
import { network } from './world/network.ts'
import { PostgresServer } from './world/postgres-server.ts'
import { Machine, time } from './world/time.ts'
import { world } from './world/world.ts'

const TOKENS = 9
/** Longest time between two steps, in milliseconds; of a wide seed, where a change takes seconds. */
const STEP_MS_MAX = 12
const WIDE_STEP_MS_MAX = 60
/** After this time without a fault, every lost message has come back, in milliseconds. */
const REST_MS = 9_000
/** How long anything may take while nothing goes wrong, in milliseconds. */
const CALM_MS_MAX = 60_000
/** Of this many seeds one has a file as its directory, and the others share PostgreSQL. */
const FILE_EVERY = 8
/**
 * Of as many seeds another one is wide. A host is far from its directory, statements take seconds, changes
 * have many records, and notifications are lost.
 */
const WIDE = 4
/** How much longer a message to the far host takes, in milliseconds: an answer, 200. */
const FAR_MS = 100
/** This part of the notifications does not arrive in a wide seed. */
const LOST_NOTIFICATIONS = 0.15
/** A login there asks PostgreSQL some fifteen times, one after the other, and waits for its turn. */
const FAR_PATIENCE_MS = 9_000
/** Most calls of operators and programs that are under way. */
const UNDER_WAY_MAX = 40

export interface Findings {
  readonly allowed: number
  readonly denied: number
  readonly unanswered: number
  readonly acknowledged: number
  readonly refused: number
  readonly faults: number
  /** How often something that works once worked, or was refused. */
  readonly used: number
  readonly unused: number
  /** SHA-256 of all that happened: the same for the same seed. */
  readonly history: string
}

/** A promise was broken. */
export class Broken extends Error {
  override readonly name = 'Broken'
  /** After how many steps. */
  readonly steps: number

  constructor(message: string, steps: number) {
    super(message)
    this.steps = steps
  }
}

export class Simulation {
  readonly found = { allowed: 0, denied: 0, unanswered: 0, acknowledged: 0, refused: 0, faults: 0 }
  readonly #random: () => number
  readonly #folder: string
  readonly #populated: Populated
  readonly #fleet: Fleet
  readonly #close: () => void
  readonly #isWide: boolean
  readonly #operations: Operations
  readonly #faults: Faults
  readonly #history = createHash('sha256')
  readonly #narrate: (line: string) => void
  readonly #operatorMachines = new Map<string, Machine>()
  #truth = undefined as unknown as Truth
  #judge = undefined as unknown as Judge
  #once = undefined as unknown as Once
  #underWay = 0
  #calm = true

  constructor(
    seed: number,
    folder: string,
    populated: Populated,
    narrate: (line: string) => void = () => {},
  ) {
    this.#random = randomFrom(seed)
    Math.random = this.#random
    this.#folder = join(folder, `seed-${seed}`)
    this.#narrate = narrate
    this.#populated = populated
    mkdirSync(this.#folder)
    time.begin()
    network.begin()
    network.delayMs = () => this.#delayMs()
    time.syncMs = () => this.#random() * 5
    const isFile = seed % FILE_EVERY === 0
    this.#fleet = new Fleet(this.#folder, this.#random, !isFile)
    this.#isWide = seed % FILE_EVERY === WIDE
    if (this.#isWide) {
      this.#fleet.placeApart(FAR_MS)
      network.patienceMs = FAR_PATIENCE_MS
    }
    this.#close = isFile ? this.#openFile(folder) : this.#openServer(folder)
    this.#operations = new Operations(this.#random, populated.secrets)
    this.#faults = new Faults({
      ...{ fleet: this.#fleet, random: this.#random, isWide: this.#isWide },
      tell: (line) => this.#tell(line),
      // Some processes have read of it by then.
      onKeys: (host) => this.#askAboutEnded(this.#judge.keysChanged(host), 1.5 * KEY_POLL_MS),
      onChangesLost: (kept) => {
        this.#askAboutEnded(this.#judge.changesLost(kept), 4 * BOUND_MS)
        this.#once.changesLost()
      },
      onLossAccepted: () => this.#judge.lossAccepted(),
    })
  }

  #openServer(folder: string): () => void {
    const server = new PostgresServer(folder, this.#populated.shared)
    if (this.#isWide) server.losesNotification = () => this.#random() < LOST_NOTIFICATIONS
    Object.assign(world, { postgres: server, file: undefined, directory: server })
    return () => server.close()
  }

  #openFile(folder: string): () => void {
    const [host] = this.#fleet.hosts as [Host]
    const file = new DirectoryFile(join(host.folder, DIRECTORY_FILE), folder, this.#populated.file)
    Object.assign(world, { postgres: undefined, file, directory: file })
    time.onSettled = () => file.look()
    return () => file.close()
  }

  /**
   * @param skipped steps in which nothing is done
   * @throws Broken
   */
  async run(steps: number, skipped: ReadonlySet<number> = new Set()): Promise<Findings> {
    try {
      await this.#begin()
      this.#calm = false
      const stepMsMax = this.#isWide ? WIDE_STEP_MS_MAX : STEP_MS_MAX
      for (let step = 0; step < steps; step++) {
        await time.pass(this.#random() * stepMsMax)
        if (!skipped.has(step)) this.#step()
        this.#judge.expectBounded()
        const wrong = this.#judge.wrong ?? this.#once.wrong
        if (wrong !== undefined) throw new Broken(`at ${time.nowMs.toFixed(1)} ms: ${wrong}`, step + 1)
      }
      await this.#comeToRest(steps)
      return { ...this.found, ...this.#once.found, history: this.#history.digest('hex') }
    } finally {
      this.#fleet.close()
      this.#close()
      rmSync(this.#folder, { recursive: true })
    }
  }

  async #begin(): Promise<void> {
    const { pepper, members } = this.#populated
    await this.#fleet.start(pepper)
    this.#truth = new Truth(pepperOf(pepper.toString(), 'the pepper'))
    this.#judge = new Judge(this.#fleet, this.#truth)
    this.#once = new Once(this.#fleet, this.#random, members)
    this.#truth.look()
    this.#truth.onRecorded = (records, ended) => this.#recorded(records, ended)
    for (let count = 0; count < TOKENS; count++) await time.until(this.#addToken(), CALM_MS_MAX)
  }

  #step(): void {
    const dice = this.#random()
    if (this.#underWay < UNDER_WAY_MAX) {
      if (dice < 0.46) this.#check(this.#pick(this.#fleet.programs), this.#anyToken())
      else if (dice < 0.66) this.#operate(this.#operations.anyChange(this.#anyToken().claims))
      else if (dice < 0.69) this.#operate(this.#once.anyChange())
      else if (dice < 0.72) this.#useOnce()
      else if (dice < 0.74) this.#asBoss()
      else if (dice < 0.82) void this.#addToken().catch(() => {})
      else if (dice < 0.835) this.#rollOut()
      else if (dice < 0.86 && this.#isWide)
        this.#operate(this.#operations.largeChange(this.#anyToken().claims))
    }
    if (dice < 0.988) return
    this.found.faults++
    this.#faults.any()
  }

  /** Nothing changes and nothing goes wrong any longer: all say what the directory says. */
  async #comeToRest(steps: number): Promise<void> {
    this.#calm = true
    this.#tell('rest')
    network.heal()
    for (const { machine } of [...this.#fleet.workers, ...this.#fleet.programs]) machine.stoppedUntilMs = 0
    let changes: number
    let found: string | undefined
    do {
      await time.pass(REST_MS)
      changes = this.#truth.lastSequence
      found = await this.#judge
        .expectRest((program, held) => time.until(this.#ask(program, held), CALM_MS_MAX))
        .then(() => this.#judge.wrong)
        .catch((error: Error) => error.message)
      // A change that waited for the lock of a process that was cut off comes only now, so this was not a
      // rest.
    } while (this.#truth.lastSequence !== changes || world.postgres?.isIdle === false)
    found ??= await this.#left()
    found ??= await this.#once
      .expectRest()
      .then(() => this.#once.wrong ?? this.#judge.wrong)
      .catch((error: Error) => error.message)
    if (found !== undefined) throw new Broken(`at rest: ${found}`, steps)
  }

  /** The work that is left when no client asks any more. A lost answer is waited for until its time ends. */
  async #left(): Promise<string | undefined> {
    let left = this.#judge.left()
    for (let waitedMs = 0; left !== undefined && waitedMs < CALM_MS_MAX; waitedMs += REST_MS) {
      await time.pass(REST_MS)
      left = this.#judge.left()
    }
    return left
  }

  // The questions.

  /** Mostly one that is in force, or was lately: with another one, little can go wrong. */
  #anyToken(): Held {
    const lately = this.#truth.tokens.filter(({ said }) => !isOver(said, time.nowMs, 2 * BOUND_MS))
    return this.#pick(lately.length > 0 && this.#random() < 0.85 ? lately : this.#truth.tokens)
  }

  #check(program: Program, held: Held): void {
    // A program that is stopped asks nothing.
    if (time.nowMs < program.machine.stoppedUntilMs) return
    const api = this.#random() < 0.15 ? EXTRA_API : apiOf(held)
    const question = this.#judge.question(program, held, api)
    this.#start(
      this.#ask(program, held, api),
      (answer) => {
        this.found[answer.allowed ? 'allowed' : 'denied']++
        this.#tell(`${program.name}: ${api} ${answer.reason}`)
        this.#judge.answered(question, answer)
      },
      () => this.found.unanswered++,
    )
  }

  #ask({ machine, client }: Program, held: Held, api = apiOf(held)): Promise<CheckAnswer> {
    const header = held.claims === undefined ? 'X-Token' : 'X-Auth-Token'
    return machine.run(() => client.check({ api, credentials: [[header, held.value]] }))
  }

  /** Soon all programs ask about ended tokens, and once more when the bound has passed. */
  #askAboutEnded(ended: readonly Held[], soonMs = 20): void {
    for (const held of ended)
      for (const program of this.#fleet.programs)
        for (const ms of [this.#random() * soonMs, (1 + this.#random() * 0.8) * BOUND_MS])
          time.after(ms, () => this.#check(program, held))
  }

  /**
   * A change that a host has acknowledged counts at once for every caller of it, and so does each one before.
   */
  #askAtOnce({ worker }: Pending): void {
    const ended = this.#truth.tokens.filter(
      ({ said }) => isOver(said, time.nowMs, 0) && !isOver(said, time.nowMs, BOUND_MS),
    )
    for (const program of this.#fleet.programs)
      if (program.worker.host === worker.host && !program.local)
        for (const held of ended) this.#check(program, held)
  }

  // The changes.

  /** An operator of any process of a directory makes a change. */
  #operate(operation: (client: Client, worker: Worker) => Promise<unknown>): void {
    const { pending } = this.#judge
    const idle = [...this.#fleet.operators].filter(([{ machine }]) => !pending.has(operatorOf(machine.name)))
    if (idle.length === 0) return
    const [worker, client] = this.#pick(idle)
    const name = operatorOf(worker.machine.name)
    const change: Pending = { worker, records: [], committedMs: undefined }
    pending.set(name, change)
    this.#start(
      this.#operatorMachine(name).run(() => operation(client, worker)),
      () => {
        pending.delete(name)
        this.found.acknowledged++
        this.#tell(`${name} is done: ${change.records.map(({ action }) => action).join(' ')}`)
        this.#judge.acknowledged(change)
        if (!this.#calm && change.records.length > 0) this.#faults.acknowledged()
        this.#askAtOnce(change)
      },
      () => {
        pending.delete(name)
        this.found.refused++
      },
    )
  }

  /** The administrator of an account makes a change by a right that may be taken meanwhile. */
  #asBoss(): void {
    const account = this.#pick(ACCOUNTS)
    const name = this.#pick(PROJECTS)
    const enabled = this.#random() < 0.8
    const worker = this.#pick([...this.#fleet.operators.keys()])
    const work = async () => {
      const iamToken = await this.#issue(worker, account, BOSS)
      await connect(worker.address, { iamToken }).directory.updateProject({ account, name, enabled })
    }
    this.#start(
      this.#operatorMachine(operatorOf(worker.machine.name)).run(work),
      () => {},
      () => {},
    )
  }

  #useOnce(): void {
    this.#start(
      this.#once.any(),
      () => {},
      () => {},
    )
  }

  /** Another matrix is put in force in every process, or that of the configuration again. */
  #rollOut(): void {
    const isBack = this.#random() < 0.4
    const reason = 'a simulation'
    this.#operate(async ({ directory }, { host: { shadowDigest = '' } }) => {
      const { digest } = await directory.getMatrixRollout({})
      if (isBack)
        await directory.rollBackMatrix({ digest, reason, to: { $case: 'toConfigured', value: true } })
      else await directory.promoteMatrix({ shadowDigest, digest, reason })
    })
  }

  #recorded(records: readonly Recorded[], ended: readonly Held[]): void {
    for (const { sequence, actor, action } of records) this.#tell(`change ${sequence}: ${action} by ${actor}`)
    this.#judge.recorded(records)
    this.#once.recorded(records)
    this.#askAboutEnded(ended)
  }

  /** A token more; one that can be used no longer is forgotten. */
  async #addToken(): Promise<void> {
    const account = this.#pick(ACCOUNTS)
    const worker = this.#pick([...this.#fleet.operators.keys()])
    const userName = this.#pick(SERVICE_USERS)
    const project = this.#random() < 0.5 ? this.#pick(PROJECTS) : undefined
    const key = this.#operations.secrets.get(`${account} key`)
    const isKey = this.#random() < 0.25 && !this.#truth.tokens.some(({ value }) => value === key)
    const machine = this.#operatorMachine(operatorOf(worker.machine.name))
    const value = isKey ? key : await machine.run(() => this.#issue(worker, account, userName, project))
    if (value === undefined) return
    const { tokens } = this.#truth
    if (tokens.length >= TOKENS)
      this.#truth.forget(
        tokens.find(({ said }) => isOver(said, time.nowMs, 3 * BOUND_MS)) ?? this.#pick(tokens),
      )
    this.#truth.add(value)
  }

  async #issue(
    { address }: Worker,
    account: string,
    userName: string,
    project: string | undefined = undefined,
  ): Promise<string> {
    const password = this.#operations.secrets.get(`${account} ${userName}`) ?? ''
    const scope = { account, ...(project !== undefined && { project }) }
    const { value } = await connect(address).issue({ password: { userName, account, password }, scope })
    return value
  }

  #operatorMachine(name: string): Machine {
    const machine = this.#operatorMachines.get(name) ?? new Machine(name)
    this.#operatorMachines.set(name, machine)
    return machine
  }

  #start<T>(work: Promise<T>, done: (result: T) => void, failed: () => void): void {
    this.#underWay++
    work
      .finally(() => this.#underWay--)
      .then(done, (error: unknown) => {
        // Anything else is not an answer that a client expects.
        if (!(error instanceof PortcullisError || error instanceof CallError))
          this.#judge.wrong ??= String((error as Error).stack)
        failed()
      })
  }

  #tell(line: string): void {
    const text = `${time.nowMs.toFixed(3)} ${line}`
    this.#history.update(`${text}\n`)
    this.#narrate(text)
  }

  /** Mostly short, and sometimes longer than the bound. */
  #delayMs(): number {
    const dice = this.#calm ? 0 : this.#random()
    if (dice < 0.95) return 0.1 + this.#random() * 4
    return this.#random() * (dice < 0.998 ? 150 : 1.5 * BOUND_MS)
  }

  #pick = <T>(values: readonly T[]): T => values[Math.floor(this.#random() * values.length)] as T
}

/** An API that the token opens. */
function apiOf({ claims }: Held): string {
  if (claims === undefined) return 'reports'
  return claims.project === undefined ? 'balance' : 'cloud-projects'
}
