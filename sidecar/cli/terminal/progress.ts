/**
 * Shows on a terminal how far a long command is, and says what was left when Ctrl-C ends it. Nothing is shown
 * in a pipe, and nothing of a command that is quick.
 */
import { CommandError } from './errors.ts'
import { forTerminal, paint } from './terminal.ts'

export interface ProgressOptions {
  /** The word for units that are done: `read`, `written`. */
  readonly done: string
  /** `bytes`, or what is counted, for example `rows`. */
  readonly unit: string
  /** `undefined`: it is not known how many there are. */
  readonly total?: number | undefined
  /**
   * The state that Ctrl-C leaves, for a command that removes what it has begun: it ends with the reason of
   * `signal`.
   */
  readonly leaves?: string
  readonly stream?: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs?: () => number
}

/** A command that takes less shows nothing, in milliseconds. */
const QUICK_MS = 1_000

/** How often the line is written again, in milliseconds. */
const EVERY_MS = 200

/** Ends with `using`: then the line is taken away, and Ctrl-C does what it did before. */
export class Progress implements Disposable {
  readonly #options: Required<Omit<ProgressOptions, 'total' | 'leaves'>>
  readonly #leaves: string | undefined
  readonly #controller = new AbortController()
  readonly #isShown: boolean
  readonly #startMs: number
  #total: number | undefined
  #done = 0
  #writtenMs = 0
  /** Whether the line stands on the terminal. */
  #stands = false
  readonly #interrupt = () => {
    this.clear()
    const { done, unit, stream } = this.#options
    const left = this.#total === undefined ? '' : `; ${amount(this.#total - this.#done, unit)} left`
    const text = `interrupted: ${done} ${this.#soFar()}${left}`
    if (this.#leaves !== undefined)
      return this.#controller.abort(new CommandError('INTERRUPTED', `${text}; ${this.#leaves}`))
    const name = paint('yellow', 'portcullis:', process.stderr)
    stream.write(`${forTerminal(`${name} ${text}`)}\n`)
    // As the shell expects it of a program that Ctrl-C has ended.
    process.kill(process.pid, 'SIGINT')
  }

  constructor(options: ProgressOptions) {
    const { stream = process.stderr, monotonicMs = () => performance.now() } = options
    this.#options = { done: options.done, unit: options.unit, stream, monotonicMs }
    this.#total = options.total
    this.#leaves = options.leaves
    this.#isShown = stream.isTTY === true && process.env.TERM !== 'dumb'
    this.#startMs = monotonicMs()
    this.#writtenMs = this.#startMs + QUICK_MS - EVERY_MS
    process.once('SIGINT', this.#interrupt)
  }

  /** Aborted by Ctrl-C where the command removes what it has begun. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Counts units that are done. */
  add(count: number): void {
    this.#done += count
    if (!this.#isShown) return
    const nowMs = this.#options.monotonicMs()
    if (nowMs - this.#writtenMs < EVERY_MS) return
    this.#writtenMs = nowMs
    const { done, stream } = this.#options
    const width = Math.max(1, (stream.columns || 80) - 1)
    stream.write(`${ERASE}${`${done} ${this.#soFar()}${this.#speed(nowMs)}`.slice(0, width)}`)
    this.#stands = true
  }

  /** Units that need not be done. */
  leaveOut(count: number): void {
    if (this.#total !== undefined) this.#total -= count
  }

  /** Makes room for other output. */
  clear(): void {
    if (this.#stands) this.#options.stream.write(ERASE)
    this.#stands = false
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#interrupt)
    this.clear()
  }

  #soFar(): string {
    const { unit } = this.#options
    if (this.#total === undefined) return amount(this.#done, unit)
    return `${amount(this.#done, unit, false)} of ${amount(this.#total, unit)}`
  }

  #speed(nowMs: number): string {
    const perSecond = (this.#done * 1_000) / Math.max(1, nowMs - this.#startMs)
    const seconds = this.#total === undefined ? undefined : (this.#total - this.#done) / perSecond
    const left = seconds !== undefined && seconds < MANY_SECONDS ? `, ${durationLeft(seconds)} left` : ''
    return `, ${amount(perSecond, this.#options.unit, false)}/s${left}`
  }
}

/** A rest of more than a year is not worth a word. */
const MANY_SECONDS = 365 * 86_400

const ERASE = '\r\u001b[2K'

/** `3.2 GB`, `12,000 rows`. @param named whether the rows have their name */
function amount(count: number, unit: string, named = true): string {
  if (unit !== 'bytes') return `${Math.round(count).toLocaleString('en')}${named ? ` ${unit}` : ''}`
  const power = Math.max(0, Math.min(BYTES.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3)))
  const value = count / 1_000 ** power
  return `${power > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${BYTES[power]}`
}

const BYTES = ['bytes', 'KB', 'MB', 'GB', 'TB']

function durationLeft(seconds: number): string {
  if (seconds < 0) return '0 s'
  if (seconds < 90) return `${Math.ceil(seconds)} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
