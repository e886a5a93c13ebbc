/** The work of `portcullis replay`. It is loaded when the command runs. */
import { compile } from '../../../engine/index.ts'
import type { TimeRange } from '../../signals/decision-log/line-times.ts'
import type { LogFile } from '../../signals/decision-log/log-files.ts'
import { blocksIn, type ReadOptions } from '../../signals/decision-log/log-search.ts'
import { readLines } from '../../signals/decision-log/read-line.ts'
import { Replay } from '../../signals/decision-log/replay.ts'
import { readRules } from '../read-rules.ts'
import { CommandError, EXIT } from '../terminal/errors.ts'
import { print, printJson } from '../terminal/output.ts'
import { type LogTimes, timesOf } from './log-times.ts'
import { BLOCK_BYTES, namedLogs, progressIn, unreadable } from './named-logs.ts'
import { describe, type MalformedLines } from './replay-text.ts'

/** Changes for which the command ends with 1. */
export type FailOn = 'opened' | 'closed' | 'any'

export interface ReplayOptions extends LogTimes {
  readonly matrix?: string
  readonly strict?: boolean
  readonly json?: boolean
  readonly failOn?: FailOn
  readonly html?: string
}

/** Most malformed lines that are listed. */
const MALFORMED_MAX = 20

/** @throws CommandError that names the file that cannot be read */
export async function replayLogs(logs: readonly string[], options: ReplayOptions): Promise<void> {
  const { failOn } = options
  const times = timesOf(options)
  const { matrix, engine } = readRules({ ...options, strict: true })
  const lenient = options.strict ? engine : compile(matrix, { strict: false })
  const replay = new Replay((strict) => (strict ? engine : lenient))
  const malformed = new Malformed()
  const named = await namedLogs(logs)
  {
    using progress = progressIn(named)
    const reading = {
      ...{ blockBytes: BLOCK_BYTES, times: options.everyLine ? undefined : times },
      onRead: (bytes: number) => progress.add(bytes),
      onLeftOut: (bytes: number) => progress.leaveOut(bytes),
    }
    for (const file of named.flat()) await readLog(file, replay, malformed, times, reading)
  }
  if (replay.decisions === 0 && malformed.count > 0 && failOn !== undefined)
    throw new CommandError('FAILED_PRECONDITION', `${logs.join(', ')}: expected lines of a decision log`)
  if (options.html !== undefined) {
    const { writeReport } = await import('./replay-html.ts')
    const strict = options.strict === true
    writeReport(options.html, { replay, malformed: malformed.count, logs, digest: engine.digest, strict })
  }
  if (options.json) printJson(reportOf(replay, malformed, engine.digest))
  else print(describe(replay, malformed))
  process.exitCode = fails(replay, malformed, failOn) ? EXIT.denied : EXIT.done
}

/** Whether something would change, or may, for which the command ends with 1. */
function fails(replay: Replay, malformed: MalformedLines, failOn: FailOn | undefined): boolean {
  if (failOn === undefined) return replay.changed + replay.untold.size + malformed.count > 0
  if (failOn === 'any') return replay.changed + replay.untold.size > 0
  return replay.counts[failOn] + replay.mayChange[failOn] > 0
}

class Malformed implements MalformedLines {
  count = 0
  readonly first: MalformedLines['first'][number][] = []

  add(malformed: MalformedLines['first'][number]): void {
    this.count++
    if (this.first.length < MALFORMED_MAX) this.first.push(malformed)
  }
}

/** @throws CommandError that names the file where it cannot be read */
async function readLog(
  file: LogFile,
  replay: Replay,
  malformed: Malformed,
  times: TimeRange,
  reading: ReadOptions,
): Promise<void> {
  try {
    await using log = await file.open()
    await readLines(
      blocksIn(log, reading),
      (line) => replay.add(line),
      (line) => malformed.add({ log: file.name, ...line }),
      times,
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw unreadable(file.name, error)
  }
}

function reportOf(replay: Replay, malformed: MalformedLines, digest: string): object {
  const { decisions, changed, further, changes, untold, counts, observed } = replay
  const { accounts, otherAccounts } = replay
  return {
    ...{ digest, decisions, observed, changed, counts, changes, further },
    accounts: accounts.map(({ account = null, counts }) => ({ account, ...counts })),
    ...(otherAccounts && { otherAccounts }),
    untold: Object.fromEntries(untold),
    malformed: { count: malformed.count, first: malformed.first },
  }
}
