/**
 * The times of lines, read from their bytes: which lines cannot be of a time, and in which part of a file the
 * lines of a time are.
 */
import type { FileHandle } from 'node:fs/promises'
import { LINE_FEED } from './blocks.ts'

/** A time, in milliseconds since the epoch. */
export interface TimeRange {
  /** From this time on. */
  readonly sinceMs?: number | undefined
  /** Before this time. */
  readonly untilMs?: number | undefined
}

/**
 * As each line begins that a sidecar has written. Its members have a fixed form, without spaces. Of a process
 * that was killed, the last line may have only its beginning, and that of another process may follow it.
 */
export const START = Buffer.from('{"time":"')

const TIME_LENGTH = '2026-11-22T09:44:34.123Z'.length
const BRACE = 0x7d
const QUOTE = 0x22
const Z = 0x5a

/**
 * Most that a line is earlier than one before it: the lines of several processes wait for the disk, and
 * others go on behind a torn line until the worker that was killed has started again.
 */
const DISORDER_MS = 60_000

/** Distance between the lines whose times are looked at, in bytes. It is longer in a very large file. */
export const LOOK_EVERY_BYTES = 1_048_576

/** Most lines of a file whose times are looked at. */
const LOOKS_MAX = 4_096

/** How many are looked at at once, so that the disk has something to do. */
const LOOKS_AT_ONCE = 16

/** Size of a look at a line, in bytes; the second one where the line is long. */
const LOOK_BYTES = [1_024, 16_384] as const

/** Tells by their bytes which lines may be of a time. */
export class LineTimes {
  readonly #since: Buffer | undefined
  readonly #until: Buffer | undefined
  /** Likewise, with the lines that may stand behind a torn one. */
  readonly #sinceTorn: Buffer | undefined
  readonly #untilTorn: Buffer | undefined

  constructor({ sinceMs, untilMs }: TimeRange) {
    this.#since = timeOf(sinceMs)
    this.#until = timeOf(untilMs)
    this.#sinceTorn = timeOf(sinceMs, -DISORDER_MS)
    this.#untilTorn = timeOf(untilMs, DISORDER_MS)
  }

  /** Whether a line in the form of a sidecar is of this time, or the one behind its torn beginning. */
  mayHave(bytes: Buffer, start: number, end: number): boolean {
    const at = start + START.length
    if (isBetween(bytes, at, this.#since, this.#until)) return true
    if (!isBetween(bytes, at, this.#sinceTorn, this.#untilTorn)) return false
    const again = bytes.indexOf(START, start + 1)
    return again >= 0 && again < end
  }
}

/** Whether the line begins and ends as a sidecar writes it, with a whole time. */
export function isOwn(bytes: Buffer, start: number, end: number): boolean {
  return beginsAsOwn(bytes, start, end) && bytes[end - 1] === BRACE
}

function beginsAsOwn(bytes: Buffer, start: number, end: number): boolean {
  const timeEnd = start + START.length + TIME_LENGTH
  if (end <= timeEnd || bytes[timeEnd - 1] !== Z || bytes[timeEnd] !== QUOTE) return false
  for (let index = 0; index < START.length; index++) if (bytes[start + index] !== START[index]) return false
  return true
}

function isBetween(bytes: Buffer, at: number, since: Buffer | undefined, until: Buffer | undefined): boolean {
  if (since !== undefined && isBefore(bytes, at, since)) return false
  return until === undefined || isBefore(bytes, at, until)
}

/** Times of the same form are ordered as their texts. */
function isBefore(bytes: Buffer, at: number, time: Buffer): boolean {
  for (let index = 0; index < TIME_LENGTH; index++) {
    const difference = (bytes[at + index] as number) - (time[index] as number)
    if (difference !== 0) return difference < 0
  }
  return false
}

/** Years of four digits: their texts are ordered as the times. */
const YEARS = { first: Date.UTC(0, 0, 1), last: Date.UTC(9999, 11, 31) }

function timeOf(ms: number | undefined, laterMs = 0): Buffer | undefined {
  if (ms === undefined) return undefined
  return Buffer.from(new Date(Math.min(Math.max(ms + laterMs, YEARS.first), YEARS.last)).toISOString())
}

/** Whether a time is within the range. */
export function isWithin({ sinceMs, untilMs }: TimeRange, time: string): boolean {
  if (sinceMs === undefined && untilMs === undefined) return true
  const ms = Date.parse(time)
  return ms >= (sinceMs ?? ms) && ms < (untilMs ?? Number.POSITIVE_INFINITY)
}

/** A part of a file that begins and ends with a line, in bytes. */
export interface Part {
  readonly from: number
  /** Infinite: to its end, also where it grows. */
  readonly to: number
}

export const WHOLE: Part = { from: 0, to: Number.POSITIVE_INFINITY }

/**
 * The parts of a file that have the lines of a time, in their order. One line in each MiB is looked at.
 * Lines between two of them are taken to be between their times, unless the second one is earlier; one MiB
 * more is read on either side. So lines that are out of order are in a part where that is by less than a
 * minute, where they are within a MiB of their place, and where they fill a MiB, as those behind a clock
 * that was set back do.
 *
 * @throws what reading the file throws
 */
export async function partsWith(
  handle: FileHandle,
  bytes: number,
  { sinceMs, untilMs }: TimeRange,
): Promise<readonly Part[]> {
  if (sinceMs === undefined && untilMs === undefined) return [WHOLE]
  const looks = await looksAt(handle, bytes)
  const end = await lookAtEnd(handle, bytes)
  /** Whether lines from this look to the next one may be of the time. */
  const mayBeOf = ({ ms }: Look, index: number) => {
    const { ms: nextMs } = looks[index + 1] ?? end
    // Neither is so where one of them has no time.
    const isOrdered = nextMs >= ms - DISORDER_MS
    const isEarly = sinceMs !== undefined && nextMs < sinceMs - DISORDER_MS
    const isLate = untilMs !== undefined && ms >= untilMs + DISORDER_MS
    return !isOrdered || !(isEarly || isLate)
  }
  const parts: { from: number; to: number }[] = []
  for (const [index, look] of looks.entries()) {
    if (!mayBeOf(look, index)) continue
    const { offset: from } = looks[Math.max(0, index - 1)] as Look
    const { offset: to } = looks[index + 2] ?? end
    const before = parts.at(-1)
    if (before !== undefined && before.to >= from) before.to = to
    else parts.push({ from, to })
  }
  return parts
}

/** A line that was looked at. */
interface Look {
  /** Where it begins. */
  readonly offset: number
  /** `NaN`: it has no time in the form of a sidecar, so it may be of any. */
  readonly ms: number
}

async function looksAt(handle: FileHandle, bytes: number): Promise<Look[]> {
  const every = Math.max(LOOK_EVERY_BYTES, Math.ceil(bytes / LOOKS_MAX))
  const looks: Look[] = []
  for (let place = 0; place < bytes; ) {
    const places: number[] = []
    for (; place < bytes && places.length < LOOKS_AT_ONCE; place += every) places.push(place)
    // Behind a long line two places have the same one.
    for (const look of await Promise.all(places.map((each) => lookAt(handle, each))))
      if (look !== undefined && look.offset > (looks.at(-1)?.offset ?? -1)) looks.push(look)
  }
  return looks
}

/** The first line that begins at this place or behind it; `undefined`: none begins near it. */
async function lookAt(handle: FileHandle, place: number): Promise<Look | undefined> {
  let look: Look | undefined
  // A line may begin in this very place.
  const position = Math.max(0, place - 1)
  for (const length of LOOK_BYTES) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(length), position })
    const start = place === 0 ? 0 : buffer.subarray(0, bytesRead).indexOf(LINE_FEED) + 1
    if (place > 0 && start === 0) continue
    look = { offset: position + start, ms: Number.NaN }
    if (beginsAsOwn(buffer, start, bytesRead)) return { ...look, ms: msAt(buffer, start) }
  }
  return look
}

/** The time of the last line, behind which the file may grow. */
async function lookAtEnd(handle: FileHandle, bytes: number): Promise<Look> {
  const offset = Number.POSITIVE_INFINITY
  const position = Math.max(0, bytes - LOOK_BYTES[1])
  const buffer = Buffer.allocUnsafe(bytes - position)
  const { bytesRead } = await handle.read({ buffer, position })
  const start = buffer.subarray(0, bytesRead).lastIndexOf(LAST_START) + 1
  // The last line may not be whole yet.
  return { offset, ms: start > 0 && beginsAsOwn(buffer, start, bytesRead) ? msAt(buffer, start) : Number.NaN }
}

const LAST_START = Buffer.concat([Buffer.of(LINE_FEED), START])

function msAt(bytes: Buffer, start: number): number {
  const at = start + START.length
  return Date.parse(bytes.toString('latin1', at, at + TIME_LENGTH))
}
