/** Follows the sidecar, so that the program decides in its own memory (clients/conformance/README.md). */
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import { CLOCK } from './clock.ts'
import { PortcullisError } from './error.ts'
import { LocalMemory, type LocalMemoryOptions } from './local-memory.ts'
import { Ask, type LocalQuestion } from './local-question.ts'
import { WrongSidecar } from './local-rules.ts'
import { Pauses, REFUSALS } from './pauses.ts'
import { type CheckAnswer, checkAnswer } from './values.ts'

export interface LocalOptions extends LocalMemoryOptions {
  /**
   * Called once for each reason why the sidecar cannot be followed; each check is asked then. Default: a line
   * on standard error.
   */
  readonly onFailure?: (error: Error) => void
}

/** A response comes at least every second. A stream that is silent for longer is lost. */
const QUIET_MS_MAX = 2_000

/** The clocks of two machines drift. A new stream compares them anew. */
const STREAM_MS_MAX = 600_000

/**
 * A stream of responses; to end it early is to return from its iteration. It begins when there is a
 * connection: its times count from then on.
 */
type Open = (
  begin: () => wire.WatchChangesRequest,
  signal: AbortSignal,
) => AsyncIterable<wire.WatchChangesResponse>

export class LocalMode {
  readonly #memory: LocalMemory
  readonly #open: Open
  readonly #onFailure: (error: Error) => void
  readonly #reported = new Set<string>()
  /** Questions about a token and an address that are asked, and whose answers may be remembered. */
  readonly #asking = new Map<string, Promise<unknown>>()
  readonly #stop = new AbortController()

  constructor(open: Open, { onFailure = printFailure, ...options }: LocalOptions) {
    this.#memory = new LocalMemory(options)
    this.#open = open
    this.#onFailure = onFailure
    void this.#follow()
  }

  /** The answer from memory; `undefined`: the sidecar must be asked. */
  recall(question: LocalQuestion): CheckAnswer | undefined {
    const recalled = this.#memory.recall(question, CLOCK.now())
    return recalled instanceof Ask ? undefined : recalled
  }

  /** The answer from memory, or from the sidecar, which is asked once about a token and an address. */
  async answer(question: LocalQuestion, ask: () => Promise<wire.CheckResponse>): Promise<CheckAnswer> {
    const first = this.#memory.recall(question, CLOCK.now())
    if (!(first instanceof Ask)) return first
    const key = this.#memory.isFollowing(CLOCK.now()) ? keyOf(first) : undefined
    const asking = key === undefined ? undefined : this.#asking.get(key)
    if (asking === undefined) return this.#ask(question, first, key, ask)
    await asking
    const second = this.#memory.recall(question, CLOCK.now())
    return second instanceof Ask ? this.#ask(question, second, undefined, ask) : second
  }

  close(): void {
    this.#stop.abort()
  }

  async #ask(
    question: LocalQuestion,
    recalled: Ask,
    key: string | undefined,
    ask: () => Promise<wire.CheckResponse>,
  ): Promise<CheckAnswer> {
    const asked = ask()
    if (key !== undefined) {
      const settled = () => void this.#asking.delete(key)
      this.#asking.set(key, asked.then(settled, settled))
    }
    const response = await asked
    const answer = checkAnswer(response, question.request !== undefined)
    this.#memory.learn(question, recalled, response)
    // The memory forgets it when a change touches it, and a cache would not.
    return response.position === undefined ? answer : { ...answer, cacheForMs: 0 }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    const pauses = new Pauses()
    while (!signal.aborted) {
      let pauseMs = 0
      try {
        await this.#read(pauses)
      } catch (error) {
        if (signal.aborted) return
        const code = error instanceof PortcullisError ? error.code : ''
        this.#report(error as Error, code)
        pauseMs = pauses.after(code)
      }
      await pause(pauseMs, signal)
    }
  }

  /** Reads one stream. Resolves when it was read for long enough. */
  async #read(pauses: Pauses): Promise<void> {
    const ending = new AbortController()
    const { signal } = ending
    const end = () => ending.abort()
    this.#stop.signal.addEventListener('abort', end)
    let isSilent = false
    const silent = () => {
      isSilent = true
      end()
    }
    let enough: NodeJS.Timeout | undefined
    let quiet: NodeJS.Timeout | undefined
    const begin = () => {
      enough = setTimeout(end, STREAM_MS_MAX).unref()
      quiet = setTimeout(silent, QUIET_MS_MAX).unref()
      return this.#memory.begin(CLOCK.now(), CLOCK.jumpedMs)
    }
    try {
      for await (const response of this.#open(begin, signal)) {
        const goesOn = this.#memory.hear(response, CLOCK.now(), CLOCK.jumpedMs)
        pauses.heard()
        if (!goesOn) return
        clearTimeout(quiet)
        quiet = setTimeout(silent, QUIET_MS_MAX).unref()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      clearTimeout(quiet)
      clearTimeout(enough)
      this.#stop.signal.removeEventListener('abort', end)
    }
    if (isSilent || !signal.aborted) throw new Error('the sidecar says nothing any more')
  }

  /** Once for each reason: an interruption is ordinary, a refusal is not. */
  #report(error: Error, code: string): void {
    const name = error instanceof WrongSidecar ? error.message : code
    if ((!(error instanceof WrongSidecar) && !REFUSALS.has(code)) || this.#reported.has(name)) return
    this.#reported.add(name)
    try {
      this.#onFailure(error)
    } catch {
      // An error in a listener must not end the following.
    }
  }
}

function keyOf({ credential }: Ask): string | undefined {
  return credential && `${credential.place}\0${credential.value}\0${credential.address}`
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    timer.unref()
    signal.addEventListener('abort', done)
  })
}

function printFailure(error: Error): void {
  console.error(`portcullis: each check is asked, because the sidecar cannot be followed: ${error.message}`)
}
