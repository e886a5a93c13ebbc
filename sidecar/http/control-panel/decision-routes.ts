/**
 * The live tail of decisions as the body of an answer: lines of JSON, for as long as the page listens and
 * may.
 */
import { Readable } from 'node:stream'
import { CallError } from '../../base/call-error.ts'
import type { Listening } from '../../usecases/control-panel/operator.ts'

export interface TailOptions {
  readonly listening: Listening
  /** Whether the listener still may listen. Rejects with a CallError if not. */
  readonly confirm: () => Promise<void>
}

/**
 * Time between two batches of lines, in milliseconds. It bounds what a listener costs: a batch has at most
 * `WAITING_BYTES_MAX`.
 */
export const BATCH_MS = 100

/** Time between two looks at whether they still may, in milliseconds. */
export const CONFIRM_MS = 1_000

/** The longest time without a line, in milliseconds: proxies end a silent answer. */
export const KEEP_ALIVE_MS = 15_000

/**
 * How long a reader has for what is left when it ends, in milliseconds. One who does not read must not hold
 * up a stop.
 */
export const LAST_MS = 1_000

const KEEP_ALIVE = Buffer.from('{"alive":true}\n')

/**
 * A slow reader gets nothing further before it has read: meanwhile the listener keeps what it has room for.
 */
export class TailBody extends Readable {
  readonly #options: TailOptions
  readonly #timers: readonly NodeJS.Timeout[]
  #wanted = false
  #confirming = false
  #ended = false
  #silentMs = 0
  #last: NodeJS.Timeout | undefined

  constructor(options: TailOptions) {
    super({ highWaterMark: 1 })
    this.#options = options
    const { samplePercent, workers } = options.listening
    this.push(lineOf({ listening: { samplePercent, workers } }))
    this.#timers = [
      setInterval(() => this.#send(), BATCH_MS),
      setInterval(() => void this.#confirm(), CONFIRM_MS),
    ]
  }

  override _read(): void {
    this.#wanted = true
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#close()
    clearTimeout(this.#last)
    done(error)
  }

  /** Ends it where they may no longer listen. Never rejects. */
  async #confirm(): Promise<void> {
    if (this.#confirming) return
    this.#confirming = true
    try {
      await this.#options.confirm()
    } catch (error) {
      this.end(error instanceof CallError ? error.reason : 'INTERNAL')
    }
    this.#confirming = false
  }

  /** @param reason why, for the last line */
  end(reason: string): void {
    if (this.#ended || this.destroyed) return
    this.#ended = true
    this.#close()
    this.push(lineOf({ ended: reason }))
    this.push(null)
    this.#last = setTimeout(() => this.destroy(), LAST_MS)
  }

  #send(): void {
    this.#silentMs += BATCH_MS
    if (!this.#wanted) return
    const lines = this.#options.listening.listener.take()
    if (lines === undefined && this.#silentMs < KEEP_ALIVE_MS) return
    this.#wanted = false
    this.#silentMs = 0
    this.push(lines ?? KEEP_ALIVE)
  }

  #close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#options.listening.listener.close()
  }
}

function lineOf(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}
