/**
 * Address ranges as a user writes them: one a line. The sidecar decides what a range is; here only lines
 * and ranges meet.
 */
import type { ApiError } from './errors.ts'

export interface RangeLines {
  readonly ranges: readonly string[]
  /** For each range the number of its line, from 1. */
  readonly lines: readonly number[]
}

/** Blank lines do not count. Commas separate, too, because lists are pasted. */
export function rangesOf(text: string): RangeLines {
  const ranges: string[] = []
  const lines: number[] = []
  for (const [index, line] of text.split('\n').entries())
    for (const range of line.split(/[\s,;]+/).filter(Boolean)) {
      ranges.push(range)
      lines.push(index + 1)
    }
  return { ranges, lines }
}

export interface RangeFault {
  /** From 1; `undefined`: about all of them. */
  readonly line: number | undefined
  readonly range: string
  /** As the sidecar says it: “expected …”. */
  readonly expected: string
}

/**
 * Leads what the sidecar says of `ranges[2]` to its line.
 *
 * @returns none where the error is about something else
 */
export function rangeFaultsOf(
  { reason, message }: ApiError,
  { ranges, lines }: RangeLines,
): readonly RangeFault[] {
  if (reason !== 'INVALID_ARGUMENT') return []
  return message.split('; ').flatMap((part) => {
    const [, index, expected] = /^ranges(?:\[(\d+)\])?: (.*)$/s.exec(part) ?? []
    if (expected === undefined) return []
    if (index === undefined) return [{ line: undefined, range: '', expected }]
    return [{ line: lines[Number(index)], range: ranges[Number(index)] ?? '', expected }]
  })
}

export function sameRanges(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join('\n') === other.toSorted().join('\n')
}
