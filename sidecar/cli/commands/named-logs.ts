/** The decision logs that a command is given by name. */
import { statSync } from 'node:fs'
import { type LogFile, logFile, logsOfFolder, standardInput } from '../../signals/decision-log/log-files.ts'
import { CommandError } from '../terminal/errors.ts'
import { Progress } from '../terminal/progress.ts'

/** How much of a log is read at once, in bytes. */
export const BLOCK_BYTES = 1_048_576

/**
 * The logs of these files and folders, and of standard input as `-`. Each has its files, the oldest first.
 *
 * @throws CommandError that names the file that cannot be read
 */
export async function namedLogs(paths: readonly string[]): Promise<readonly (readonly LogFile[])[]> {
  const logs: (readonly LogFile[])[] = []
  for (const path of paths)
    try {
      if (path === '-') logs.push([standardInput()])
      else if (statSync(path).isDirectory()) logs.push(...(await logsOfFolder(path)))
      // Each may be of another host, so each is a separate log: then their order is that of their lines.
      else logs.push([(await logFile(path)) as LogFile])
    } catch (error) {
      throw unreadable(path, error)
    }
  if (logs.length === 0)
    throw new CommandError(
      'FAILED_PRECONDITION',
      `${paths.join(', ')}: no file there has the lines of a decision log`,
    )
  return logs
}

export function unreadable(path: string, error: unknown): CommandError {
  return new CommandError('FAILED_PRECONDITION', `${path} cannot be read (${causeOf(error)})`)
}

export function causeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).message
}

/** Shows how much of the logs is read. */
export function progressIn(logs: readonly (readonly LogFile[])[]): Progress {
  const sizes = logs.flat().map(({ bytes }) => bytes)
  const total = sizes.includes(undefined) ? undefined : sizes.reduce<number>((sum, each = 0) => sum + each, 0)
  return new Progress({ done: 'read', unit: 'bytes', total })
}
