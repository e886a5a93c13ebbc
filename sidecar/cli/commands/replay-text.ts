/** The report of a replay as people read it in a terminal. */
import { columns } from '../../base/text-table.ts'
import { escaped } from '../../base/visible-text.ts'
import type { MalformedLine } from '../../signals/decision-log/read-line.ts'
import {
  CHANGE_TYPES,
  type Change,
  type ChangeCounts,
  type Replay,
  type Sample,
  UNTOLD,
  type Untold,
} from '../../signals/decision-log/replay.ts'
import { counted } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

/** Lines of the logs that are not of a decision log. */
export interface MalformedLines {
  readonly count: number
  /** The first ones, and the log that each is in. */
  readonly first: readonly (MalformedLine & { readonly log: string })[]
}

/** Most accounts that people are shown. */
const ACCOUNTS_SHOWN = 20

export function describe(replay: Replay, malformed: MalformedLines): string {
  const { decisions, changed, further, changes, untold, observed } = replay
  const untoldText = ([why, count]: [Untold, number]) =>
    `${paint('yellow', 'not known')}  ${count}  ${UNTOLD[why]}`
  const verdict = changed === 0 ? paint('green', 'none would change') : `${changed} would change`
  const accounts = changed > 0 ? accountRows(replay) : []
  return [
    `${counted(decisions, 'decision')}: ${verdict}`,
    ...(observed > 0 ? [`${observed} denied, and passed all the same (observe mode)`] : []),
    ...(changes.length > 0 ? [columns(changes.map(rowOf))] : []),
    ...(further > 0 ? [`and ${further} more, of other cells`] : []),
    ...(accounts.length > 0 ? [columns(accounts)] : []),
    ...Array.from(untold, untoldText),
    ...malformed.first.map(
      ({ log, line, offset, problem }) =>
        `${paint('red', 'malformed')}  ${log}:${line ?? ` byte ${offset}`}: ${problem}`,
    ),
    ...(malformed.count > malformed.first.length
      ? [`and ${malformed.count - malformed.first.length} more malformed lines`]
      : []),
  ].join('\n')
}

function accountRows({ accounts, otherAccounts }: Replay): string[][] {
  const rest = accounts.slice(ACCOUNTS_SHOWN).map(({ counts }) => counts)
  const others = [...rest, ...(otherAccounts === undefined ? [] : [otherAccounts])]
  return [
    ...accounts
      .slice(0, ACCOUNTS_SHOWN)
      .map(({ account, counts }) => [
        account === undefined ? 'no account' : `account ${escaped(account)}`,
        countsText([counts]),
      ]),
    ...(others.length === 0 ? [] : [['other accounts', countsText(others)]]),
  ]
}

function countsText(all: readonly ChangeCounts[]): string {
  return CHANGE_TYPES.flatMap((type) => {
    const sum = all.reduce((total, counts) => total + counts[type], 0)
    return sum === 0 ? [] : [`${sum} ${type}`]
  }).join(', ')
}

const COLOURS = { opened: 'red', closed: 'yellow', reason: 'dim', conflicts: 'dim' } as const

function rowOf(change: Change): string[] {
  const { type, api, kind = 'unknown token', before, after, decisions, observed, sample } = change
  const what =
    type === 'conflicts'
      ? `conflicts ${listOf(change.conflictsBefore)} → ${listOf(change.conflictsAfter)}`
      : `${before} → ${after}`
  const passed = observed === 0 ? '' : `; ${observed} passed all the same`
  return [
    paint(COLOURS[type], type),
    String(decisions),
    api,
    kind,
    what + passed,
    `e.g. ${sampleText(sample)}`,
  ]
}

/** When, from where and whose: as far as the log has it. */
export function sampleText({ time, caller, client_address: client, subject, account }: Sample): string {
  const from = client ?? caller.address
  return [
    time,
    ...(from === undefined ? [] : [`from ${from}`]),
    ...(caller.name === undefined ? [] : [`through ${caller.name}`]),
    ...(subject === undefined ? [] : [`by ${subject.type} ${subject.id}`]),
    ...(account === undefined ? [] : [`of account ${account}`]),
  ]
    .map(escaped)
    .join(' ')
}

function listOf(conflicts: readonly string[]): string {
  return conflicts.length === 0 ? 'none' : conflicts.join(', ')
}
