/** The directory of a simulated fleet: what it says, its history, and what of that was accepted as lost. */
import type { Position, Touched } from '../../sidecar/directory/feed/touches.ts'
import type { State } from './fleet-tokens.ts'

interface Record extends Position {
  readonly touched: Touched
}

export class FleetDirectory {
  state: State = { ended: new Set(), keys: new Set(['k1', 'k2']) }
  backup = this.state
  records: Record[] = []
  history = 0
  position: Position = { sequence: 1, atMs: 1_000 }
  /** The largest number that was ever given, and the last time. */
  #sequenceMax = 1
  #atMs = 1_000
  /** The positions of its history, and below which number every other one is accepted as lost. */
  readonly #there = new Set<string>()
  #acceptedBelow = 0

  constructor() {
    this.#moveTo(1)
  }

  change(ended: State['ended'], touched: Touched): void {
    this.state = { ...this.state, ended }
    this.#moveTo(this.position.sequence + 1)
    this.records.push({ ...this.position, touched })
  }

  setKeys(keys: State['keys']): void {
    this.state = { ...this.state, keys }
  }

  /** The changes since the backup are gone, and an operator has accepted that by a change of his own. */
  restore({ ended }: State): void {
    this.#begin(ended)
    this.#acceptedBelow = this.#sequenceMax + 1
    this.#moveTo(this.#acceptedBelow)
  }

  /** The last changes are gone unnoticed, what was accepted with them, and others take their numbers. */
  lose(back: number): void {
    this.#acceptedBelow = 0
    this.#begin(this.backup.ended)
    this.#moveTo(Math.max(1, this.position.sequence - back))
  }

  /** Whether it has it, or an operator has accepted that it is lost. */
  has(position: Position): boolean {
    return position.sequence < this.#acceptedBelow || this.#there.has(nameOf(position))
  }

  #begin(ended: State['ended']): void {
    this.state = { ...this.state, ended }
    this.history++
    this.records = []
    this.#there.clear()
  }

  #moveTo(sequence: number): void {
    this.position = { sequence, atMs: ++this.#atMs }
    this.#sequenceMax = Math.max(this.#sequenceMax, sequence)
    this.#there.add(nameOf(this.position))
  }
}

function nameOf({ sequence, atMs }: Position): string {
  return `${sequence} ${atMs}`
}
