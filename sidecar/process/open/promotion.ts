/** Follows the matrix that is promoted in the directory, so that every process has the same one in force. */
import type { Logger } from 'pino'
import type { PromotedMatrices } from '../../authority/promoted-matrices.ts'
import { CallError } from '../../base/call-error.ts'
import type { Health } from '../../base/health.ts'
import { contentOf, jsonOfKept, jsonOfMatrix, readContent } from '../../rules/matrix-file/matrix-content.ts'
import type { Rules } from '../../rules/rules.ts'
import type { MatrixRollout } from '../../usecases/matrix-rollout.ts'
import type { Shadow } from '../../usecases/shadow.ts'

/** Pause before another try after a failure, in milliseconds. */
const RETRY_MS = 1_000

interface Parts {
  readonly promoted: PromotedMatrices
  readonly rules: Rules
  readonly log: Logger
  readonly health: Health
}

/** Begins to follow. @throws Error where the promoted matrix cannot be used */
export async function openPromotion(parts: Parts): Promise<Promotion> {
  const promotion = new Promotion(parts)
  try {
    await promotion.begin()
    return promotion
  } catch (error) {
    promotion.close()
    throw error
  }
}

class Promotion {
  readonly #parts: Parts
  readonly #closed = new AbortController()
  readonly #stopWatching: () => void
  /** Digest of the promoted matrix that is in force here; empty: none is. */
  #digest = ''
  #following: Promise<void> = Promise.resolve()
  #isOwn = false
  #retry: NodeJS.Timeout | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#stopWatching = parts.promoted.watch(() => void this.#followOn())
  }

  /**
   * Puts in force what is in force in the directory now.
   *
   * @throws CallError where the directory does not answer, or an Error where its matrix cannot be used; then
   *   the matrix before stays in force
   */
  follow(): Promise<void> {
    // One after the other, so that the last one counts.
    const next = this.#following.catch(() => {}).then(() => this.#follow())
    this.#following = next
    return next
  }

  /** The first time: a sidecar must not begin with rules that were replaced. @throws Error */
  async begin(): Promise<void> {
    try {
      await this.follow()
      this.#isOwn = !(await this.#parts.promoted.wasPromoted())
    } catch (error) {
      // Where the directory does not answer, the sidecar is not ready for another reason.
      if (!(error instanceof CallError))
        throw new Error(
          `the promoted matrix of the directory cannot be used (${(error as Error).message}); \`portcullis matrix rollback --offline\` goes back to the one before, or promote another one at another host`,
          { cause: error },
        )
      this.#tryAgain()
    }
  }

  /** Whether none was ever in force at the start but that of the configuration. */
  get isOwn(): boolean {
    return this.#isOwn
  }

  /** The parts for the operations on the matrix in force. */
  rollout(shadow: Shadow | undefined): MatrixRollout {
    const { signal } = this.#closed
    return {
      ...{ rules: this.#parts.rules, shadow },
      follow: () => this.follow(),
      jsonOf: (matrix) => jsonOfMatrix(matrix, signal),
      jsonOfKept,
      contentOf: (matrix) => contentOf(matrix, signal),
    }
  }

  close(): void {
    this.#closed.abort()
    this.#stopWatching()
    clearTimeout(this.#retry)
  }

  async #followOn(): Promise<void> {
    try {
      await this.follow()
    } catch (error) {
      if (this.#closed.signal.aborted) return
      if (!(error instanceof CallError)) this.#refused(error)
      this.#tryAgain()
    }
  }

  async #follow(): Promise<void> {
    const { promoted, rules, log, health } = this.#parts
    const kept = await promoted.inForce()
    const digest = kept?.digest ?? ''
    if (digest !== this.#digest) {
      await rules.promote(kept && (await readContent(kept, this.#closed.signal)))
      this.#digest = digest
      if (kept === undefined) log.info('the matrix of the configuration is in force again')
      else log.info({ matrix_digest: digest }, 'the promoted matrix of the directory is in force')
    }
    health.set('promoted_matrix_unusable', false)
  }

  #refused(error: unknown): void {
    const { log, health } = this.#parts
    if (health.state.problems.promoted_matrix_unusable === undefined)
      log.error(
        { err: error },
        'the promoted matrix of the directory cannot be used; the one before stays in force, and the sidecar is not ready',
      )
    health.set('promoted_matrix_unusable', true)
  }

  #tryAgain(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#followOn(), RETRY_MS).unref()
  }
}
