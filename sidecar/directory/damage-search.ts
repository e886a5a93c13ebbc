/**
 * Looks for damage in a large directory file while it is used. A comparison of all tables with their indexes
 * takes seconds for each 100,000 users, so it runs in a thread, and no start waits for it.
 */
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { isExecutable, packageFile } from '../base/package.ts'

/** Time between two attempts, where a thread cannot be started, in milliseconds. */
const RETRY_MS = 60_000

/** Next to this file, in the sources as in the package. The executable has it as a text. */
const program = () =>
  isExecutable
    ? packageFile('damage-thread.cjs').toString()
    : join(import.meta.dirname, `damage-thread${extname(import.meta.filename)}`)

/** The answer of the thread. `problem`: what is wrong with the file; `undefined`: nothing. */
export interface SearchResult {
  readonly problem: string | undefined
}

/**
 * Looks through the file once.
 *
 * @param onDamaged called if there is damage, with what it is
 * @returns what ends the search
 */
export function searchForDamage(path: string, onDamaged: (problem: string) => void): () => Promise<unknown> {
  let thread: Worker | undefined
  let retry: NodeJS.Timeout | undefined
  let isOpen = true
  const start = () => {
    // It needs no option of this process, and above all no secret of its environment.
    thread = new Worker(program(), { eval: isExecutable, workerData: path, execArgv: [], env: {} })
    thread.unref()
    let isDone = false
    thread.once('message', ({ problem }: SearchResult) => {
      isDone = true
      if (problem !== undefined && isOpen) onDamaged(problem)
    })
    // No memory for a thread, or an error of the disk: neither judges the file.
    thread.once('error', () => {})
    thread.once('exit', () => {
      if (!isDone && isOpen) retry = setTimeout(start, RETRY_MS).unref()
    })
  }
  start()
  return async () => {
    isOpen = false
    clearTimeout(retry)
    await thread?.terminate()
  }
}
