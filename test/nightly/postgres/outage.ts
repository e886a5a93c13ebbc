/** Hosts that are asked and changed without a pause, and how long they gave no answer. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Host } from '../../support/directory/host.ts'
import { ask } from '../../support/directory/scene.ts'

/** Time between an answer and the next question, in milliseconds. */
const PAUSE_MS = 10

const CHANGE_PAUSE_MS = 100

/** Asks a host about one token that is active, again and again. */
export class Checks {
  /** Answers that no check may get. */
  readonly unexpected: unknown[] = []
  readonly #answeredAtMs: number[] = []
  readonly #running: Promise<unknown>
  #failed = 0
  #stopped = false

  constructor(host: Host, token: string, askers = 1) {
    this.#running = Promise.all(Array.from({ length: askers }, () => this.#run(host, token)))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  /** How many got no answer. */
  get failed(): number {
    return this.#failed
  }

  answeredAfter(timeMs: number): boolean {
    return (this.#answeredAtMs.at(-1) ?? 0) > timeMs
  }

  /** @see longestGapMs */
  outageMs(sinceMs: number): number {
    return longestGapMs(this.#answeredAtMs, sinceMs)
  }

  async #run(host: Host, token: string): Promise<void> {
    for (; !this.#stopped; await delay(PAUSE_MS)) {
      const answer = await ask(host, 'account', token).catch(({ reason }: { reason?: string }) => reason)
      if (answer === 'ALLOWED') this.#answeredAtMs.push(performance.now())
      else if (answer === 'DIRECTORY_UNAVAILABLE') this.#failed++
      else this.unexpected.push(answer)
    }
  }
}

/** Revokes token after token at one host, and asks others whether they know of it. */
export class Revocations {
  /** The tokens whose revocation was acknowledged. */
  readonly acknowledged: string[] = []
  /** How long after the acknowledgement a token was allowed at most, at each witness. */
  readonly allowedForMs: number[]
  readonly #acknowledgedAtMs: number[] = []
  readonly #witnesses: readonly Host[]
  readonly #running: Promise<void>
  readonly #watching = new Set<Promise<unknown>>()
  #stopped = false

  /** @param tokens that are active. It ends after the last one */
  constructor(host: Host, tokens: readonly string[], witnesses: readonly Host[]) {
    this.#witnesses = witnesses
    this.allowedForMs = witnesses.map(() => 0)
    this.#running = this.#run(host, tokens)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
    await Promise.all(this.#watching)
  }

  acknowledgedAfter(timeMs: number): boolean {
    return (this.#acknowledgedAtMs.at(-1) ?? 0) > timeMs
  }

  /** @see longestGapMs */
  outageMs(sinceMs: number): number {
    return longestGapMs(this.#acknowledgedAtMs, sinceMs)
  }

  async #run(host: Host, tokens: readonly string[]): Promise<void> {
    for (const token of tokens) {
      if (this.#stopped) return
      // They remember that it is active, where they can.
      await Promise.all(this.#witnesses.map((witness) => answerOf(witness, token)))
      while (!(await isRevoked(host, token))) if (this.#stopped) return
      const acknowledgedAtMs = performance.now()
      this.acknowledged.push(token)
      this.#acknowledgedAtMs.push(acknowledgedAtMs)
      for (const index of this.#witnesses.keys()) {
        const watched = this.#watch(index, token, acknowledgedAtMs)
        this.#watching.add(watched)
        void watched.then(() => this.#watching.delete(watched))
      }
      await delay(CHANGE_PAUSE_MS)
    }
  }

  async #watch(index: number, token: string, acknowledgedAtMs: number): Promise<void> {
    for (;;) {
      const askedAtMs = performance.now()
      const answer = await answerOf(this.#witnesses[index] as Host, token)
      if (answer === 'CREDENTIAL_REVOKED') return
      if (answer === 'ALLOWED')
        this.allowedForMs[index] = Math.max(this.allowedForMs[index] ?? 0, askedAtMs - acknowledgedAtMs)
      await delay(PAUSE_MS)
    }
  }
}

/** The reason of a host's answer about a token, or of its error. */
export function answerOf(host: Host, token: string): Promise<string | undefined> {
  return ask(host, 'account', token).catch(({ reason }: { reason?: string }) => reason)
}

/** Whether the revocation is acknowledged. It may also be made where it is not. */
async function isRevoked(host: Host, token: string): Promise<boolean> {
  try {
    await host.client.revoke({ value: token })
    return true
  } catch {
    await delay(PAUSE_MS)
    return false
  }
}

/** The longest time without a success, the one before the moment included, in whole milliseconds. */
function longestGapMs(successesAtMs: readonly number[], sinceMs: number): number {
  let longestMs = 0
  for (const [index, atMs] of successesAtMs.entries()) {
    const before = successesAtMs[index - 1]
    if (atMs > sinceMs && before !== undefined) longestMs = Math.max(longestMs, atMs - before)
  }
  return Math.round(longestMs)
}
