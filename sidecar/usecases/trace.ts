/**
 * The trace of attempts in the log: logins that failed, calls that were refused or failed, and tokens that
 * were issued. The first of a kind is in the log at once. More of them within a minute are counted, and the
 * count follows. So an attack leaves a trace, and cannot fill the disk.
 */
import type { Logger } from 'pino'
import { CallError } from '../base/call-error.ts'
import type { Meters } from './decision-meters.ts'

type Level = 'info' | 'warn' | 'error'

/** Something that is worth a line. */
export interface Attempt {
  readonly level: Level
  readonly message: string
  /**
   * The common fields of attempts that are counted together. Never a secret, and no text that only a
   * client chose.
   */
  readonly by: Readonly<Record<string, string | undefined>>
  /** The fields that only the line of a single attempt has. It is asked for no others. */
  readonly details?: (() => object | Promise<object>) | undefined
  /** How many attempts a minute have a separate line; default: 1. */
  readonly lines?: number
}

/** How long attempts of a kind are counted, in milliseconds. */
export const WINDOW_MS = 60_000

/** Most kinds that are counted at a time. Those beyond are counted together, whatever their source. */
const KINDS_MAX = 1_000

/** Unexpected errors that are in the log with their stacks, each minute. */
const UNEXPECTED_LINES = 10

interface Kind {
  readonly attempt: Attempt
  readonly sinceMs: number
  lines: number
  counted: number
}

export class Trace {
  readonly #log: Pick<Logger, Level>
  readonly #now: () => number
  readonly #meters: Meters | undefined
  readonly #kinds = new Map<string, Kind>()
  #timer: NodeJS.Timeout | undefined

  /**
   * @param now monotonic clock, in milliseconds
   * @param meters count every attempt and every error
   */
  constructor(
    log: Pick<Logger, Level>,
    now: () => number = () => performance.now(),
    meters?: Meters | undefined,
  ) {
    this.#log = log
    this.#now = now
    this.#meters = meters
  }

  record(attempt: Attempt): void {
    this.#meters?.attempted(attempt.message, attempt.by.reason)
    const kind = this.#kindOf(attempt)
    if (kind.lines >= (attempt.lines ?? 1)) {
      kind.counted++
      return
    }
    kind.lines++
    void this.#write(attempt)
  }

  /**
   * A call that got no answer because of its caller, or because of too many calls. Other errors are not
   * attempts.
   */
  refused(message: string, error: unknown, by: Attempt['by'], details?: Attempt['details']): void {
    const cause = error instanceof CallError && error.cause instanceof CallError ? error.cause : error
    if (!(cause instanceof CallError) || !isRefusal(cause)) return
    this.record({ level: 'warn', message, by: { reason: cause.reason, ...by }, details })
  }

  /**
   * A call that the sidecar could not answer for any client: a full disk, a database or an upstream that does
   * not answer, a defect. Errors of other sorts are not failures.
   *
   * @param details of the call, for its line
   */
  failed(error: unknown, details: object = {}): void {
    this.#meters?.failed(error instanceof CallError ? error.reason : 'INTERNAL')
    if (!(error instanceof CallError)) {
      const message = 'a call failed with an unexpected error'
      const facts = () => ({ err: error, ...details })
      this.record({ level: 'error', message, by: {}, details: facts, lines: UNEXPECTED_LINES })
      return
    }
    if (!isFailure(error)) return
    const { cause, reason } = error
    const facts = () => ({ problem: error.message, err: cause, ...details })
    this.record({ level: 'warn', message: 'a call got no answer', by: { reason }, details: facts })
  }

  /** Writes the counts of the kinds whose minute has ended, or of all. */
  flush(all = true): void {
    const nowMs = this.#now()
    for (const [key, kind] of this.#kinds) {
      if (!all && nowMs < kind.sinceMs + WINDOW_MS) continue
      this.#kinds.delete(key)
      const { level, message, by } = kind.attempt
      if (kind.counted > 0)
        this.#log[level](
          { ...by, more: kind.counted, seconds: Math.ceil((nowMs - kind.sinceMs) / 1000) },
          `${message} (repeated)`,
        )
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.flush()
  }

  #kindOf(attempt: Attempt): Kind {
    this.#flushSoon()
    let key = JSON.stringify([attempt.message, attempt.by])
    let counted = attempt
    if (this.#kinds.size >= KINDS_MAX && !this.#kinds.has(key)) {
      const { reason } = attempt.by
      counted = { ...attempt, by: { reason, source: 'many' } }
      key = JSON.stringify([attempt.message, counted.by])
    }
    let kind = this.#kinds.get(key)
    if (kind !== undefined && this.#now() >= kind.sinceMs + WINDOW_MS) {
      this.flush(false)
      kind = undefined
    }
    if (kind === undefined) {
      kind = { attempt: counted, sinceMs: this.#now(), lines: 0, counted: 0 }
      this.#kinds.set(key, kind)
    }
    return kind
  }

  /** One timer for all kinds. It keeps no process alive. */
  #flushSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.flush(false)
      if (this.#kinds.size > 0) this.#flushSoon()
    }, WINDOW_MS).unref()
  }

  async #write({ level, message, by, details }: Attempt): Promise<void> {
    let more: object | undefined
    try {
      // Survives: `details?.()` → `details()`. Its error is caught, and the line has no details either way.
      more = await details?.()
    } catch {
      // The line says what is known without them.
    }
    this.#log[level]({ ...by, ...more }, message)
  }
}

/** Whether the sidecar could not have answered any client. */
export function isFailure(error: unknown): boolean {
  if (!(error instanceof CallError)) return true
  const { cause, code } = error
  return cause !== undefined && !(cause instanceof CallError) && code !== 'INVALID_ARGUMENT'
}

/** Whether the call failed because of its caller or their rate, and not because of its content. */
function isRefusal({ code, cause }: CallError): boolean {
  return (
    code === 'UNAUTHENTICATED' ||
    code === 'PERMISSION_DENIED' ||
    // A full disk has a cause, and is not a fault of the requester.
    (code === 'RESOURCE_EXHAUSTED' && cause === undefined)
  )
}
