/**
 * Lines of the log for people: the time, the level, the message, and further facts. A stack follows on
 * separate lines.
 */
import { styleText } from 'node:util'
import { escaped } from '../../base/visible-text.ts'

type Style = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>

/** The levels of pino, by their numbers. */
const LEVELS: ReadonlyMap<number, readonly [name: string, style: Style]> = new Map([
  [10, ['trace', 'gray']],
  [20, ['debug', 'gray']],
  [30, ['info', 'green']],
  [40, ['warn', 'yellow']],
  [50, ['error', 'red']],
  [60, ['fatal', 'red']],
])

/**
 * @param json a line of pino
 * @returns the line, in colours where standard error shows them (`NO_COLOR` is heeded)
 */
export function prettyLine(json: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>
  const [name, style] = LEVELS.get(level as number) ?? [String(level), 'gray']
  const details = Object.entries(fields).map(([key, value]) => ` ${paint('gray', `${key}=`)}${shown(value)}`)
  const clock = new Date(time as number).toISOString().slice(11, 23)
  const first = `${paint('gray', clock)} ${paint(style, name.padEnd(5))} ${escaped(String(msg))}${details.join('')}`
  return `${[first, ...linesOf(err)].join('\n')}\n`
}

/** A word as it is, and everything else as JSON. */
function shown(value: unknown): string {
  return escaped(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value))
}

/** The lines of an error as pino has it: its stack begins with its name and its message. */
function linesOf(err: unknown): string[] {
  if (err === undefined) return []
  const { stack } = err as { readonly stack?: unknown }
  const text = typeof stack === 'string' ? stack : JSON.stringify(err)
  return text.split('\n').map((line) => `    ${escaped(line.trim())}`)
}

/** Asked for each line, because standard error is opened as a stream only where lines are for people. */
function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr })
}
