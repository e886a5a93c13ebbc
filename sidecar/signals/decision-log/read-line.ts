/** Reads lines of decision logs. */
import type { Reason, Scope } from '../../../engine/index.ts'
import { problemsBy, problemText } from '../../../matrix/document/index.ts'
import { type Block, eachLine, LINE_BYTES_MAX } from './blocks.ts'
import { validate } from './gen/line.ts'
import schema from './line.schema.json' with { type: 'json' }
import { isOwn, isWithin, LineTimes, START, type TimeRange } from './line-times.ts'

/** The members of a line that are read again. `line.schema.json` describes all. */
export interface Line {
  readonly time: string
  readonly caller: { readonly address?: string; readonly name?: string }
  readonly trace_id?: string
  readonly request_id?: string
  readonly api: string
  readonly kind?: string
  readonly allowed: boolean
  readonly reason: Reason
  readonly matrix: string
  readonly strict: boolean
  readonly conflicts: readonly string[]
  readonly asked: 'claims' | 'kind' | 'credentials' | 'own_token'
  readonly scope?: Scope
  readonly target?: Scope
  readonly token?: string
  readonly subject?: { readonly id: string; readonly type: string; readonly account: string }
  readonly header?: string
  readonly form?: 'issue' | 'control_panel'
  readonly client_address?: string
  readonly cut?: true
  readonly observed?: true
  readonly shadow?: 'opened' | 'closed' | 'unknown'
}

/** A line that is not of a decision log. */
export interface MalformedLine {
  /** From 1; `undefined`: the log is not read from its beginning. */
  readonly line?: number
  /** Where it begins, in bytes, if it has no number. */
  readonly offset?: number
  readonly problem: string
}

const TOO_LONG = `expected at most ${LINE_BYTES_MAX} bytes`

/**
 * Reads each line that is not empty, in bounded memory.
 *
 * @param times only lines of this time, and malformed ones that follow a line of it
 * @throws what reading the blocks throws
 */
export async function readLines(
  blocks: AsyncIterable<Block>,
  onLine: (line: Line) => void,
  onMalformed: (malformed: MalformedLine) => void,
  times: TimeRange = {},
): Promise<void> {
  const bounds = new LineTimes(times)
  let line = 0
  let isNumbered: boolean | undefined
  let isIn = times.sinceMs === undefined
  const take = (read: Line) => {
    isIn = isWithin(times, read.time)
    if (isIn) onLine(read)
  }
  for await (const { bytes, offset, tooLong } of blocks) {
    isNumbered ??= offset === 0
    const refuse = (start: number, problem: string) => {
      if (isIn) onMalformed(isNumbered ? { line, problem } : { offset: offset + start, problem })
    }
    if (tooLong) {
      line++
      refuse(0, TOO_LONG)
    }
    eachLine(bytes, (start, end) => {
      line++
      if (isOwn(bytes, start, end) && !bounds.mayHave(bytes, start, end)) {
        isIn = false
        return
      }
      const text = bytes.toString('utf8', start, end).trim()
      if (text === '') return
      const read = parse(text)
      if (typeof read !== 'string') return take(read)
      refuse(start, read)
      const torn = bytes.subarray(start, end)
      const last = torn.lastIndexOf(START)
      const behind = last > 0 ? parse(torn.toString('utf8', last).trim()) : read
      if (typeof behind !== 'string') take(behind)
    })
  }
}

/** @returns the line, or the expected value */
function parse(text: string): Line | string {
  const value = jsonOf(text)
  if (value === undefined) return 'expected JSON'
  return problemOf(value) ?? (value as Line)
}

/** `undefined`: it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The difference of the line from this version; `undefined`: it is as the schema says. */
export function problemOf(value: unknown): string | undefined {
  const [problem] = problemsBy(validate, value)
  return problem && problemText(problem)
}

/** A member that lines of this version do not have. */
export function unknownMemberOf(value: object): string | undefined {
  return Object.keys(value).find((name) => !KNOWN.has(name))
}

/** `portcullis decisions --json` adds `names`. */
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(schema.properties), 'names'])
