/** Flips that somebody signed off: which of a comparison are left, and which entries are good for nothing. */
import { type CellFlip, type Comparison, type Direction, MODES, type Mode } from './compare.ts'

/** One flip that is meant, who reads it sees why, and until when that holds. */
export interface AllowedFlip {
  readonly api: string
  readonly kind: string
  readonly direction: Direction
  /** Absent: in both modes. */
  readonly mode?: Mode | undefined
  readonly reason: string
  /** The last day on which the entry holds, in UTC: `2026-12-31`. */
  readonly until: string
}

export interface SignedOff {
  readonly flip: CellFlip
  /** The entries that cover it, of which there can be one for each mode. */
  readonly by: readonly AllowedFlip[]
}

export interface Judged {
  /** Flips that nobody signed off, each with the modes that are left; those of {@link lostByRenames} last. */
  readonly left: readonly CellFlip[]
  readonly signedOff: readonly SignedOff[]
  /** Entries whose last day is over. They allow nothing. */
  readonly expired: readonly AllowedFlip[]
  /** Entries that hold and cover no flip. */
  readonly unused: readonly AllowedFlip[]
}

/** What who asks with the old id of a renamed API loses. */
export function lostByRenames({ renames }: Pick<Comparison, 'renames'>): readonly CellFlip[] {
  return renames.flatMap(({ lost }) => lost)
}

/**
 * Compares the flips with what was signed off.
 *
 * @param today the day in UTC, as `until` has it
 */
export function judgeFlips(
  comparison: Pick<Comparison, 'flips' | 'renames'>,
  entries: readonly AllowedFlip[],
  today: string,
): Judged {
  // Days of this form are in the order of their texts.
  const expired = entries.filter(({ until }) => until < today)
  const holding = new Map<string, AllowedFlip>()
  for (const entry of entries)
    if (entry.until >= today)
      for (const mode of entry.mode === undefined ? MODES : [entry.mode])
        holding.set(keyOf(entry, mode), entry)
  const used = new Set<AllowedFlip>()
  const left: CellFlip[] = []
  const signedOff: SignedOff[] = []
  for (const flip of [...comparison.flips, ...lostByRenames(comparison)]) {
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
  // Of two entries about one flip, one is enough.
  const unused = entries.filter((entry) => entry.until >= today && !used.has(entry))
  return { left, signedOff, expired, unused }
}

function keyOf({ direction, api, kind }: Pick<CellFlip, 'direction' | 'api' | 'kind'>, mode: Mode): string {
  return `${direction} ${mode} ${api} ${kind}`
}
