/** Decisions of a log as people read them. */
import { compile, type Engine } from '../../../engine/index.ts'
import { columns } from '../../base/text-table.ts'
import { escaped } from '../../base/visible-text.ts'
import type { Config } from '../../config/config.ts'
import type { UserName } from '../../directory/user-names.ts'
import { afterwards } from '../../signals/decision-log/afterwards.ts'
import { COUNTED, type Counted, type Counts } from '../../signals/decision-log/counts.ts'
import type { FoundIn } from '../../signals/decision-log/log-search.ts'
import type { Line } from '../../signals/decision-log/read-line.ts'
import { readRules } from '../read-rules.ts'
import { counted } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

type UserNames = ReadonlyMap<string, UserName>

interface Column {
  readonly title: string
  readonly cell: (line: Line, users: UserNames) => string
  /** A narrower terminal has no room for it. */
  readonly fromWidth?: number
}

const COLUMNS: readonly Column[] = [
  { title: 'TIME (UTC)', cell: ({ time }) => time.replace('T', ' ').replace(/Z$/, '') },
  { title: 'DECISION', cell: ({ reason }) => reason },
  { title: 'API', cell: ({ api }) => api },
  { title: 'KIND', cell: ({ kind = '' }) => kind, fromWidth: 130 },
  { title: 'USER', cell: ({ subject }, users) => (subject === undefined ? '' : nameOf(subject.id, users)) },
  { title: 'ACCOUNT', cell: (line) => ownerOf(line.scope ?? line.subject ?? line.target), fromWidth: 100 },
  { title: 'FROM', cell: (line) => COUNTED.client(line) ?? '', fromWidth: 100 },
]

/** Where the decision stands in a row. */
const DECISION = 1

/** Least width of a column that is cut. */
const WIDTH_MIN = 10

/**
 * @param first whether it begins with the titles
 * @param width of the terminal; `undefined`: it is for a file or a pipe, and nothing is cut
 */
export function tableOf(
  found: readonly FoundIn[],
  users: UserNames,
  first: boolean,
  width: number | undefined,
): string {
  const shown = COLUMNS.filter(({ fromWidth = 0 }) => width === undefined || width >= fromWidth)
  const titles = shown.map(({ title }) => title)
  const cells = found.map(({ line }) => shown.map(({ cell }) => escaped(cell(line, users))))
  const widths = fitted([titles, ...cells], width)
  const row = (texts: readonly string[]) => texts.map((text, index) => cutTo(text, widths[index] ?? 0))
  // The widths of the titles hold for every batch, as far as its texts are no longer.
  const head = row(titles).map((text, index) => paint('dim', text.padEnd(widths[index] ?? 0)))
  const rows = cells.map((texts, index) =>
    row(texts).map((text, column) =>
      column === DECISION ? paint(found[index]?.line.allowed ? 'green' : 'red', text) : text,
    ),
  )
  return columns([...(first ? [head] : []), ...rows])
}

/** As wide as the widest cell; where that is too much, the widest columns are cut. */
function fitted(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): number[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const room = width - 2 * (widths.length - 1)
  for (;;) {
    const sum = widths.reduce((all, each) => all + each, 0)
    // The time is always whole.
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1)
    if (sum <= room || (widths[widest] ?? 0) <= WIDTH_MIN) return widths
    widths[widest] = (widths[widest] ?? 0) - 1
  }
}

function cutTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}

/** The name of a user with the id in place of it where the directory does not have it. */
function nameOf(id: string, users: UserNames): string {
  const user = users.get(id)
  return user === undefined ? id : `${user.name}${user.deleted ? ' (deleted)' : ''}`
}

function ownerOf(
  owner: { readonly account: string; readonly project?: string | undefined } | undefined,
): string {
  if (owner === undefined) return ''
  return owner.project === undefined ? owner.account : `${owner.account}/${owner.project}`
}

export function countsText(counts: Counts, by: Counted | undefined, users: UserNames): string {
  const { decisions, rows, further } = counts
  if (by === undefined) return String(decisions)
  return [
    ...(rows.length === 0
      ? []
      : [
          columns(
            rows.map(([value, count]) => [
              String(count),
              value === undefined
                ? paint('dim', 'none')
                : escaped(by === 'user' ? nameOf(value, users) : value),
            ]),
          ),
        ]),
    ...(further > 0 ? [`and ${further} with further values`] : []),
    counted(decisions, 'decision'),
  ].join('\n')
}

/** Says what the rules say of a decision: those of its time, if they are at hand, and those of now. */
export interface Explanation {
  text(found: FoundIn, users: UserNames): string
  /** The same for JSON. */
  members(line: Line): object
}

/** @throws MatrixError where the rules cannot be read */
export async function explanation(
  config: Config,
  { matrix }: { readonly matrix?: string },
): Promise<Explanation> {
  const path = matrix ?? config.matrix
  const { matrix: rules, engine } = readRules({ ...(path !== undefined && { matrix: path }), strict: true })
  const lenient = compile(rules, { strict: false })
  // Where the configuration does not say that it is strict, the mode is that of the decision, as in a replay.
  const engineFor = (line: Line): Engine => (config.strict || line.strict ? engine : lenient)
  return {
    text: (found, users) => describe(found, users, engineFor(found.line)),
    members: (line) => {
      const { message, digest, now } = afterwards(engineFor(line), line)
      return { explained: { ...(message !== undefined && { message }), rules: digest, now } }
    },
  }
}

function describe({ line, file }: FoundIn, users: UserNames, engine: Engine): string {
  const { api, allowed, reason, kind, subject, scope, target, token, header, matrix, strict, conflicts } =
    line
  const { caller, client_address: client, request_id: request, trace_id: trace } = line
  const { message, digest, now } = afterwards(engine, line)
  const verdict = allowed ? paint('green', 'allowed') : paint('red', 'denied')
  const rows: (readonly [string, string | undefined])[] = [
    ['passed', line.observed && 'all the same, in observe mode'],
    ['time', line.time],
    ['user', subject && userText(subject, users)],
    ['token', join(kind, header && `in ${header}`, scope && `of ${ownerText(scope)}`)],
    ['fingerprint', token],
    ['target', target && ownerText(target)],
    ['client', client],
    ['caller', join(caller?.name, caller?.address) || 'not identified'],
    ['request', request],
    ['trace', trace],
    ['conflicts', conflicts?.join(', ') || undefined],
    [
      'rules',
      `${matrix}${strict ? ', strict' : ''}${digest === 'same' ? ', the same as now' : ', others than now'}`,
    ],
    ['now', nowText(now, message !== undefined)],
    ['log', file.name],
  ]
  return columns([
    [verdict, escaped(allowed ? api : `${api}: ${reason}`)],
    ['', escaped(message ?? MESSAGE_UNKNOWN)],
    ...rows.flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[paint('dim', name), escaped(value)]],
    ),
  ])
}

const MESSAGE_UNKNOWN = 'the sentence is known only with the rules of that time: --matrix FILE takes them'

/** @param isSaid whether its sentence is there already */
function nowText(now: ReturnType<typeof afterwards>['now'], isSaid: boolean): string {
  if ('unknown' in now) return `not known: ${now.unknown}`
  const sentence = now.message === undefined ? '' : `: ${now.message}`
  if (now.same) return isSaid ? 'the rules decide the same' : `the rules decide the same${sentence}`
  return `the rules decide otherwise: ${now.allowed ? 'allowed' : 'denied'}, ${now.reason}${sentence}`
}

function userText({ id, type, account }: NonNullable<Line['subject']>, users: UserNames): string {
  const user = users.get(id)
  return `${type} ${user === undefined ? id : `${nameOf(id, users)} (${id})`}, account ${account}`
}

function ownerText({ account, project }: NonNullable<Line['scope']>): string {
  return `account ${account}${project === undefined ? '' : `, project ${project}`}`
}

function join(...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join(', ')
}
