/** The cost of a whole command, from the start of its process to its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

/** The shell says the processor time of a program that it ran. Node does not report that of its children. */
const TIMED = 'TIMEFORMAT="%3U %3S"; { time "$@" >/dev/null 2>&3; } 2>&1'

/**
 * Runs a program of this Node, and drops its output.
 *
 * @returns its processor time (all threads, user and system) in milliseconds
 * @throws Error if it ends with another code than 0
 */
export async function nodeMs(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn('bash', ['-c', TIMED, 'bash', process.execPath, ...words], {
    stdio: ['ignore', 'pipe', 'inherit', 2],
    env: { ...process.env, ...environment },
  })
  const [[code], times] = await Promise.all([once(child, 'exit'), text(child.stdout as Readable)])
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}`)
  return times
    .trim()
    .split(' ')
    .reduce((sum, seconds) => sum + Number(seconds) * 1_000, 0)
}
