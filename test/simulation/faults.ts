/** The faults of a fleet: the network, the clocks, PostgreSQL, processes, keys. */
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { readKeys, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { BOUND_MS, type Fleet, type Host, type Worker } from './fleet.ts'
import { KEY_LIFETIME_MS } from './operations.ts'
import { type DirectoryFile, torn } from './world/directory-file.ts'
import { network } from './world/network.ts'
import { prepareRestoration } from './world/restoration.ts'
import { type Machine, time } from './world/time.ts'
import { world } from './world/world.ts'

interface Parts {
  readonly fleet: Fleet
  readonly random: () => number
  /** Whether statements of PostgreSQL may take seconds. */
  readonly isWide: boolean
  readonly tell: (line: string) => void
  /** The file of keys of a host has changed. */
  readonly onKeys: (host: Host) => void
  /** The last changes of the directory are lost. */
  readonly onChangesLost: (lastKept: number) => void
  /** An operator has ended the tokens of the lost time. */
  readonly onLossAccepted: () => void
}

type Fault = readonly [what: string, fault: () => void, disturbed: readonly Machine[]]

interface Disturbed {
  readonly ms: number
  readonly both: readonly Machine[]
  readonly machines: readonly Machine[]
}

export class Faults {
  readonly #parts: Parts
  readonly #random: () => number

  /** The content that was copied of the file. */
  #backup: string | undefined
  /** Whether the file is a part of one. */
  #isTorn = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#random = parts.random
  }

  /** Any of them, for a while that may be longer than the bound. */
  any(): void {
    const { fleet, tell } = this.#parts
    const machines = this.#machines
    const ms = (0.2 + this.#random() * 3) * BOUND_MS
    const worker = this.#pick(fleet.workers)
    const { name } = worker.machine
    const other = this.#pick(machines)
    const both = [worker.machine, other]
    const faults: readonly Fault[] = [
      ...(world.file === undefined
        ? this.#ofServer(worker, { ms, both, machines })
        : this.#ofFile(world.file, worker, { ms, both, machines })),
      [`${name} and ${other.name} are cut off`, () => network.cutOff(name, other.name, ms), both],
      [`messages of ${name} and other sidecars are late`, () => this.#slowDown(name, ms), machines],
      [`streams of ${name} break`, () => network.breakStreams(name), machines],
      [`${other.name} stops`, () => stop(other, ms), both],
      [`${name} stops`, () => stop(worker.machine, ms), both],
      [`${name} is killed`, () => this.#kill(worker), both],
      this.#random() < 0.5
        ? ['a key is withdrawn', () => this.#changeKeys(withdrawActive), []]
        : [
            'keys are rotated',
            () => this.#changeKeys((path) => rotateKeys(path, Date.now(), KEY_LIFETIME_MS)),
            [],
          ],
    ]
    const [what, fault, disturbed] = this.#pick(faults)
    tell(`${what}, ${ms.toFixed(0)} ms`)
    fault()
    disturb(disturbed, 1.5 * ms)
  }

  /** An operator got the answer that a change is made. Where the standby is behind, it is promoted soon. */
  acknowledged(): void {
    // Not always after the first one, so that several are lost.
    if (world.postgres?.hasStandby && this.#random() < 0.7)
      time.after(this.#random() * 20, () => this.#loseChanges())
  }

  get #machines(): readonly Machine[] {
    const { workers, programs } = this.#parts.fleet
    return [...workers, ...programs].map(({ machine }) => machine)
  }

  #ofServer({ machine }: Worker, { ms, both, machines }: Disturbed): readonly Fault[] {
    const { name } = machine
    return [
      [`${name} is cut off from postgres`, () => network.cutOff(name, 'postgres', ms), both],
      [
        `sessions of ${name} are silent`,
        () => world.postgres.silence(machine, () => ms * (0.5 + this.#random())),
        both,
      ],
      ['a session of PostgreSQL ends', () => world.postgres.terminate((all) => this.#pick(all)), machines],
      ['the standby is promoted', () => world.postgres.failOver(true), machines],
      ['the standby falls behind', () => world.postgres.replicate(), []],
      ...(this.#parts.isWide ? [['statements take seconds', () => this.#burden(ms), machines] as const] : []),
    ]
  }

  #ofFile(file: DirectoryFile, { machine }: Worker, { ms, both, machines }: Disturbed): readonly Fault[] {
    const isStopped = this.#random() < 0.5
    return [
      [`the disk of ${machine.name} fails`, () => this.#failDisk(machine, ms), both],
      [`the disk of ${machine.name} is full`, () => this.#fillDisk(machine, ms), both],
      ['the file is copied', () => this.#backUp(file), []],
      ['a backup takes the place of the file', () => this.#restore(file, isStopped), machines],
      ['a part of a copy takes the place of the file', () => this.#tear(file, isStopped), machines],
    ]
  }

  #burden(ms: number): void {
    world.postgres.burden(time.nowMs + ms, (1 + 2 * this.#random()) * 1_000)
  }

  /** Between sidecars alone, so that answers to programs are not late, too. */
  #slowDown(name: string, ms: number): void {
    const moreMs = (0.5 + this.#random() * 1.5) * BOUND_MS
    for (const { machine } of this.#parts.fleet.workers) network.slowDown(name, machine.name, ms, moreMs)
  }

  #failDisk(machine: Machine, ms: number): void {
    machine.diskFailsUntilMs = Math.max(machine.diskFailsUntilMs, time.nowMs + ms)
  }

  #fillDisk(machine: Machine, ms: number): void {
    machine.diskFullUntilMs = Math.max(machine.diskFullUntilMs, time.nowMs + ms)
  }

  #backUp(file: DirectoryFile): void {
    if (!this.#isTorn) this.#backup = file.copy() ?? this.#backup
  }

  /** The changes after the backup are lost. An operator ends all tokens with it. */
  #restore(file: DirectoryFile, isStopped: boolean): void {
    const { fleet } = this.#parts
    if (this.#backup === undefined || this.#isTorn) return
    const [row] = file.all('SELECT MAX(sequence) AS last FROM audit')
    const lastKept = prepareRestoration(this.#backup, Number(row?.last), Date.now())
    if (isStopped) for (const { workers } of fleet.hosts) for (const worker of workers) this.#kill(worker)
    file.install(this.#backup)
    this.#backup = undefined
    this.#parts.onChangesLost(lastKept)
    this.#parts.onLossAccepted()
    this.#restartOlder()
  }

  /** No process can start with it, until the whole copy is there. */
  #tear(file: DirectoryFile, isStopped: boolean): void {
    const { fleet } = this.#parts
    const whole = this.#isTorn ? undefined : file.copy()
    if (whole === undefined) return
    this.#isTorn = true
    if (isStopped) for (const { workers } of fleet.hosts) for (const worker of workers) this.#kill(worker)
    file.install(torn(whole, this.#random(), this.#random() < 0.5))
    this.#restartOlder()
    time.after(this.#random() * 3 * BOUND_MS, () => {
      this.#isTorn = false
      file.install(whole)
      this.#restartOlder()
    })
  }

  /** An operator restarts what has another file open than the one that is there. */
  #restartOlder(): void {
    for (const { workers } of this.#parts.fleet.hosts)
      for (const worker of workers) this.#restartIfOlder(worker, time.nowMs)
  }

  #restartIfOlder(worker: Worker, exchangedMs: number): void {
    const { machine } = worker
    if (!machine.alive || machine.beganMs > exchangedMs) return
    time.after(this.#random() * BOUND_MS, () => {
      if (worker.machine === machine) this.#kill(worker)
      // Until it has started it cannot be.
      this.#restartIfOlder(worker, exchangedMs)
    })
  }

  #kill(worker: Worker): void {
    if (!worker.machine.alive || worker.sidecar === undefined) return
    this.#parts.fleet.kill(worker)
    time.after(this.#random() * 2 * BOUND_MS, () => this.#restart(worker))
  }

  #restart(worker: Worker): void {
    this.#parts.fleet.startWorker(worker).catch(() => {
      // Without its directory it does not start. It is started again.
      this.#parts.fleet.kill(worker)
      time.after(500, () => this.#restart(worker))
    })
  }

  #loseChanges(): void {
    if (!world.postgres.failOver(false)) return
    const [row] = world.postgres.all('SELECT MAX(sequence) AS last FROM audit')
    this.#parts.onChangesLost(Number(row?.last))
    this.#parts.tell('the standby is promoted without the last changes')
    const lostForMs = (1 + this.#random() * 4) * BOUND_MS
    disturb(this.#machines, lostForMs)
    // An operator restarts the processes that do not answer. It does not help.
    for (const worker of this.#parts.fleet.workers) if (this.#random() < 0.8) this.#kill(worker)
    // The lost changes are unknown, so an operator ends all tokens.
    time.after(lostForMs, () => {
      world.postgres.endTokens(Date.now())
      this.#parts.onLossAccepted()
    })
  }

  /** On one host, whose file is copied to the other one soon. */
  #changeKeys(change: (path: string) => void): void {
    const { fleet, tell, onKeys } = this.#parts
    const [first, ...others] = fleet.hosts as [Host, ...Host[]]
    const path = (host: Host) => join(host.folder, 'signing-keys.json')
    try {
      change(path(first))
    } catch (error) {
      // A staged key must be known everywhere before it signs.
      tell((error as Error).message)
      return
    }
    onKeys(first)
    for (const other of others)
      time.after(this.#random() * 300, () => {
        const copy = `${path(other)}.new`
        copyFileSync(path(first), copy)
        renameSync(copy, path(other))
        onKeys(other)
      })
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

function disturb(machines: readonly Machine[], ms: number): void {
  for (const machine of machines)
    machine.disturbedUntilMs = Math.max(machine.disturbedUntilMs, time.nowMs + ms)
}

function stop(machine: Machine, ms: number): void {
  machine.stoppedUntilMs = Math.max(machine.stoppedUntilMs, time.nowMs + ms)
}

function withdrawActive(path: string): void {
  const active = readKeys(path).find(({ state }) => state === 'active')
  if (active !== undefined) withdrawKey(path, active.keyId, Date.now())
}
