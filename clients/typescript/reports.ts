/** Reports of guards: their sidecar does not answer, or its matrix does not have their API. */
import { namesMeant } from '../../engine/meant.ts'
import type { Client } from './client.ts'
import { PortcullisError } from './error.ts'
import { Outage } from './outage.ts'

/** The reported error. The matrix may get the API later: requests then pass. */
class UnknownApiError extends Error {
  override readonly name = 'UnknownApiError'

  constructor(api: string, known: readonly string[]) {
    const [meant] = namesMeant(api, known)
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
    super(`the matrix has no API \`${api}\`, so the requests of its guard are denied${hint}`)
  }
}

/** A connection that can say what the matrix has. */
type Knowing = Partial<Pick<Client, 'getMatrix'>>

/** The listener of the program; without one, events are printed. */
type Listener = ((error: unknown) => void) | undefined

/** Most APIs of a connection that are reported. They are those of guards, and not those of requests. */
const TOLD_MAX = 1_000

const REPORTS = new WeakMap<object, Reports>()

/** Of all guards of a connection. Times are on one clock, in milliseconds. */
export class Reports {
  readonly #client: () => Knowing
  readonly #outage = new Outage()
  readonly #unknown = new Set<string>()
  /** Asked once, for all guards of a start. */
  #atStart: Promise<readonly string[] | undefined> | undefined

  private constructor(client: () => Knowing) {
    this.#client = client
  }

  /** @param key the connection, or the options that open it */
  static of(key: object, client: () => Knowing): Reports {
    let reports = REPORTS.get(key)
    if (reports === undefined) {
      reports = new Reports(client)
      REPORTS.set(key, reports)
    }
    return reports
  }

  /** At the start of a guard: looks whether a sidecar answers, and whether its matrix has the API. */
  async begin(api: string, listener: Listener, now: () => number): Promise<void> {
    const isFirst = this.#atStart === undefined
    this.#atStart ??= this.#apis()
    try {
      const known = await this.#atStart
      if (known !== undefined) this.#tellIfUnknown(api, known, listener)
    } catch (error) {
      // Another error is an answer.
      if (!isFirst || !(error instanceof PortcullisError) || !UNANSWERED.has(error.code)) return
      if (listener !== undefined) call(listener, error)
      else print(this.#outage.starts(error.message, now()))
    }
  }

  /** The sidecar has said that it does not know the API. */
  async unknown(api: string, listener: Listener): Promise<void> {
    if (this.#unknown.has(api)) return
    this.#tellIfUnknown(api, (await this.#apis().catch(() => undefined)) ?? [], listener)
  }

  /** A request was answered, by the sidecar or from the memory of local mode. */
  answered(now: () => number): void {
    if (this.#outage.isOpen) print(this.#outage.answers(now()))
  }

  /** A request could not be checked. */
  failed(error: unknown, listener: Listener, now: () => number): void {
    if (listener !== undefined) call(listener, error)
    else if (isNoAnswer(error)) print(this.#outage.fails(`${error.code} ${error.message}`, now()))
    else print(`no answer, so a request was refused: ${error}`)
  }

  #tellIfUnknown(api: string, known: readonly string[], listener: Listener): void {
    if (known.includes(api) || this.#unknown.has(api) || this.#unknown.size >= TOLD_MAX) return
    this.#unknown.add(api)
    const error = new UnknownApiError(api, known)
    if (listener !== undefined) call(listener, error)
    else print(error.message)
  }

  async #apis(): Promise<readonly string[] | undefined> {
    return (await this.#client().getMatrix?.())?.apis.map(({ id }) => id)
  }
}

const UNANSWERED: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED'])

/** Whether the same request may get an answer later. Otherwise something is wrong with the program. */
export function isNoAnswer(error: unknown): error is PortcullisError {
  return error instanceof PortcullisError && error.code !== 'INVALID_ARGUMENT'
}

function call(listener: (error: unknown) => void, error: unknown): void {
  try {
    listener(error)
  } catch {
    // An error in a listener must not let the request pass.
  }
}

function print(line: string | undefined): void {
  if (line !== undefined) console.error(`portcullis: ${line}`)
}
