/** What goes wrong in a fleet: the network, the clocks, PostgreSQL, processes, keys. */
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { readKeys, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { BOUND_MS, type Fleet, type Host, type Worker } from './fleet.ts'
import { KEY_LIFETIME_MS } from './operations.ts'
import { network } from './world/network.ts'
import { type Machine, time } from './world/time.ts'
import { world } from './world/world.ts'

interface Parts {
  readonly fleet: Fleet
  readonly random: () => number
  readonly tell: (line: string) => void
  /** The file of keys of a host has changed. */
  readonly onKeys: (host: Host) => void
  /** The last changes of the directory are lost. */
  readonly onChangesLost: () => void
}

export class Faults {
  readonly #parts: Parts
  readonly #random: () => number

  constructor(parts: Parts) {
    this.#parts = parts
    this.#random = parts.random
  }

  /** Any of them, for a while that may be longer than the bound. */
  any(): void {
    const { fleet, tell } = this.#parts
    const machines = [...fleet.workers, ...fleet.programs].map(({ machine }) => machine)
    const ms = (0.2 + this.#random() * 3) * BOUND_MS
    const worker = this.#pick(fleet.workers)
    const { name } = worker.machine
    const other = this.#pick(machines)
    const both = [worker.machine, other]
    const faults: readonly [what: string, fault: () => void, disturbed: readonly Machine[]][] = [
      [`${name} is cut off from postgres`, () => network.cutOff(name, 'postgres', ms), both],
      [`${name} and ${other.name} are cut off`, () => network.cutOff(name, other.name, ms), both],
      [
        `sessions of ${name} are silent`,
        () => world.postgres.silence(worker.machine, () => ms * (0.5 + this.#random())),
        both,
      ],
      [`streams of ${name} break`, () => network.breakStreams(name), machines],
      ['a session of PostgreSQL ends', () => world.postgres.terminate((all) => this.#pick(all)), machines],
      [`${other.name} stops`, () => stop(other, ms), both],
      [`${name} stops`, () => stop(worker.machine, ms), both],
      [`${name} is killed`, () => this.#kill(worker), both],
      ['the standby is promoted', () => world.postgres.failOver(true), machines],
      this.#random() < 0.5
        ? ['the standby has all', () => world.postgres.replicate(), []]
        : ['the standby is promoted without the last changes', () => this.#loseChanges(), machines],
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
    for (const machine of disturbed)
      machine.disturbedUntilMs = Math.max(machine.disturbedUntilMs, time.nowMs + 1.5 * ms)
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
    this.#parts.onChangesLost()
    // What the lost changes were is not known, so an operator ends all tokens.
    time.after(this.#random() * 1.5 * BOUND_MS, () => world.postgres.endTokens(Date.now()))
  }

  /** On one host, whose file is copied to the other one soon. */
  #changeKeys(change: (path: string) => void): void {
    const { fleet, tell, onKeys } = this.#parts
    const [first, second] = fleet.hosts as [Host, Host]
    const path = (host: Host) => join(host.folder, 'signing-keys.json')
    try {
      change(path(first))
    } catch (error) {
      // A staged key must be known everywhere before it signs.
      tell((error as Error).message)
      return
    }
    onKeys(first)
    time.after(this.#random() * 300, () => {
      const copy = `${path(second)}.new`
      copyFileSync(path(first), copy)
      renameSync(copy, path(second))
      onKeys(second)
    })
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T
  }
}

function stop(machine: Machine, ms: number): void {
  machine.stoppedUntilMs = Math.max(machine.stoppedUntilMs, time.nowMs + ms)
}

function withdrawActive(path: string): void {
  const active = readKeys(path).find(({ state }) => state === 'active')
  if (active !== undefined) withdrawKey(path, active.keyId, Date.now())
}
