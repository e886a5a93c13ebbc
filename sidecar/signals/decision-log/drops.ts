/**
 * Decisions that were given without a line: reported in the log at most once a minute, in the next line, by a
 * metric and by health checks.
 */
import type { Logger } from 'pino'
import type { Health } from '../../base/health.ts'
import { membersOf } from './line-parts.ts'

export interface DropsOptions {
  /** Whether a decision without a line is not an answer. */
  readonly required: boolean
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly health: Pick<Health, 'set'>
  /** Counts such decisions; `undefined`: metrics are off. */
  readonly onDropped?: ((decisions: number) => void) | undefined
}

/** How often the log gets a line, in milliseconds. */
const TELL_MS = 60_000

export class Drops {
  readonly #options: DropsOptions
  /** Decisions that no line has reported yet. */
  untold = 0
  /** Decisions that the log has not reported yet. */
  #unlogged = 0
  /** Why lines cannot be written; the last one that is known. */
  #problem = 'lines arrive faster than they can be written'
  #timer: NodeJS.Timeout | undefined
  #failing = false
  #full = false

  constructor(options: DropsOptions) {
    this.#options = options
  }

  /**
   * There is no room for a decision. Where it must have a line, it is not given, and the failed call leaves a
   * separate trace.
   */
  full(): void {
    if (!this.#full) {
      this.#full = true
      this.#show()
    }
    if (!this.#options.required) this.#count(1)
  }

  /** @param lines that the destination does not take */
  refused(lines: number, problem: string): void {
    this.#problem = problem
    this.#count(lines)
  }

  /** @param error of the last attempt to write; `undefined`: it succeeded, so there is room again */
  attempted(error: Error | undefined): void {
    const { log } = this.#options
    if (error !== undefined) {
      this.#problem = (error as NodeJS.ErrnoException).code ?? error.message
      if (!this.#failing)
        log.warn({ problem: this.#problem }, 'the decision log cannot be written; lines wait')
    } else if (this.#failing) log.info('the decision log is written again')
    else if (!this.#full) return
    this.#failing = error !== undefined
    if (!this.#failing) this.#full = false
    this.#show()
  }

  /** The member of the next line that reports them. */
  tell(): Buffer {
    const dropped = this.untold
    this.untold = 0
    return membersOf({ dropped })
  }

  /** @param lines that were never written */
  close(lines: number): void {
    this.#add(lines)
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#log()
  }

  #count(lines: number): void {
    this.untold += lines
    this.#add(lines)
    if (this.#timer !== undefined) return
    this.#log()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#unlogged > 0) this.#count(0)
    }, TELL_MS).unref()
  }

  #add(lines: number): void {
    this.#unlogged += lines
    this.#options.onDropped?.(lines)
  }

  #log(): void {
    if (this.#unlogged === 0) return
    this.#options.log.warn(
      { decisions: this.#unlogged, problem: this.#problem },
      'decisions were made without a line in the decision log',
    )
    this.#unlogged = 0
  }

  #show(): void {
    const { health, required } = this.#options
    health.set('decision_log_unwritable', this.#failing)
    health.set(required ? 'decision_log_full' : 'decision_log_dropping', this.#full)
  }
}
