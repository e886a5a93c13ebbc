/**
 * Cuts a log into blocks of whole lines, from its beginning or from its end, in bounded memory however long
 * the log and its lines are.
 */
import type { FileHandle } from 'node:fs/promises'

/** The longest line that is read, in bytes. */
export const LINE_BYTES_MAX = 1_048_576

/** Lines that follow one another. */
export interface Block {
  /** The last line may lack its end. */
  readonly bytes: Buffer
  /** Where it begins in the log, in bytes. */
  readonly offset: number
  /** In place of the bytes there was one line that is too long. */
  readonly tooLong: boolean
}

export const LINE_FEED = 0x0a

const NOTHING = Buffer.alloc(0)

/**
 * Blocks of about the size that the source gives at once.
 *
 * @param offset where the source begins in the log, in bytes
 * @throws what the source throws
 */
export async function* blocksOf(source: AsyncIterable<Uint8Array>, offset = 0): AsyncGenerator<Block> {
  /** The line without an end yet. */
  let rest: Buffer[] = []
  let restBytes = 0
  const take = (part: Buffer) => {
    restBytes += part.length
    if (restBytes <= LINE_BYTES_MAX) rest.push(part)
    else rest = []
  }
  const taken = (): Block => {
    const tooLong = restBytes > LINE_BYTES_MAX
    const block = { bytes: tooLong ? NOTHING : Buffer.concat(rest), offset, tooLong }
    offset += restBytes
    rest = []
    restBytes = 0
    return block
  }
  for await (const { buffer, byteOffset, length } of source) {
    const bytes = Buffer.from(buffer, byteOffset, length)
    const first = bytes.indexOf(LINE_FEED) + 1
    if (first === 0) {
      take(bytes)
      continue
    }
    let from = 0
    if (restBytes > 0) {
      take(bytes.subarray(0, first))
      yield taken()
      from = first
    }
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    if (end > from) {
      yield { bytes: bytes.subarray(from, end), offset, tooLong: false }
      offset += end - from
    }
    // A copy, because the source may use its bytes again.
    if (end < length) take(Buffer.from(bytes.subarray(end)))
  }
  if (restBytes > 0) yield taken()
}

/**
 * Blocks of a file from the end of a part of it to its beginning. The lines of a block are in their order.
 *
 * @param end where the last line ends, in bytes
 * @param blockBytes how much is read at once
 * @param begin where the first line begins
 */
export async function* blocksBefore(
  handle: FileHandle,
  end: number,
  blockBytes: number,
  begin = 0,
): AsyncGenerator<Block> {
  /** The end of a line whose beginning is further ahead. */
  let rest: Buffer[] = []
  let restBytes = 0
  const taken = (beginning: Buffer, offset: number): Block => {
    const tooLong = beginning.length + restBytes > LINE_BYTES_MAX
    const bytes = tooLong ? NOTHING : Buffer.concat([beginning, ...rest.reverse()])
    rest = []
    restBytes = 0
    return { bytes, offset, tooLong }
  }
  for (let to = end; to > begin; ) {
    const from = Math.max(begin, to - blockBytes)
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(to - from), position: from })
    // The file has become shorter.
    if (bytesRead < to - from) return
    // A line end that is the last byte of all ends the last line, and begins none.
    const lastBegins = buffer.lastIndexOf(LINE_FEED, to === end ? -2 : undefined) + 1
    if (lastBegins === 0 && from > begin) {
      restBytes += buffer.length
      if (restBytes <= LINE_BYTES_MAX) rest.push(buffer)
      else rest = []
    } else {
      const firstBegins = from === begin ? 0 : buffer.indexOf(LINE_FEED) + 1
      const continues = restBytes > 0
      if (continues) yield taken(buffer.subarray(lastBegins), from + lastBegins)
      const whole = continues ? lastBegins : buffer.length
      if (whole > firstBegins)
        yield { bytes: buffer.subarray(firstBegins, whole), offset: from + firstBegins, tooLong: false }
      if (firstBegins > 0) {
        rest = [buffer.subarray(0, firstBegins)]
        restBytes = firstBegins
      }
    }
    to = from
  }
  if (restBytes > 0) yield taken(NOTHING, begin)
}

/** Calls `each` with where each line of a block begins and ends, without its line end. */
export function eachLine(bytes: Buffer, each: (start: number, end: number) => void): void {
  for (let start = 0; start < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, start)
    const end = found < 0 ? bytes.length : found
    each(start, end)
    start = end + 1
  }
}

/**
 * Where texts stand in the lines of a block. Each byte is looked at once for each text, however many lines
 * are asked about.
 */
export class Places {
  readonly #bytes: Buffer
  readonly #texts: readonly Buffer[]
  /** Where each text is next. */
  readonly #next: number[]

  constructor(bytes: Buffer, texts: readonly Buffer[]) {
    this.#bytes = bytes
    this.#texts = texts
    this.#next = texts.map(() => -1)
  }

  /**
   * Where a text begins in a line; negative: nowhere. Lines are asked about in their order.
   *
   * @param index of the text
   */
  of(index: number, start: number, end: number): number {
    let place = this.#next[index] as number
    if (place < start) {
      place = this.#bytes.indexOf(this.#texts[index] as Buffer, start)
      if (place < 0) place = Number.POSITIVE_INFINITY
      this.#next[index] = place
    }
    return place < end ? place : -1
  }
}
