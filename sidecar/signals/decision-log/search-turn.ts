/**
 * A part of a search in a sidecar that answers checks: as much as is done in a bounded time, in small pieces
 * with pauses, so that checks hardly wait for it.
 */
import { setTimeout } from 'node:timers/promises'
import { invalidArgument } from '../../base/call-error.ts'
import type { DecisionQuery, FoundDecisions, SearchTurn } from '../../usecases/decision-search.ts'
import { afterwards } from './afterwards.ts'
import { filesOfLog, type LogFile } from './log-files.ts'
import { stepsIn } from './log-search.ts'
import { type Found, Matcher, newTally } from './matcher.ts'

/** How much is read and searched in one turn of the event loop, in bytes. A check takes a microsecond. */
export const BLOCK_BYTES = 65_536

/** How long it works until it pauses, and how long it pauses, in milliseconds. */
const WORK_MS = 1
const PAUSE_MS = 2

/** After this time the rest is left for the next part, in milliseconds. */
const PART_MS = 2_000

/**
 * How long one file may take that can be read from its beginning alone, in milliseconds: it cannot be left
 * for later.
 */
const WHOLE_FILE_MS = 30_000

/** Where a search goes on. */
interface Place {
  /** Of the file. */
  readonly id: string
  /** `undefined`: at its end. */
  readonly before: number | undefined
}

/** @throws CallError `INVALID_ARGUMENT` where the file is gone in which it would go on */
export async function searchTurn(
  path: string,
  query: DecisionQuery,
  { from, rowsMax, engine, signal }: SearchTurn,
): Promise<FoundDecisions> {
  const files = (await filesOfLog(path)).toReversed()
  const place = from === undefined ? undefined : placeOf(from)
  const first = place === undefined ? 0 : files.findIndex(({ id }) => id === place.id)
  if (first < 0) throw wrongPlace()
  const matcher = new Matcher(query)
  const tally = newTally()
  const part: Part = { found: [], unreadable: [], rowsMax, pauses: new Pauses(signal) }
  let next: Place | undefined
  for (const [index, file] of files.entries()) {
    if (index < first) continue
    const before = index === first ? place?.before : undefined
    if (part.pauses.passedMs() > PART_MS || part.found.length === rowsMax) {
      next = { id: file.id, before }
      break
    }
    try {
      const options = { newestFirst: true, blockBytes: BLOCK_BYTES, keptMax: rowsMax, times: query }
      next = await searchFile(file, stepsIn(file, matcher, options, tally, before), part)
    } catch (error) {
      if (signal.aborted) throw error
      part.unreadable.push(problemOf(file, error as Error))
    }
    if (next !== undefined) break
  }
  const rows = part.found.map(({ line }) => ({
    line,
    user: line.subject?.id,
    afterwards: afterwards(engine, line),
  }))
  return { rows, next: next && textOf(next), damaged: tally.damaged, unreadable: part.unreadable }
}

/** The content of a part so far. */
interface Part {
  readonly found: Found[]
  readonly unreadable: string[]
  readonly rowsMax: number
  readonly pauses: Pauses
}

function problemOf({ name }: LogFile, error: Error): string {
  return `${name} (${(error as NodeJS.ErrnoException).code ?? error.message})`
}

/** @returns where it goes on in this file; `undefined`: it was searched whole */
async function searchFile(
  file: LogFile,
  steps: ReturnType<typeof stepsIn>,
  { found, unreadable, rowsMax, pauses }: Part,
): Promise<Place | undefined> {
  const startMs = pauses.passedMs()
  for await (const { found: inStep, before, failed } of steps) {
    if (failed !== undefined) unreadable.push(problemOf(file, failed))
    const room = rowsMax - found.length
    found.push(...inStep.slice(0, room))
    if (inStep.length > room) return { id: file.id, before: inStep[room - 1]?.offset }
    const isLate = pauses.passedMs() > PART_MS
    if (before !== undefined && before > 0 && (isLate || found.length === rowsMax))
      return { id: file.id, before }
    if (before === undefined && pauses.passedMs() - startMs > WHOLE_FILE_MS)
      throw new Error('it is too large to be searched here: `portcullis decisions` can')
    await pauses.pause()
  }
  return undefined
}

class Pauses {
  readonly #signal: AbortSignal
  readonly #startMs = performance.now()
  #workedMs = performance.now()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  passedMs(): number {
    return performance.now() - this.#startMs
  }

  /** @throws the reason of the signal where the client has gone away */
  async pause(): Promise<void> {
    this.#signal.throwIfAborted()
    if (performance.now() - this.#workedMs < WORK_MS) return
    await setTimeout(PAUSE_MS)
    this.#signal.throwIfAborted()
    this.#workedMs = performance.now()
  }
}

function textOf({ id, before }: Place): string {
  return Buffer.from(JSON.stringify([id, before ?? null])).toString('base64url')
}

function placeOf(text: string): Place {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {}
  const [id, before] = Array.isArray(value) ? (value as unknown[]) : []
  if (
    typeof id !== 'string' ||
    (before !== null && !(Number.isSafeInteger(before) && (before as number) >= 0))
  )
    throw wrongPlace()
  return { id, before: before === null ? undefined : (before as number) }
}

function wrongPlace(): Error {
  return invalidArgument({
    field: 'page_token',
    expected: 'one of this log, whose files have been replaced since; search again',
  })
}
