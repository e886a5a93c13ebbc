/** The time of decisions as options: the same for a search and for a replay. */
import { Option } from 'commander'
import type { TimeRange } from '../../signals/decision-log/line-times.ts'
import { usageError } from '../terminal/errors.ts'
import { TIME_HINT, timeFor } from '../terminal/times.ts'

export interface LogTimes {
  readonly since?: Date
  readonly until?: Date
  readonly everyLine?: boolean
}

export const LOG_TIMES = [
  new Option('--since <time>', `only decisions at this time or later: ${TIME_HINT}`).argParser(
    timeFor('--since'),
  ),
  new Option('--until <time>', 'only decisions before this time').argParser(timeFor('--until')),
  new Option(
    '--every-line',
    'with --since or --until: read every line, for a log whose clock was set back (default: files are taken to be in the order of time)',
  ),
]

/** @throws CommandError where no time is between them */
export function timesOf({ since, until }: LogTimes): TimeRange {
  if (since !== undefined && until !== undefined && since >= until)
    throw usageError('--until: expected a time after --since')
  return { sinceMs: since?.getTime(), untilMs: until?.getTime() }
}
