/**
 * The ranges of the whole numbers of a directory, by the name of their column. A file that others wrote, or
 * that is damaged, can have any number: it is refused where it is read, before a clock or a client meets it.
 */
import { TIME_MS_MAX } from '../base/written-time.ts'

type Range = readonly [min: number, max: number | bigint]

const FLAG: Range = [0, 1]

const BY_NAME: Readonly<Record<string, Range>> = {
  ...{ enabled: FLAG, owner: FLAG, validator: FLAG, limited: FLAG, unrestricted: FLAG },
  // A column of 32 bits.
  generation: [0, 2 ** 31 - 1],
  // Of a passkey (WebAuthn): 32 bits without a sign.
  counter: [0, 2 ** 32 - 1],
}

const BY_ENDING: Readonly<Record<string, Range>> = {
  ms: [0, TIME_MS_MAX],
  us: [0, BigInt(TIME_MS_MAX) * 1000n + 999n],
  day: [0, Math.floor(TIME_MS_MAX / 86_400_000)],
}

/** Numbers of changes, positions and counts. Restorations that end all tokens are after the change −1. */
const OTHERS: Range = [-1, Number.MAX_SAFE_INTEGER]

const KNOWN = new Map<string, Range>(Object.entries(BY_NAME))

function rangeOf(column: string): Range {
  let range = KNOWN.get(column)
  if (range === undefined) {
    range = BY_ENDING[column.slice(column.lastIndexOf('_') + 1)] ?? OTHERS
    KNOWN.set(column, range)
  }
  return range
}

class OutOfRange extends RangeError {
  /** As Node's own where SQLite has a number that JavaScript has none for. */
  readonly code = 'ERR_OUT_OF_RANGE'
}

/** Whether a number of a row is outside of its range. */
export function isOutOfRange(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE'
}

/**
 * @param row as a database or a backup has it
 * @throws OutOfRange that names the column, and no value
 */
export function expectInRange<T extends Readonly<Record<string, unknown>>>(row: T): T {
  for (const column in row) {
    const value = row[column]
    if (typeof value !== 'number' && typeof value !== 'bigint') continue
    const [min, max] = rangeOf(column)
    if (!(value >= min && value <= max)) throw new OutOfRange(`expected \`${column}\` from ${min} to ${max}`)
  }
  return row
}
