/**
 * The promises, and whether an answer keeps them. No program allows for longer than the staleness bound what
 * the directory has ended. A host that has acknowledged a change allows nothing that ended by then. A
 * withdrawn key ends within a look at its file. No user exercises a right that was taken. No acknowledged
 * change is lost, and the audit trail has no gap.
 */
import { join } from 'node:path'
import type { CheckAnswer } from '../../clients/typescript/index.ts'
import { readKeys } from '../../sidecar/authority/keys.ts'
import { during, wasActive } from '../world/standing.ts'
import {
  BOUND_MS,
  DRIFT_MAX,
  type Fleet,
  type Host,
  KEY_POLL_MS,
  type Program,
  type Worker,
} from './fleet.ts'
import { ACCOUNTS, BOSS } from './operations.ts'
import { EXTRA_API, type Held, type Recorded, type Truth } from './truth.ts'
import { network } from './world/network.ts'
import { time } from './world/time.ts'
import { world } from './world/world.ts'

/** A promise holds on any clock of the fleet. */
const ALLOWANCE_MS = BOUND_MS * (1 + 2 * DRIFT_MAX) + 1
/** Within this time a process reads which matrix is in force, when it can again: it tries each second. */
const RECOVERY_MS = 2 * BOUND_MS
const KEY_ALLOWANCE_MS = KEY_POLL_MS * (1 + 2 * DRIFT_MAX) + 1

/** Timers and messages that a process waits for: some thirty at rest, and sixty under way were seen. */
const AWAITED_AT_REST_MAX = 60
const AWAITED_MAX = 200
/** One follows, and takes the next stream before the one that is old ends. */
const STREAMS_MAX = 2

/** A change that an operator has asked for and has no answer to. */
export interface Pending {
  readonly worker: Worker
  /** Its records in the audit trail. */
  readonly records: Recorded[]
  /** When it counted, as far as it did. */
  committedMs: number | undefined
}

/** From when on an answer must be right, because the host that is asked has acknowledged something. */
interface Limits {
  readonly seenMs: number
  readonly replacedMs: number
}

export interface Question {
  readonly program: Program
  readonly held: Held
  readonly api: string
  readonly beganMs: number
  readonly limits: Limits
  /** Tokens that its host must not allow, although the directory does. */
  readonly lost: ReadonlySet<Held> | undefined
}

const NEVER = Number.NEGATIVE_INFINITY

export class Judge {
  /** The promise that was broken, as far as one was. */
  wrong: string | undefined
  /** At most one for each operator, by the name, so that the audit trail says which it was. */
  readonly pending = new Map<string, Pending>()
  readonly #fleet: Fleet
  readonly #truth: Truth
  /** Of each host: when the last change counted that one of its processes has acknowledged. */
  readonly #seenMs = new Map<string, number>()
  /** Of each host: when the last other matrix counted that one of its processes has acknowledged. */
  readonly #replacedMs = new Map<string, number>()
  /** Acknowledged changes, by number. */
  readonly #kept = new Map<number, Recorded & { readonly host: string }>()
  /** Of each host: since when a key is in its file no longer. */
  readonly #withdrawnMs = new Map<string, Map<string, number>>()
  /** Hosts that have acknowledged what is lost, and the tokens that had ended by then. */
  readonly #lost = new Map<string, ReadonlySet<Held>>()
  /** Accounts whose administrator has the role. */
  readonly #bosses = new Set(ACCOUNTS)

  constructor(fleet: Fleet, truth: Truth) {
    this.#fleet = fleet
    this.#truth = truth
  }

  question(program: Program, held: Held, api: string): Question {
    const { name } = program.worker.host
    // A change that a host has acknowledged counts at once for those who ask it.
    const limits = program.local
      ? { seenMs: NEVER, replacedMs: NEVER }
      : { seenMs: this.#seenMs.get(name) ?? NEVER, replacedMs: this.#replacedMs.get(name) ?? NEVER }
    const lost = program.local ? undefined : this.#lost.get(name)
    return { program, held, api, beganMs: time.nowMs, limits, lost }
  }

  /** A program was answered. */
  answered({ program, held, api, beganMs, limits, lost }: Question, { allowed }: CheckAnswer): void {
    if (!allowed) return
    const sinceMs = beganMs - ALLOWANCE_MS
    const what = held.claims?.type ?? 'a static token'
    // The answer of the directory about a forgotten token is not known.
    const isKnown = this.#truth.tokens.includes(held)
    if (isKnown && !wasActive(held.said, Math.max(sinceMs, limits.seenMs), time.nowMs))
      this.wrong ??= `${program.name} allowed ${what}, asked at ${beganMs}, with ${JSON.stringify(limits)}; the directory said ${JSON.stringify(held.said.slice(-4))}`
    if (lost?.has(held) && this.#lost.get(program.worker.host.name) === lost)
      this.wrong ??= `${program.name} allowed ${what}, whose end its host had acknowledged before it was lost`
    this.#judgeKey(program, held, beganMs)
    if (api === EXTRA_API && !this.#wasDisturbed(program, beganMs))
      this.#judgeMatrix(program, held, Math.max(sinceMs, limits.replacedMs))
  }

  #judgeKey({ name, worker, local }: Program, { keyId }: Held, beganMs: number): void {
    if (keyId === undefined) return
    const isDirect = !local && worker !== this.#fleet.follower
    const hosts = isDirect ? [worker.host] : this.#fleet.hosts
    const ends = hosts.map((host) => this.#withdrawnMs.get(host.name)?.get(keyId) ?? Number.POSITIVE_INFINITY)
    const endMs = Math.max(...ends) + KEY_ALLOWANCE_MS + (isDirect ? 0 : ALLOWANCE_MS)
    if (beganMs > endMs)
      this.wrong ??= `${name} allowed a token at ${beganMs} whose key was withdrawn by ${endMs}`
  }

  /** After a disturbance a process decides by the matrix of before until it has read the one in force. */
  #wasDisturbed({ machine, worker, local }: Program, beganMs: number): boolean {
    const hubs = worker === this.#fleet.follower ? this.#fleet.workers : []
    const asked = local ? this.#fleet.workers : [worker]
    const machines = [machine, ...[...asked, ...hubs].map((each) => each.machine)]
    return machines.some(({ disturbedUntilMs }) => beganMs < disturbedUntilMs + RECOVERY_MS)
  }

  #judgeMatrix({ name }: Program, { claims }: Held, sinceMs: number): void {
    const kind = claims?.kind ?? 'static_token'
    const { matrices } = this.#truth
    const opening = this.#fleet.hosts.filter((host) => host.kind === kind)
    const inForce = during(matrices, sinceMs, time.nowMs)
    if (opening.some(({ shadowDigest }) => inForce.some(({ digest }) => digest === shadowDigest))) return
    this.wrong ??= `${name} opened ${EXTRA_API} by ${kind}; since ${sinceMs} were in force ${JSON.stringify(matrices.slice(-4))}`
  }

  /** Something was committed. */
  recorded(records: readonly Recorded[]): void {
    for (const record of records) {
      const { actor, action, account, subject } = record
      const pending = [...this.pending].find(([name]) => actor.includes(name))?.[1]
      if (pending !== undefined) {
        pending.records.push(record)
        pending.committedMs = time.nowMs
      }
      if (actor.includes(BOSS) && !this.#bosses.has(account))
        this.wrong ??= `${actor} made ${action} after the role was taken`
      if (action === 'service_user.set_roles' && subject === BOSS) this.#readBosses()
    }
  }

  /** An operator got the answer that the change is made. */
  acknowledged({ worker, records, committedMs }: Pending): void {
    // A record that is as it was wished already changes nothing.
    if (committedMs === undefined) return
    const { name } = worker.host
    this.#seenMs.set(name, Math.max(committedMs, this.#seenMs.get(name) ?? NEVER))
    for (const record of records) {
      this.#kept.set(record.sequence, { ...record, host: name })
      if (record.action.startsWith('matrix.')) this.#replacedMs.set(name, committedMs)
    }
  }

  /**
   * A directory without the last changes has taken the place of the other one. They are lost.
   *
   * @returns the tokens whose end a host has acknowledged, and must not forget
   */
  changesLost(lastKept: number): readonly Held[] {
    for (const [host, seenMs] of this.#seenMs) {
      const isLost = [...this.#kept].some(([sequence, record]) => sequence > lastKept && record.host === host)
      // A token whose end another host had undone before is not among them, and one that counts only from now
      // on is.
      const ended = this.#truth.tokens.filter(({ said }) => !wasActive(said, seenMs, time.nowMs - 0.001))
      if (isLost) this.#lost.set(host, new Set(ended))
    }
    for (const sequence of this.#kept.keys()) if (sequence > lastKept) this.#kept.delete(sequence)
    for (const pending of this.pending.values()) {
      pending.committedMs = undefined
      pending.records.length = 0
    }
    this.#seenMs.clear()
    this.#replacedMs.clear()
    this.#readBosses()
    return [...this.#lost.values()].flatMap((ended) => [...ended])
  }

  /** From then on every token has ended that was issued before. */
  lossAccepted(): void {
    this.#lost.clear()
  }

  /** The file of keys of a host has changed. @returns the tokens whose key is withdrawn now */
  keysChanged({ name, folder }: Host): readonly Held[] {
    const present = new Set(readKeys(join(folder, 'signing-keys.json')).map(({ keyId }) => keyId))
    const ofHost = this.#withdrawnMs.get(name) ?? new Map<string, number>()
    this.#withdrawnMs.set(name, ofHost)
    const ended = this.#truth.tokens.filter(
      ({ keyId }) => keyId !== undefined && !present.has(keyId) && !ofHost.has(keyId),
    )
    for (const { keyId = '' } of ended) ofHost.set(keyId, time.nowMs)
    return ended
  }

  #readBosses(): void {
    this.#bosses.clear()
    const rows = world.directory.all(
      `SELECT account FROM user_roles JOIN users ON users.id = user_id JOIN accounts ON accounts.id = account_id
       WHERE role = 'iam.admin' AND users.deleted_at_ms IS NULL AND accounts.deleted_at_ms IS NULL`,
    )
    for (const { account } of rows) this.#bosses.add(String(account))
  }

  /** Whatever goes wrong, no process gathers what it waits for. */
  expectBounded(): void {
    for (const { machine } of [...this.#fleet.workers, ...this.#fleet.programs])
      if (machine.awaited > AWAITED_MAX)
        this.wrong ??= `${machine.name} waits for ${machine.awaited} timers and messages`
  }

  /** When nothing changes and nothing goes wrong any longer. @throws Error where a promise is broken */
  async expectRest(ask: (program: Program, held: Held) => Promise<CheckAnswer>): Promise<void> {
    for (const { sidecar, machine, log } of this.#fleet.workers)
      if (sidecar === undefined) throw new Error(`${machine.name} does not run: ${log.slice(-3).join('')}`)
    this.#expectKept()
    for (const program of this.#fleet.programs)
      for (const held of this.#truth.tokens) {
        const { allowed, reason } = await ask(program, held)
        const expected = this.#truth.isActive(held) && this.#isGenuine(held)
        if (allowed !== expected)
          throw new Error(`${program.name} says ${reason}, and the directory ${expected}`)
      }
    const digests = new Set(this.#fleet.workers.map(({ sidecar }) => sidecar?.matrixDigest))
    if (digests.size !== 1) throw new Error(`there are several matrices in force: ${[...digests]}`)
  }

  /** The work that a process has left when no call is under way any more; `undefined`: nothing. */
  left(): string | undefined {
    for (const { machine } of [...this.#fleet.workers, ...this.#fleet.programs]) {
      const { awaited, name } = machine
      if (awaited > AWAITED_AT_REST_MAX) return `${name} waits for ${awaited} timers and messages`
      const { read } = network.streamsOf(machine)
      if (read > STREAMS_MAX) return `${name} reads ${read} streams`
    }
    for (const { sidecar, machine } of this.#fleet.workers) {
      const read = sidecar?.metrics() ?? []
      const samplesOf = (metric: string) =>
        read.filter(({ name }) => name === metric).flatMap(({ samples }) => samples)
      const waiting = samplesOf('portcullis_queue_waiting').filter(({ value }) => Number(value) > 0)
      if (waiting.length > 0) return `${machine.name} has ${JSON.stringify(waiting)} waiting`
      const followers = samplesOf('portcullis_followers')[0]?.value
      const { served } = network.streamsOf(machine)
      if (followers !== served) return `${machine.name} has ${followers} followers of ${served} streams`
    }
    return undefined
  }

  #isGenuine({ keyId }: Held): boolean {
    return keyId === undefined || [...this.#withdrawnMs.values()].every((keys) => !keys.has(keyId))
  }

  #expectKept(): void {
    const rows = world.directory.all('SELECT sequence, actor, action FROM audit ORDER BY sequence')
    const there = new Map(rows.map((row) => [Number(row.sequence), row]))
    for (const { sequence, action, actor } of this.#kept.values()) {
      const row = there.get(sequence)
      if (row?.action !== action || row?.actor !== actor)
        throw new Error(`the change ${sequence} ${action} is lost`)
    }
    let last = 0
    for (const [sequence, { action }] of there) {
      // A restoration has the largest number that was ever given.
      if (sequence !== last + 1 && action !== 'directory.restore')
        throw new Error(`the audit trail has a gap before ${sequence}`)
      last = sequence
    }
  }
}
