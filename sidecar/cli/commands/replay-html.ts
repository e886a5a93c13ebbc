/**
 * The report of a replay as one HTML file, in the style of the explorer. It has no script, and its policy
 * lets no request leave it. Most of its texts are from callers, so each is escaped.
 */
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { pageFile } from '../../base/package.ts'
import { escapedMarkup as html } from '../../base/visible-text.ts'
import {
  CHANGE_TYPES,
  type Change,
  type ChangeCounts,
  type ChangeType,
  type Replay,
  UNTOLD,
} from '../../signals/decision-log/replay.ts'
import { CommandError } from '../terminal/errors.ts'
import { counted } from '../terminal/output.ts'
import { sampleText } from './replay-text.ts'

export interface Report {
  readonly replay: Replay
  /** The number of lines that are not of a decision log. */
  readonly malformed: number
  readonly logs: readonly string[]
  /** Of the other matrix. */
  readonly digest: string
  /** Whether all were asked in strict mode; otherwise each in the mode of its line. */
  readonly strict: boolean
}

/** Most rows of a table. A browser draws a thousand in a second. */
const ROWS_MAX = 1_000

const TITLES: Readonly<Record<ChangeType, string>> = {
  opened: 'Opened: denied before, allowed now',
  closed: 'Closed: allowed before, denied now',
  reason: 'Denied as before, for another reason',
  conflicts: 'As before, with other conflicts',
}

/** @throws CommandError where the file cannot be written */
export function writeReport(path: string, report: Report): void {
  try {
    // It says who asked for what, as the log does, which has the same mode.
    writeFileSync(path, reportOf(pageFile('explorer.html').toString(), report), { mode: 0o600 })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    throw new CommandError('FAILED_PRECONDITION', `--html: ${path} cannot be written (${code})`)
  }
}

/** Other columns than those of the explorer. */
const WIDTHS = '.changes table{table-layout:auto}'

/** @param page the explorer, whose style the report has */
function reportOf(page: string, { replay, malformed, logs, digest, strict }: Report): string {
  const style = (/<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '') + WIDTHS
  const hash = createHash('sha256').update(style).digest('base64')
  const { decisions, changed, observed, untold, further, changes } = replay
  const verdict = changed === 0 ? 'none would change' : `${changed} would change`
  const notes = [
    `With the matrix <code>${html(digest)}</code>${strict ? ', all in strict mode' : ', each decision in its mode'}.`,
    ...(observed > 0 ? [`${observed} were denied and passed all the same, in observe mode.`] : []),
    ...Array.from(untold, ([why, count]) => `Not known: ${count}, because ${html(UNTOLD[why])}.`),
    ...(malformed > 0 ? [`${counted(malformed, 'line')} of the logs could not be read.`] : []),
    ...(further > 0 ? [`${further} further changes are of cells that are not listed.`] : []),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'">
<title>Portcullis: replay of ${html(logs.join(', '))}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main class="task">
<h1>Replay of ${html(logs.join(', '))}</h1>
<p>${counted(decisions, 'decision')}: ${verdict}.</p>
${notes.map((note) => `<p class="dim">${note}</p>`).join('\n')}
<div class="result"><div class="compared">
${CHANGE_TYPES.map((type) => changesOf(type, changes, replay.counts[type])).join('')}${accountsOf(replay)}</div></div>
</main>
</body>
</html>
`
}

function changesOf(type: ChangeType, all: readonly Change[], count: number): string {
  const changes = all.filter((change) => change.type === type)
  if (changes.length === 0) return ''
  const head = ['API', 'Kind of token', 'Decisions', 'Before', 'After', 'For example']
  return section(type, TITLES[type], count, head, changes.map(cellsOf))
}

function cellsOf(change: Change): string[] {
  const { type, api, kind = 'unknown token', before, after, decisions, observed, sample } = change
  const passed = observed === 0 ? '' : ` (${observed} passed all the same)`
  const [was, is] =
    type === 'conflicts' ? [change.conflictsBefore, change.conflictsAfter] : [[before], [after]]
  return [
    `<code>${html(api)}</code>`,
    html(kind),
    `${decisions}${passed}`,
    ...[was, is].map((texts) => `<code class="reason">${html(texts.join(', ') || 'none')}</code>`),
    html(sampleText(sample)),
  ]
}

function accountsOf({ accounts, otherAccounts, changed }: Replay): string {
  if (changed === 0) return ''
  const cells = (name: string, counts: ChangeCounts) => [
    name,
    ...CHANGE_TYPES.map((type) => String(counts[type])),
  ]
  const rows = accounts.map(({ account, counts }) =>
    cells(account === undefined ? 'no account' : `<code>${html(account)}</code>`, counts),
  )
  if (otherAccounts !== undefined) rows.push(cells('other accounts', otherAccounts))
  const head = ['Account', 'Opened', 'Closed', 'Other reason', 'Other conflicts']
  return section('accounts', 'By account', accounts.length, head, rows)
}

/** @param rows cells of markup */
function section(
  type: string,
  title: string,
  count: number,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const row = ([first = '', ...others]: readonly string[]) =>
    `<tr><th scope="row">${first}</th>${others
      .map((cell, index) => `<td data-label="${head[index + 1]}">${cell}</td>`)
      .join('')}</tr>`
  const more = rows.length > ROWS_MAX ? `<p class="dim">and ${rows.length - ROWS_MAX} more rows</p>\n` : ''
  return `<section class="changes" data-type="${type}">
<h2>${title} <span class="number">${count}</span></h2>
<table>
<thead><tr>${head.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead>
<tbody>
${rows.slice(0, ROWS_MAX).map(row).join('\n')}
</tbody>
</table>
${more}</section>
`
}
