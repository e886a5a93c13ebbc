/** The health of all workers, as one, with what each of them has reported last. The primary answers for them. */
import { type HealthState, healthOfAll } from '../base/health.ts'

export class GroupHealth {
  readonly #workers = new Map<object, HealthState>()
  #stopping = false

  get state(): HealthState {
    return healthOfAll([...this.#workers.values()], this.#stopping)
  }

  /** A worker reports its health. */
  report(worker: object, state: HealthState): void {
    this.#workers.set(worker, state)
  }

  /** A worker has ended. */
  remove(worker: object): void {
    this.#workers.delete(worker)
  }

  /** The primary ends. */
  stop(): void {
    this.#stopping = true
  }
}
