/** What `portcullis replay` does. It is loaded when the command runs. */
import { createReadStream } from 'node:fs'
import { compile } from '../../../engine/index.ts'
import { columns } from '../../base/text-table.ts'
import { type MalformedLine, readLines } from '../../signals/decision-log/read-line.ts'
import { type Change, Replay, UNTOLD, type Untold } from '../../signals/decision-log/replay.ts'
import { readRules } from '../rules.ts'
import { CommandError, EXIT } from '../terminal/errors.ts'
import { counted, print, printJson } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

export interface ReplayOptions {
  readonly matrix?: string
  readonly strict?: boolean
  readonly json?: boolean
}

/** A malformed line, and the log that it is in. */
type Malformed = MalformedLine & { readonly log: string }

/** Most malformed lines that are listed. */
const MALFORMED_MAX = 20

/** @throws CommandError that names the file that cannot be read */
export async function replayLogs(logs: readonly string[], options: ReplayOptions): Promise<void> {
  const { matrix, engine } = readRules({ ...options, strict: true })
  const lenient = options.strict ? engine : compile(matrix, { strict: false })
  const replay = new Replay((strict) => (strict ? engine : lenient))
  const malformed = new MalformedLines()
  for (const log of logs) await readLog(log, replay, malformed)
  if (options.json) printJson(reportOf(replay, malformed, engine.digest))
  else print(describe(replay, malformed))
  const same = replay.changed + replay.untold.size + malformed.count === 0
  process.exitCode = same ? EXIT.done : EXIT.denied
}

class MalformedLines {
  count = 0
  readonly first: Malformed[] = []

  add(malformed: Malformed): void {
    this.count++
    if (this.first.length < MALFORMED_MAX) this.first.push(malformed)
  }
}

/** @throws CommandError that names the file where it cannot be read */
async function readLog(log: string, replay: Replay, malformed: MalformedLines): Promise<void> {
  const source = log === '-' ? process.stdin : createReadStream(log, { highWaterMark: 1_048_576 })
  try {
    await readLines(
      source,
      (line) => replay.add(line),
      (line) => malformed.add({ log, ...line }),
    )
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new CommandError('FAILED_PRECONDITION', `${log} cannot be read (${code})`)
  }
}

function reportOf(replay: Replay, malformed: MalformedLines, digest: string): object {
  const { decisions, changed, further, changes, untold } = replay
  return {
    ...{ digest, decisions, changed, changes, further },
    untold: Object.fromEntries(untold),
    malformed: { count: malformed.count, first: malformed.first },
  }
}

function describe(replay: Replay, malformed: MalformedLines): string {
  const { decisions, changed, further, changes, untold } = replay
  const untoldText = ([why, count]: [Untold, number]) =>
    `${paint('yellow', 'not known')}  ${count}  ${UNTOLD[why]}`
  const verdict = changed === 0 ? paint('green', 'none would change') : `${changed} would change`
  return [
    `${counted(decisions, 'decision')}: ${verdict}`,
    ...(changes.length > 0 ? [columns(changes.map(rowOf))] : []),
    ...(further > 0 ? [`and ${further} more, of other cells`] : []),
    ...Array.from(untold, untoldText),
    ...malformed.first.map(
      ({ log, line, problem }) => `${paint('red', 'malformed')}  ${log}:${line}: ${problem}`,
    ),
    ...(malformed.count > malformed.first.length
      ? [`and ${malformed.count - malformed.first.length} more malformed lines`]
      : []),
  ].join('\n')
}

const COLOURS = { opened: 'red', closed: 'yellow', reason: 'dim', conflicts: 'dim' } as const

function rowOf(change: Change): string[] {
  const { type, api, kind = 'unknown token', before, after, decisions } = change
  const what =
    type === 'conflicts'
      ? `conflicts ${listOf(change.conflictsBefore)} → ${listOf(change.conflictsAfter)}`
      : `${before} → ${after}`
  return [paint(COLOURS[type], type), String(decisions), api, kind, what]
}

function listOf(conflicts: readonly string[]): string {
  return conflicts.length === 0 ? 'none' : conflicts.join(', ')
}
