/**
 * In place of `node:sqlite`: a database is closed when the process that has it open ends, and nothing waits
 * for a lock while time stands still.
 */
import { DatabaseSync as Real } from 'node:sqlite'
import { thisMachine } from '../world/time.ts'

export { StatementSync } from 'node:sqlite'

export class DatabaseSync extends Real {
  readonly #machine = thisMachine()

  constructor(path: string, options: ConstructorParameters<typeof Real>[1] = {}) {
    super(path, { ...options, timeout: 0 })
    this.#machine?.open.set(this, () => super.close())
  }

  override close(): void {
    this.#machine?.open.delete(this)
    super.close()
  }
}
