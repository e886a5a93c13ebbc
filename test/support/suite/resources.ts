/** The resources of a test file: folders, files, servers, connections. All are closed when the file ends. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Close = () => unknown

const closers: Close[] = []

/** Has something closed when the test file ends, before everything that was opened earlier. */
export function whenTheFileEnds(close: Close): void {
  closers.push(close)
}

/** Closes what is open, last first. A resource that fails to close keeps nothing else open. */
export async function closeAll(): Promise<void> {
  const errors: unknown[] = []
  for (const close of closers.splice(0).reverse())
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors)
}

/** A new folder for the test file. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-test-'))
  whenTheFileEnds(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A file with this text in a new folder. */
export function newFile(text: string | Uint8Array, name = 'file'): string {
  const path = join(newFolder(), name)
  writeFileSync(path, text)
  return path
}

/** A port that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/**
 * The limit of every step of a test, in milliseconds. It only ends what hangs: on a quiet machine no step
 * takes a tenth of it. That of a whole test is longer (see vitest.config.ts), so that the step says what it
 * waited for.
 */
export const HANGS_MS = 600_000

/** Tries until it holds: how a test waits. */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + HANGS_MS
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found as T
    if (performance.now() > deadline) throw new Error('what was waited for did not come about')
    await passing(10)
  }
}

/** The same for what throws, or whose assertions fail, until it holds. */
export async function eventuallyHolds<T>(look: () => T | Promise<T>): Promise<T> {
  let failure: unknown
  const deadline = performance.now() + HANGS_MS
  do {
    try {
      return await look()
    } catch (error) {
      failure = error
    }
    await passing(10)
  } while (performance.now() < deadline)
  throw failure
}

/**
 * Lets time pass, where its passing is what a test is about. `test/architecture/time.test.ts` lists who may
 * call it, and why.
 */
export function passing(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Keeps the thread busy for at least this long, as a costly step does. */
export function working(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}
