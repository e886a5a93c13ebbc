/**
 * Loaded into a process (`--import`): counts the points at which it reaches outside, and kills it at one of
 * them. The product has no line for it. A point is before or after a call that changes a file, a statement of
 * SQLite, or a write to a socket.
 *
 * `KILL_AT=KIND NUMBER` kills the process at that point; `COUNT_POINTS=FILE` keeps what it passed when it
 * ends. `KEEP_LINES=FILE` keeps what was written of the decision log, write by write.
 */
import fs, { type PathOrFileDescriptor } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { isMainThread } from 'node:worker_threads'

const { KILL_AT, COUNT_POINTS, KEEP_LINES } = process.env
const [killedIn, killedAt] = KILL_AT?.split(' ') ?? []
const passed = new Map<string, number>()

/** Those that change what is on the disk, or make it last. */
const SYNC = 'chmodSync fsyncSync linkSync mkdirSync renameSync rmSync unlinkSync'
const WRITES = 'writeFileSync writeSync'
const CALLBACK = 'fdatasync write'
const PROMISES = 'open rename unlink'

type Callable = (this: unknown, ...args: never[]) => unknown

// A thread of a process has separate points, which are not counted.
if (isMainThread) install()

function install(): void {
  const { appendFileSync, writeFileSync, writeSync } = fs
  wrap(fs, 'openSync', 'fs.openSync', ([, flags]) => (/[wa+]/.test(String(flags)) ? 'write' : 'read'))
  for (const name of `${SYNC} ${WRITES}`.split(' ')) wrap(fs, name, `fs.${name}`)
  for (const name of CALLBACK.split(' ')) wrapCallback(fs, name, `fs.${name}`)
  for (const name of PROMISES.split(' ')) wrap(fs.promises, name, `fs.promises.${name}`)
  wrapLog(appendFileSync, writeSync)
  syncBuiltinESMExports()
  wrap(DatabaseSync.prototype, 'exec', 'sqlite.exec', verbOf)
  for (const name of ['run', 'get', 'all'])
    wrap(StatementSync.prototype, name, `sqlite.${name}`, (_args, statement) =>
      verbOf([(statement as StatementSync).sourceSQL]),
    )
  wrap(Socket.prototype, 'write', 'socket.write')
  if (COUNT_POINTS !== undefined)
    process.on('exit', () => writeFileSync(COUNT_POINTS, JSON.stringify(Object.fromEntries(passed))))
}

/** The verb of a statement: those that read are many, and change nothing. */
function verbOf([sql]: readonly unknown[]): string {
  return (
    /\b(BEGIN|COMMIT|ROLLBACK|PRAGMA|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b/.exec(
      String(sql),
    )?.[0] ?? ''
  )
}

/** @param last what it still does before it is killed there */
function point(kind: string, last: () => void = () => {}): void {
  const number = (passed.get(kind) ?? 0) + 1
  passed.set(kind, number)
  if (kind !== killedIn || number !== Number(killedAt)) return
  last()
  process.kill(process.pid, 'SIGKILL')
}

function wrap(
  on: object,
  name: string,
  kind: string,
  more?: (args: readonly unknown[], self: unknown) => string,
): void {
  const original = Reflect.get(on, name) as Callable
  Reflect.set(on, name, function (this: unknown, ...args: never[]) {
    const named = more === undefined ? kind : `${kind}:${more(args, this)}`
    // Mostly modules that are loaded.
    if (named === 'fs.openSync:read') return original.apply(this, args)
    point(`${named}:before`)
    const result = original.apply(this, args)
    if (result instanceof Promise) return result.finally(() => point(`${named}:after`))
    point(`${named}:after`)
    return result
  })
}

/** The file of the decision log: a write of its lines may be cut off in its middle. */
function wrapLog(append: typeof fs.appendFileSync, write: typeof fs.writeSync): void {
  const { open } = fs.promises
  Reflect.set(fs.promises, 'open', async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    const writev = handle.writev.bind(handle) as (blocks: Buffer[]) => ReturnType<FileHandle['writev']>
    const wrapped = async (blocks: Buffer[]) => {
      const bytes = Buffer.concat(blocks)
      point('log.writev:before')
      point('log.writev:within', () => write(handle.fd, bytes, 0, Math.floor(bytes.length / 2)))
      const written = await writev(blocks)
      if (KEEP_LINES !== undefined) append(KEEP_LINES, bytes.subarray(0, written.bytesWritten))
      point('log.writev:after')
      return written
    }
    return Object.assign(handle, { writev: wrapped })
  })
}

/** For calls whose last argument is called when they are done. */
function wrapCallback(on: object, name: string, kind: string): void {
  const original = Reflect.get(on, name) as (...args: [PathOrFileDescriptor, ...unknown[]]) => unknown
  Reflect.set(on, name, (descriptor: PathOrFileDescriptor, ...args: unknown[]) => {
    point(`${kind}:before`)
    const done = args.pop() as (...results: unknown[]) => unknown
    const called = (...results: unknown[]) => {
      point(`${kind}:after`)
      return done(...results)
    }
    return original(descriptor, ...args, called)
  })
}
