/** Commands of the command line, each a process that runs to its end. */
import { nodeMs } from '../harness/command-time.ts'
import { LAUNCHER, type SidecarOptions } from './start.ts'

/**
 * Runs a command, and drops its output.
 *
 * @returns its processor time, in milliseconds
 * @throws Error if it ends with another code than 0
 */
export function runPortcullis(
  words: readonly string[],
  { launcher = LAUNCHER, environment = {} }: Pick<SidecarOptions, 'launcher' | 'environment'> = {},
): Promise<number> {
  return nodeMs([launcher, ...words], environment)
}
