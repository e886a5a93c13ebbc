/** Commands of the command line, each a process that runs to its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../harness/paths.ts'
import { LAUNCHER, type SidecarOptions } from './start.ts'

const REPORT_AT_EXIT = pathToFileURL(join(ROOT, 'bench', 'harness', 'report-at-exit.js')).href

/**
 * Runs a command, and drops its output.
 *
 * @returns its processor time, in milliseconds
 * @throws Error if it ends with another code than 0
 */
export async function runPortcullis(
  words: readonly string[],
  { launcher = LAUNCHER, environment = {} }: Pick<SidecarOptions, 'launcher' | 'environment'> = {},
): Promise<number> {
  const child = spawn(process.execPath, ['--import', REPORT_AT_EXIT, launcher, ...words], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { ...process.env, ...environment },
  })
  const [[code], microseconds] = await Promise.all([once(child, 'exit'), text(child.stdio[3] as Readable)])
  if (code !== 0) throw new Error(`portcullis ${words.join(' ')} ended with ${code}`)
  return Number(microseconds) / 1_000
}
