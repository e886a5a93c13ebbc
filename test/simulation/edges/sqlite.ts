/**
 * In place of `node:sqlite`: a database is closed when the process that has it open ends. Nothing waits for a
 * lock while time stands still, and the disk may be full.
 */
import { DatabaseSync as Real } from 'node:sqlite'
import { thisMachine, time } from '../world/time.ts'

export { StatementSync } from 'node:sqlite'

export class DatabaseSync extends Real {
  readonly #machine = thisMachine()

  constructor(path: string, options: ConstructorParameters<typeof Real>[1] = {}) {
    super(path, { ...options, timeout: 0 })
    this.#machine?.open.set(this, () => super.close())
  }

  override exec(sql: string): void {
    if (sql === 'COMMIT' && time.nowMs < (this.#machine?.diskFullUntilMs ?? 0)) {
      // As SQLite does where its log has no room.
      super.exec('ROLLBACK')
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
    }
    super.exec(sql)
  }

  override close(): void {
    this.#machine?.open.delete(this)
    super.close()
  }
}
