/** The files of decision logs: which belong together, in which order, and how they are read. */
import type { Stats } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { type Part, WHOLE } from './line-times.ts'

/** A file, or a source that can be read once. */
export interface LogFile {
  /** For messages. */
  readonly name: string
  /** Identifies it, also when it is renamed; empty: it is not a file. */
  readonly id: string
  /** The time of its first line; empty: it has none that can be read. */
  readonly begins: string
  /** Its size; `undefined`: it is not a file. */
  readonly bytes: number | undefined
  readonly compressed: boolean
  /** Opens it. The one who opens it closes it. */
  readonly open: () => Promise<OpenLog>
}

export interface OpenLog extends AsyncDisposable {
  /** `undefined`: it is compressed, or no file, and can be read from its beginning alone. */
  readonly seekable: { readonly handle: FileHandle; readonly bytes: number } | undefined
  /**
   * @param chunkBytes how much is read at once
   * @param onRead called with the bytes that were read, as the file has them
   * @param part only of what is seekable
   */
  readonly read: (
    chunkBytes: number,
    onRead?: (bytes: number) => void,
    part?: Part,
  ) => AsyncIterable<Uint8Array>
}

/** How much is read to see what is in a file, in bytes. */
const HEAD_BYTES = 65_536

const COMPRESSED = [
  { magic: [0x1f, 0x8b], decompress: createGunzip },
  { magic: [0x28, 0xb5, 0x2f, 0xfd], decompress: createZstdDecompress },
] as const

/** The suffix of a file that was replaced: by a sidecar, or as logrotate does it. */
const REPLACED = /^(?:\.\d{8}T\d{9}Z-\d+|[.-]\d{1,14})(?:\.gz|\.zst)?$/

/**
 * The file that a sidecar writes, and those that it was replaced by, the oldest first. The newest may be
 * missing.
 *
 * @throws Error of the system where its folder cannot be read
 */
export async function filesOfLog(path: string): Promise<readonly LogFile[]> {
  const folder = dirname(path)
  const own = basename(path)
  const names = (await readdir(folder)).filter(
    (name) => name === own || (name.startsWith(own) && REPLACED.test(name.slice(own.length))),
  )
  return readable(names.map((name) => join(folder, name)))
}

/**
 * The logs of a folder: files with lines of decisions, by the name that they had before they were replaced.
 *
 * @throws Error of the system where it cannot be read
 */
export async function logsOfFolder(folder: string): Promise<readonly (readonly LogFile[])[]> {
  const names = (await readdir(folder)).sort()
  const byLog = Map.groupBy(
    await readable(names.map((name) => join(folder, name))),
    ({ name }) =>
      names.find((each) => name === join(folder, each) || isReplaced(name, join(folder, each))) ?? name,
  )
  return [...byLog.values()]
    .map((files) => files.filter(({ begins }) => begins !== ''))
    .filter(({ length }) => length > 0)
}

function isReplaced(name: string, log: string): boolean {
  return name.startsWith(log) && REPLACED.test(name.slice(log.length))
}

/** Those that are files, the oldest first. One that is gone meanwhile was replaced, and has another name. */
async function readable(paths: readonly string[]): Promise<LogFile[]> {
  const files: LogFile[] = []
  for (const path of paths) {
    const file = await logFile(path).catch(unlessMissing)
    if (file !== undefined && !files.some(({ id }) => id === file.id)) files.push(file)
  }
  return files.sort((a, b) => (a.begins < b.begins ? -1 : Number(a.begins > b.begins)))
}

/**
 * Looks at a file. A pipe is not looked at, because it can be read once.
 *
 * @throws Error of the system where it cannot be read
 */
export async function logFile(path: string): Promise<LogFile | undefined> {
  const found = await stat(path)
  if (found.isDirectory()) return undefined
  if (!found.isFile())
    return {
      ...{ name: path, id: '', begins: '', bytes: undefined, compressed: false },
      open: () => openLog(path, undefined),
    }
  await using opened = await openLog(path, undefined)
  const { decompress, head } = await headOf(opened)
  const [, begins = ''] = /^\s*\{\s*"time"\s*:\s*"([^"]{1,40})"/.exec(head) ?? []
  return {
    ...{ name: path, id: idOf(found), begins, bytes: found.size, compressed: decompress !== undefined },
    open: () => openLog(path, decompress),
  }
}

/** Standard input, which ends when its writer ends. */
export function standardInput(): LogFile {
  const log: OpenLog = {
    seekable: undefined,
    read: (_chunkBytes, onRead) => plainOrNot(counted(process.stdin, onRead)),
    [Symbol.asyncDispose]: async () => {},
  }
  return {
    ...{ name: '-', id: '', begins: '', bytes: undefined, compressed: false },
    open: async () => log,
  }
}

type Decompress = (typeof COMPRESSED)[number]['decompress']

async function openLog(path: string, decompress: Decompress | undefined): Promise<OpenLog> {
  const handle = await open(path)
  try {
    const found = await handle.stat()
    return {
      seekable: decompress === undefined && found.isFile() ? { handle, bytes: found.size } : undefined,
      read: (chunkBytes, onRead, { from, to } = WHOLE) => {
        const stream = handle.createReadStream({
          highWaterMark: chunkBytes,
          autoClose: false,
          start: found.isFile() ? from : undefined,
          // The last byte is read, too.
          end: to - 1,
        })
        const bytes = counted(stream, onRead)
        if (decompress !== undefined) return through(bytes, decompress, chunkBytes)
        return found.isFile() ? bytes : plainOrNot(bytes)
      },
      [Symbol.asyncDispose]: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** How it is compressed, and its beginning as text. */
async function headOf({
  seekable,
  read,
}: OpenLog): Promise<{ decompress: Decompress | undefined; head: string }> {
  const { bytesRead, buffer } =
    (await seekable?.handle.read({ buffer: Buffer.alloc(HEAD_BYTES), position: 0 })) ?? NOTHING_READ
  const start = buffer.subarray(0, bytesRead)
  const decompress = compressionOf(start)
  if (decompress === undefined) return { decompress, head: start.toString() }
  try {
    for await (const bytes of through(read(HEAD_BYTES), decompress, HEAD_BYTES))
      return { decompress, head: Buffer.from(bytes).toString() }
  } catch {
    // It is damaged, which is said where it is read.
  }
  return { decompress, head: '' }
}

const NOTHING_READ = { bytesRead: 0, buffer: Buffer.alloc(0) }

function compressionOf(start: Uint8Array): Decompress | undefined {
  return COMPRESSED.find(({ magic }) => magic.every((byte, index) => start[index] === byte))?.decompress
}

/** The bytes of a pipe, decompressed where that is needed. */
async function* plainOrNot(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done) return
  const all = async function* () {
    yield first.value
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
  }
  const decompress = compressionOf(first.value)
  yield* decompress === undefined ? all() : through(all(), decompress, HEAD_BYTES)
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  for await (const bytes of source) {
    onRead(bytes.length)
    yield bytes
  }
}

function through(
  source: AsyncIterable<Uint8Array>,
  decompress: Decompress,
  chunkBytes: number,
): AsyncIterable<Uint8Array> {
  // Errors of the source and of the decompression end the iteration of what comes out.
  return pipeline(source, decompress({ chunkSize: chunkBytes }), () => {})
}

function idOf({ dev, ino }: Stats): string {
  return `${dev}-${ino}`
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
