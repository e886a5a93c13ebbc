/** Reads text files of any length by lines. */
import { createReadStream } from 'node:fs'

/** How much is read at once, in bytes. */
const PIECE = 1_048_576

/** The lines of a file. A last one without a line feed is left out: it may not be whole. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = ''
  // Not `readline`, which also ends a line at the line separators of Unicode.
  for await (const piece of createReadStream(path, { encoding: 'utf8', highWaterMark: PIECE })) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
