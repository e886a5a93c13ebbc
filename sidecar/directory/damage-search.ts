/**
 * Looks for damage in a large directory file while it is used. A comparison of all tables with their indexes
 * takes seconds for each 100,000 users, so it runs in a thread, and no start waits for it.
 */
import type { Worker } from 'node:worker_threads'
import { startFileThread } from './file-work.ts'

/** Time between two attempts, where a thread cannot be started, in milliseconds. */
const RETRY_MS = 60_000

/** The answer of the thread. `problem`: what is wrong with the file; `undefined`: nothing. */
interface SearchResult {
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
    thread = startFileThread({ work: 'search for damage', path })
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
