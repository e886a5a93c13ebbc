/** A second matrix as use cases see it, which is computed beside the one in force and decides nothing. */
import type { Engine, Matrix } from '../../engine/index.ts'

/**
 * The answers that would differ: `opened`: the shadow allows what is denied now; `closed`: the other way;
 * `unknown`: it cannot be said, because the shadow looks for another credential, or would have an authority
 * judge this one otherwise.
 */
export const SHADOW_DIRECTIONS = ['opened', 'closed', 'unknown'] as const
export type ShadowDirection = (typeof SHADOW_DIRECTIONS)[number]

/** The counts of one cell. Times are in milliseconds since the epoch. */
export interface ShadowDifference {
  readonly api: string
  /** Empty: the token is not known. */
  readonly kind: string
  readonly direction: ShadowDirection
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
  /** Whom the tokens belong to, as far as that is known: those with most first. */
  readonly accounts: readonly { readonly account: string; readonly count: number }[]
  /** How many decisions are of other accounts, or of none. */
  readonly otherAccounts: number
}

/** The shadow, and what it would have answered otherwise. */
export interface Shadow {
  readonly engine: Engine
  readonly matrix: Matrix
  /**
   * Since when this shadow is computed beside this matrix in force, in milliseconds since the epoch: anew
   * when either changes.
   */
  readonly sinceMs: number
  /** Decisions that were compared since then. */
  readonly compared: number
  /** Most counted first. */
  readonly differences: readonly ShadowDifference[]
  /** Decisions that differ beyond those rows. */
  readonly beyond: number
}
