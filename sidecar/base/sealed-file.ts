/**
 * Files of a backup: lines of JSON behind a header that has the SHA-256 of all of them. A file is there with
 * all of its content or not at all, and one that was cut off or damaged is refused. The digest is against bit
 * rot, not against a process that can write the file.
 */
import { createHash, type Hash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  fsyncSync,
  linkSync,
  openSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder, temporaryIn } from './data-folder.ts'
import { linesOf } from './file-lines.ts'

/** The content of a file. */
export type SealedKind = 'directory' | 'keys'

/** The form of the file that this code writes and reads. */
const FORMAT = 1

/** Lines are written in pieces of this many characters. */
const PIECE = 1 << 20

/** Has the same length for every digest. */
function headerOf(kind: SealedKind, sha256: string): string {
  return `${JSON.stringify({ portcullis_backup: kind, format: FORMAT, sha256 })}\n`
}

/**
 * Writes a new file that only its owner can read.
 *
 * @param write is given what appends a line
 * @throws Error if there is such a file
 */
export async function writeSealed(
  path: string,
  kind: SealedKind,
  write: (append: (line: unknown) => void) => Promise<void> | void,
): Promise<void> {
  const temporary = temporaryIn(dirname(path))
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    writeFileSync(descriptor, headerOf(kind, '0'.repeat(64)))
    const pieces = new Pieces(descriptor, hash)
    await write((line) => pieces.append(`${JSON.stringify(line)}\n`))
    pieces.flush()
    writeSync(descriptor, headerOf(kind, hash.digest('hex')), 0)
    fsyncSync(descriptor)
    // Unlike a rename, a link never replaces an earlier backup.
    linkSync(temporary, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'EEXIST'
      ? new Error(`${path} already exists, and is not replaced`, { cause: error })
      : error
  } finally {
    closeSync(descriptor)
    unlinkSync(temporary)
  }
  syncFolder(dirname(path))
}

class Pieces {
  readonly #descriptor: number
  readonly #hash: Hash
  #text = ''

  constructor(descriptor: number, hash: Hash) {
    this.#descriptor = descriptor
    this.#hash = hash
  }

  append(text: string): void {
    this.#text += text
    if (this.#text.length > PIECE) this.flush()
  }

  flush(): void {
    // Unlike `writeSync`, `writeFileSync` writes everything or throws.
    writeFileSync(this.#descriptor, this.#text)
    this.#hash.update(this.#text)
    this.#text = ''
  }
}

const SEALED = /^\{"portcullis_backup":"(\w+)","format":(\d+),/

/** @throws Error if it is not such a file, was cut off or was damaged */
export async function expectSealed(path: string, kind: SealedKind): Promise<void> {
  const length = headerOf(kind, '0'.repeat(64)).length
  const hash = createHash('sha256')
  let head = Buffer.alloc(0)
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const missing = length - head.length
    if (missing > 0) head = Buffer.concat([head, chunk.subarray(0, missing)])
    // A device or a pipe may have no end.
    if (missing <= chunk.length && !SEALED.test(head.toString('latin1'))) break
    hash.update(chunk.subarray(Math.max(missing, 0)))
  }
  const header = head.toString('latin1')
  if (header === headerOf(kind, hash.digest('hex'))) return
  const [, found, format] = SEALED.exec(header) ?? []
  if (found === undefined) throw new Error(`${path}: expected a backup that \`portcullis backup\` wrote`)
  if (found !== kind) throw new Error(`${path}: expected a backup of the ${kind}, found one of the ${found}`)
  throw new Error(
    Number(format) > FORMAT
      ? `${path}: expected a backup of format ${FORMAT}, found ${format}; a newer Portcullis wrote it`
      : `${path}: the backup is damaged or incomplete: its digest does not match`,
  )
}

/**
 * The lines behind the header. To be called after `expectSealed`.
 *
 * @throws Error if a line is not JSON, without a word of it
 */
export async function* linesOfSealed(path: string): AsyncGenerator<unknown> {
  let header = true
  for await (const line of linesOf(path)) {
    if (!header) yield parsed(line, path)
    header = false
  }
}

function parsed(line: string, path: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    // The message of the parser quotes the line, which can be a private key.
    throw new Error(`${path}: expected lines of JSON behind the first one`)
  }
}
