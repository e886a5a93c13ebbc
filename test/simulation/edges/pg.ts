/** In place of `pg`: clients of the simulated PostgreSQL. Their pool is the real one. */
import { EventEmitter } from 'node:events'
import type { SQLInputValue } from 'node:sqlite'
import { DatabaseError } from 'pg'
import { network } from '../world/network.ts'
import { type Rows, ServerError, type Session } from '../world/postgres-server.ts'
import { thisMachine, time } from '../world/time.ts'
import { world } from '../world/world.ts'

export { DatabaseError, Pool, types } from 'pg'

interface Config {
  readonly connectionString?: string
  readonly connectionTimeoutMillis?: number
  readonly query_timeout?: number
}
export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
}
type Query = string | (Statement & { readonly query_timeout?: number })
type Callback = (error: Error | null) => void

export class Client extends EventEmitter {
  readonly host = '127.0.0.1'
  readonly ssl = false
  processID: number | undefined
  _ending = false
  _queryable = true
  readonly connection = { stream: { destroy: () => this.#lose() } }
  readonly #config: Config
  readonly #machine = thisMachine()
  #session: Session | undefined
  /** Those that wait for an answer, which come in their order. */
  readonly #waiting: { readonly reject: (error: Error) => void }[] = []
  #arrivesAtMs = 0
  #answersAtMs = 0
  #isLost = false

  constructor(config: Config) {
    super()
    this.#config = config
  }

  connect(callback?: Callback): Promise<this> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    connected.then(() => callback(null), callback)
    return undefined
  }

  async #connect(): Promise<this> {
    await this.#ask<Rows>(this.#config.connectionTimeoutMillis, (answer) => {
      const lost = () => this.#answer(() => this.#lose())
      const notified = (payload: string) =>
        this.#answer(() => this.emit('notification', { channel: '', payload }))
      this.#session = world.postgres.connect({ machine: this.#machine, notified }, lost)
      this.processID = this.#session.id
      answer([])
    })
    return this
  }

  async query(query: Query, given: readonly unknown[] = []): Promise<{ rows: Rows }> {
    const {
      text,
      values = given,
      query_timeout: timeoutMs = this.#config.query_timeout,
    } = typeof query === 'string' ? { text: query } : query
    const rows = await this.#ask<Rows>(timeoutMs, (answer) =>
      this.#session?.ask(text, values as SQLInputValue[], answer),
    )
    return { rows }
  }

  /** Statements that arrive together. The server skips those after one that fails. */
  together(statements: readonly Statement[], timeoutMs: number): Promise<Rows[]> {
    return this.#ask(timeoutMs, (answer) => this.#session?.askAll(statements, answer))
  }

  /** Sends something to the server. A statement that is not answered in time fails, as in `pg`. */
  #ask<Result>(
    timeoutMs: number | undefined,
    arrive: (answer: (result: Result | ServerError) => void) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#isLost)
        return reject(new Error('Client has encountered a connection error and is not queryable'))
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => over(() => reject(new Error('Query read timeout'))), timeoutMs)
      const waiting = { reject: (error: Error) => over(() => reject(error)) }
      this.#waiting.push(waiting)
      const over = (settle: () => void) => {
        clearTimeout(timer)
        const index = this.#waiting.indexOf(waiting)
        if (index >= 0) this.#waiting.splice(index, 1)
        settle()
      }
      this.#send(() =>
        arrive((result) =>
          this.#answer(() =>
            over(() => (result instanceof ServerError ? reject(databaseError(result)) : resolve(result))),
          ),
        ),
      )
    })
  }

  #send(arrive: () => void): void {
    const { machine, statementMs } = world.postgres
    if (this.#isCutOff) return
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, time.nowMs + this.#delayMs + statementMs)
    time.atOn(machine, this.#arrivesAtMs, () => {
      if (!this.#isLost && !this.#isCutOff) arrive()
    })
  }

  #answer(arrive: () => void): void {
    if (this.#isCutOff) return
    const { silentUntilMs = 0 } = this.#session ?? {}
    this.#answersAtMs = Math.max(this.#answersAtMs, silentUntilMs, time.nowMs + this.#delayMs)
    time.atOn(this.#machine, this.#answersAtMs, () => {
      if (!this.#isLost) arrive()
    })
  }

  get #delayMs(): number {
    return network.delayBetween(this.#machine?.name ?? '', world.postgres.machine.name)
  }

  get #isCutOff(): boolean {
    return network.isCutOff(this.#machine?.name ?? '', world.postgres.machine.name)
  }

  /** The connection has ended, and the server learns of it. */
  #lose(): void {
    if (this.#isLost) return
    this.#isLost = true
    this._queryable = false
    this._ending = true
    const session = this.#session
    time.afterOn(world.postgres.machine, network.delayMs(), () => session?.leave())
    for (const { reject } of [...this.#waiting]) reject(new Error('Connection terminated unexpectedly'))
    this.emit('error', new Error('Connection terminated unexpectedly'))
    this.emit('end')
  }

  end(callback?: () => void): Promise<void> | undefined {
    this._ending = true
    this.#isLost = true
    const session = this.#session
    time.afterOn(world.postgres.machine, network.delayMs(), () => session?.leave())
    this.emit('end')
    if (callback === undefined) return Promise.resolve()
    callback()
    return undefined
  }

  ref(): void {}
  unref(): void {}
}

function databaseError({ message, code }: ServerError): DatabaseError {
  return Object.assign(new DatabaseError(message, message.length, 'error'), { code })
}
