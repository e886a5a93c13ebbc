/** Reads lines of decision logs. */
import type { Reason, Scope } from '../../../engine/index.ts'
import { problemsBy, problemText } from '../../../matrix/document/index.ts'
import { blocksOf, eachLine, LINE_BYTES_MAX } from './blocks.ts'
import { validate } from './gen/line.ts'
import schema from './line.schema.json' with { type: 'json' }

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
  /** From 1. */
  readonly line: number
  readonly problem: string
}

const TOO_LONG = `expected at most ${LINE_BYTES_MAX} bytes`

/**
 * As each line begins that a sidecar has written. Its members have a fixed form, without spaces. Of a process
 * that was killed, the last line may have only its beginning, and that of another process may follow it.
 */
export const START = Buffer.from('{"time":"')

/** Reads each line that is not empty, in bounded memory. @throws what the source throws */
export async function readLines(
  source: AsyncIterable<Uint8Array>,
  onLine: (line: Line) => void,
  onMalformed: (malformed: MalformedLine) => void,
): Promise<void> {
  let line = 0
  for await (const { bytes, tooLong } of blocksOf(source)) {
    if (tooLong) onMalformed({ line: ++line, problem: TOO_LONG })
    eachLine(bytes, (start, end) => {
      line++
      const text = bytes.toString('utf8', start, end).trim()
      if (text === '') return
      const read = parse(text)
      if (typeof read !== 'string') return onLine(read)
      onMalformed({ line, problem: read })
      const torn = bytes.subarray(start, end)
      const last = torn.lastIndexOf(START)
      const behind = last > 0 ? parse(torn.toString('utf8', last).trim()) : read
      if (typeof behind !== 'string') onLine(behind)
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
