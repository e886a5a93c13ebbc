/** Flips that were signed off: the flips of a comparison that are left, and the entries without effect. */
import { canonicalJson } from '../engine/digest.ts'
import { type CellFlip, type Comparison, MODES, type Mode } from './compare.ts'
import type { Direction, KindDirection } from './flip-sides.ts'
import type { KindFlip } from './kind-flips.ts'

/** A change that opens, closes, loosens or tightens something. */
export type Flip = CellFlip | KindFlip

interface Entry {
  readonly kind: string
  /** Why it is meant. */
  readonly reason: string
  /** The last day on which the entry holds, in UTC: `2026-12-31`. */
  readonly until: string
}

interface AllowedCellFlip extends Entry {
  readonly api: string
  readonly direction: Direction
  /** Absent: in both modes. */
  readonly mode?: Mode | undefined
}

/** It holds for one value: a sign-off for an hour does not cover ten years. */
interface AllowedKindFlip extends Entry {
  readonly field: string
  readonly direction: KindDirection
  /** The flip's `after`. */
  readonly to: unknown
}

/** One flip that is meant: a reader sees why, and until when that holds. */
export type AllowedFlip = AllowedCellFlip | AllowedKindFlip

export interface SignedOff {
  readonly flip: Flip
  /** The entries that cover it, of which there can be one for each mode. */
  readonly by: readonly AllowedFlip[]
}

export interface Judged {
  /**
   * Flips that were not signed off: cells, each with the modes that are left, then those of
   * {@link flipsOfRenames}, then those of kinds.
   */
  readonly left: readonly Flip[]
  readonly signedOff: readonly SignedOff[]
  /** Entries whose last day has passed. They allow nothing. */
  readonly expired: readonly AllowedFlip[]
  /** Entries that hold and cover no flip. */
  readonly unused: readonly AllowedFlip[]
}

/** The flips of a renamed API: callers lose the old id, and may be allowed the new one. */
export function flipsOfRenames({ renames }: Pick<Comparison, 'renames'>): readonly CellFlip[] {
  return renames.flatMap(({ lost, gained }) => [...lost, ...gained])
}

export function isOfCell(flip: Flip): flip is CellFlip {
  return 'api' in flip
}

/**
 * Compares the flips with what was signed off.
 *
 * @param today the day in UTC, as `until` has it
 */
export function judgeFlips(
  comparison: Pick<Comparison, 'flips' | 'kindFlips' | 'renames'>,
  entries: readonly AllowedFlip[],
  today: string,
): Judged {
  // Days of this form are in the order of their texts.
  const expired = entries.filter(({ until }) => until < today)
  const holding = new Map<string, AllowedFlip>()
  for (const entry of entries)
    if (entry.until >= today) for (const key of keysOfEntry(entry)) holding.set(key, entry)
  const used = new Set<AllowedFlip>()
  const left: Flip[] = []
  const signedOff: SignedOff[] = []
  for (const flip of [...comparison.flips, ...flipsOfRenames(comparison)]) {
    const modes: Mode[] = []
    const by = new Set<AllowedFlip>()
    for (const mode of flip.modes) {
      const entry = holding.get(keyOf(flip, mode))
      if (entry === undefined) modes.push(mode)
      else by.add(entry)
    }
    for (const entry of by) used.add(entry)
    if (modes.length === 0) signedOff.push({ flip, by: [...by] })
    else left.push({ ...flip, modes })
  }
  for (const flip of comparison.kindFlips) {
    const entry = holding.get(keyOfKind(flip, flip.after))
    if (entry === undefined) left.push(flip)
    else {
      used.add(entry)
      signedOff.push({ flip, by: [entry] })
    }
  }
  // Of two entries about one flip, one is enough.
  const unused = entries.filter((entry) => entry.until >= today && !used.has(entry))
  return { left, signedOff, expired, unused }
}

function keysOfEntry(entry: AllowedFlip): string[] {
  if (!('api' in entry)) return [keyOfKind(entry, entry.to)]
  return (entry.mode === undefined ? MODES : [entry.mode]).map((mode) => keyOf(entry, mode))
}

function keyOf({ direction, api, kind }: Pick<CellFlip, 'direction' | 'api' | 'kind'>, mode: Mode): string {
  return `${direction} ${mode} ${api} ${kind}`
}

/** The order of a list makes no difference. */
function keyOfKind(
  { direction, kind, field }: Pick<AllowedKindFlip, 'direction' | 'kind' | 'field'>,
  to: unknown,
) {
  const sorted = JSON.parse(JSON.stringify(to), (_key, value) =>
    Array.isArray(value) ? value.toSorted() : value,
  )
  return `${direction} ${kind} ${field} ${canonicalJson(sorted)}`
}
