/** The matrices that the page has seen, and how two of them differ. */
import type { Matrix, Steps } from '../../../engine/index.ts'
import type { Comparison } from '../../../matrix/compare.ts'
import type { GetMatrixRolloutResponse } from '../../gen/portcullis/v1/directory.ts'
import { texts } from '../../texts/en/operators.ts'
import { ApiError } from './errors.ts'

const words = texts.matrix.cells

/** Two matrices, and how they differ. */
export interface Compared {
  /** Digests of the two. */
  readonly of: readonly [before: string, after: string]
  readonly before: Matrix
  readonly after: Matrix
  readonly comparison: Comparison
}

export interface Sources {
  /** The matrix in force and its shadow, as they are now, and an earlier one. */
  readonly read: (toDigest: string, signal: AbortSignal) => Promise<GetMatrixRolloutResponse>
  /** Takes the steps, and lets the page draw meanwhile. */
  readonly run: <T>(steps: Steps<T>, signal: AbortSignal) => Promise<T>
}

/** Each is read once: its digest says what it is. */
export class Matrices {
  readonly #sources: Sources
  readonly #seen = new Map<string, Matrix>()

  constructor(sources: Sources) {
    this.#sources = sources
  }

  /** @throws ApiError where the sidecar no longer has one of them, or TypeError where one is not a matrix */
  async compared(digest: string, otherDigest: string, signal: AbortSignal): Promise<Compared> {
    if (!this.#seen.has(digest) || !this.#seen.has(otherDigest)) await this.#read(otherDigest, signal)
    const [before, after] = [this.#seen.get(digest), this.#seen.get(otherDigest)]
    if (before === undefined || after === undefined) throw new ApiError('MATRIX_REPLACED', words.replaced)
    // The code that compares is loaded when there are two.
    const { compareInSteps } = await import('../../../matrix/compare.ts')
    const comparison = await this.#sources.run(compareInSteps(before, after), signal)
    return { of: [digest, otherDigest], before, after, comparison }
  }

  async #read(toDigest: string, signal: AbortSignal): Promise<void> {
    const { digest, matrix, shadow, toMatrix } = await this.#sources.read(toDigest, signal)
    const read = [{ digest, matrix }, ...(shadow ? [shadow] : []), { digest: toDigest, matrix: toMatrix }]
    for (const each of read)
      if (each.matrix !== '' && !this.#seen.has(each.digest))
        this.#seen.set(each.digest, JSON.parse(each.matrix))
  }
}
