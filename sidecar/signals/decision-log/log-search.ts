/** Searches decision logs: block by block, in either direction, in bounded memory. */
import { blocksBefore, blocksOf } from './blocks.ts'
import type { LogFile } from './log-files.ts'
import type { Found, Matcher, Tally } from './matcher.ts'

export interface SearchOptions {
  readonly newestFirst: boolean
  /** How much is read at once, in bytes. */
  readonly blockBytes: number
  /**
   * Most lines that are kept of a file that can be read from its beginning alone, where the newest come
   * first.
   */
  readonly keptMax: number
}

/** The content of a block of a file. */
export interface Step {
  /** In the order of the search. */
  readonly found: readonly Found[]
  /**
   * The search of this file can go on before this byte; `undefined`: it was interrupted, and must begin
   * again.
   */
  readonly before: number | undefined
  /** Why the file cannot be read to its end. Lines that were read before are found anyway. */
  readonly failed?: Error
}

/**
 * Searches a file. Its order is that of its lines.
 *
 * @param before where to begin, if the newest come first: before this byte
 * @throws what opening it throws, and reading it from its end
 */
export async function* stepsIn(
  file: LogFile,
  matcher: Matcher,
  { newestFirst, blockBytes, keptMax }: SearchOptions,
  tally: Tally,
  before = Number.POSITIVE_INFINITY,
): AsyncGenerator<Step> {
  await using log = await file.open()
  const { seekable } = log
  if (newestFirst && seekable !== undefined) {
    const end = Math.min(before, seekable.bytes)
    for await (const block of blocksBefore(seekable.handle, end, blockBytes))
      yield { found: matcher.find(block, tally).toReversed(), before: block.offset }
    return
  }
  const kept: Found[] = []
  let forgotten = false
  let failed: Error | undefined
  try {
    for await (const block of blocksOf(log.read(blockBytes))) {
      if (block.offset >= before) break
      const found = matcher.find(block, tally)
      if (!newestFirst) yield { found, before: undefined }
      else {
        kept.push(...found.filter(({ offset }) => offset < before))
        if (kept.length > 2 * keptMax) {
          kept.splice(0, kept.length - keptMax)
          forgotten = true
        }
        yield { found: [], before: undefined }
      }
    }
  } catch (error) {
    failed = error as Error
  }
  const newest = kept.slice(-keptMax).reverse()
  const more = forgotten || kept.length > keptMax
  if (newestFirst || failed !== undefined)
    yield { found: newest, before: more ? newest.at(-1)?.offset : 0, ...(failed && { failed }) }
}

/** A line that was found, and the file that it is in. */
export interface FoundIn extends Found {
  readonly file: LogFile
}

export interface LogSearch extends SearchOptions {
  readonly matcher: Matcher
  readonly tally: Tally
  /** Called with a file that cannot be read, or not to its end. The search goes on with the next one. */
  readonly onUnreadable: (file: LogFile, error: Error) => void
}

/** Searches a log. @param files of one log, the oldest first */
export async function* foundIn(files: readonly LogFile[], search: LogSearch): AsyncGenerator<FoundIn> {
  for (const file of search.newestFirst ? files.toReversed() : files)
    try {
      for await (const { found, failed } of stepsIn(file, search.matcher, search, search.tally)) {
        if (failed !== undefined) search.onUnreadable(file, failed)
        for (const each of found) yield { ...each, file }
      }
    } catch (error) {
      search.onUnreadable(file, error as Error)
    }
}

/** The lines of several logs by their time. Each of the logs has its own order. */
export async function* merged(
  logs: readonly AsyncGenerator<FoundIn>[],
  newestFirst: boolean,
): AsyncGenerator<FoundIn> {
  const [only, ...others] = logs
  if (only !== undefined && others.length === 0) return yield* only
  const heads = await Promise.all(logs.map(async (log) => ({ log, next: await log.next() })))
  try {
    for (;;) {
      const [head, ...rest] = heads.filter(({ next }) => !next.done)
      if (head === undefined) return
      const first = rest.reduce((best, each) => {
        const [a, b] = [timeOf(each.next), timeOf(best.next)]
        return (newestFirst ? a > b : a < b) ? each : best
      }, head)
      yield first.next.value as FoundIn
      first.next = await first.log.next()
    }
  } finally {
    await Promise.all(logs.map((log) => log.return(undefined)))
  }
}

function timeOf({ value }: IteratorResult<FoundIn>): string {
  return (value as FoundIn).line.time
}
