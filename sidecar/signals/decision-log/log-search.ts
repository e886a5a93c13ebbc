/** Searches decision logs: block by block, in either direction, in bounded memory. */
import { type Block, blocksBefore, blocksOf } from './blocks.ts'
import type { Counts } from './counts.ts'
import { type Part, partsWith, type TimeRange } from './line-times.ts'
import type { LogFile, OpenLog } from './log-files.ts'
import type { Found, Matcher, Tally } from './matcher.ts'

export interface ReadOptions {
  /** How much is read at once, in bytes. */
  readonly blockBytes: number
  /** Parts of a file with other lines are not read; `undefined`: every line is. */
  readonly times?: TimeRange | undefined
  /** Called with the bytes of a file that were read. */
  readonly onRead?: ((bytes: number) => void) | undefined
  /** Called with the bytes of a file that need not be read. */
  readonly onLeftOut?: ((bytes: number) => void) | undefined
}

export interface SearchOptions extends ReadOptions {
  readonly newestFirst: boolean
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
  { newestFirst, keptMax, ...options }: SearchOptions,
  tally: Tally,
  before = Number.POSITIVE_INFINITY,
): AsyncGenerator<Step> {
  await using log = await file.open()
  if (newestFirst && log.seekable !== undefined) {
    for await (const block of blocksFromEnd(log.seekable, options, before))
      yield { found: matcher.find(block, tally).toReversed(), before: block.offset }
    return
  }
  const kept: Found[] = []
  let forgotten = false
  let failed: Error | undefined
  try {
    for await (const block of blocksIn(log, options)) {
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

/** The blocks of a file that may have lines of the times, from its beginning. */
export async function* blocksIn(
  { seekable, read }: OpenLog,
  { blockBytes, times, onRead, onLeftOut }: ReadOptions,
): AsyncGenerator<Block> {
  if (seekable === undefined || times === undefined) return yield* blocksOf(read(blockBytes, onRead))
  const { handle, bytes } = seekable
  const parts = await partsWith(handle, bytes, times)
  onLeftOut?.(bytes - sizeOf(parts, bytes))
  for (const part of parts) yield* blocksOf(read(blockBytes, onRead, part), part.from)
}

/** The same from its end. @param before only those before this byte */
async function* blocksFromEnd(
  { handle, bytes }: NonNullable<OpenLog['seekable']>,
  { blockBytes, times = {}, onRead, onLeftOut }: ReadOptions,
  before: number,
): AsyncGenerator<Block> {
  const end = Math.min(before, bytes)
  const parts = (await partsWith(handle, bytes, times)).filter(({ from }) => from < end)
  onLeftOut?.(bytes - sizeOf(parts, end))
  for (const { from, to } of parts.toReversed())
    for await (const block of blocksBefore(handle, Math.min(to, end), blockBytes, from)) {
      onRead?.(block.bytes.length)
      yield block
    }
}

/** @param end of the file, in bytes */
function sizeOf(parts: readonly Part[], end: number): number {
  return parts.reduce((sum, { from, to }) => sum + Math.min(to, end) - from, 0)
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

/** Counts the lines of files. Their order makes no difference. */
export async function countIn(
  files: readonly LogFile[],
  counts: Counts,
  { matcher, tally, onUnreadable, ...options }: Omit<LogSearch, 'newestFirst' | 'keptMax'>,
): Promise<void> {
  for (const file of files)
    try {
      await using log = await file.open()
      for await (const block of blocksIn(log, options)) matcher.count(block, tally, counts)
    } catch (error) {
      onUnreadable(file, error as Error)
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
