/**
 * Reads files that others name. A link can lead to a device or a pipe, which has no end and shows no size, so
 * the limit is enforced while the bytes are read.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Most bytes of a file with secrets or certificates. */
export const SMALL_FILE_BYTES_MAX = 4_194_304

/** A file has more bytes than it may. */
export class FileTooLong extends Error {
  override readonly name = 'FileTooLong'
  /** As Node's own errors of files, which say `EFBIG` of a file that is too large. */
  readonly code = 'EFBIG'

  /** How many it has, or one more than it may where the file does not say. */
  readonly bytes: number

  constructor(bytesMax: number, bytes: number) {
    super(`expected at most ${bytesMax} bytes`)
    this.bytes = bytes
  }
}

/** @param path `-` is standard input @throws FileTooLong; Error of Node if it cannot be read */
export function readAtMost(path: string, bytesMax: number): Buffer {
  const descriptor = path === '-' ? 0 : openSync(path, 'r')
  try {
    const { size } = fstatSync(descriptor)
    if (size > bytesMax) throw new FileTooLong(bytesMax, size)
    const chunks: Buffer[] = []
    let bytes = 0
    // The first chunk has room for a whole regular file, and for one byte behind its end.
    for (let room = size + 1; ; room = CHUNK_BYTES) {
      const chunk = Buffer.allocUnsafe(Math.min(room, bytesMax + 1 - bytes))
      const read = readWaiting(descriptor, chunk)
      if (read === 0) return Buffer.concat(chunks, bytes)
      chunks.push(chunk.subarray(0, read))
      bytes += read
      if (bytes > bytesMax) throw new FileTooLong(bytesMax, bytes)
    }
  } finally {
    if (descriptor !== 0) closeSync(descriptor)
  }
}

const CHUNK_BYTES = 65_536

/** Time between two looks at an empty pipe, in milliseconds. */
const POLL_MS = 10

/** Waits for a pipe that is empty so far: Node makes standard input a pipe that does not wait by itself. */
function readWaiting(descriptor: number, into: Buffer): number {
  for (;;)
    try {
      return readSync(descriptor, into)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
    }
}
