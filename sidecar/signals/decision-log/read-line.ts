/** Reads decision logs line by line, in bounded memory however long they are. */
import type { Reason, Scope } from '../../../engine/index.ts'
import { problemsBy, problemText } from '../../../matrix/document/index.ts'
import { validate } from './gen/line.ts'

/** The members of a line that are read again. `line.schema.json` describes all. */
export interface Line {
  readonly api: string
  readonly kind?: string
  readonly allowed: boolean
  readonly reason: Reason
  readonly strict: boolean
  readonly conflicts: readonly string[]
  readonly asked: 'claims' | 'kind' | 'credentials' | 'own_token'
  readonly scope?: Scope
  readonly target?: Scope
  readonly subject?: { readonly id: string; readonly type: string; readonly account: string }
  readonly header?: string
  readonly form?: 'issue' | 'control_panel'
  readonly cut?: true
}

/** A line that is none of a decision log. */
export interface MalformedLine {
  /** From 1. */
  readonly line: number
  readonly problem: string
}

/** The longest line that is read, in bytes. */
export const LINE_BYTES_MAX = 1_048_576

/** Reads each line that is not empty. @throws what the source throws */
export async function readLines(
  source: AsyncIterable<Uint8Array>,
  onLine: (line: Line) => void,
  onMalformed: (malformed: MalformedLine) => void,
): Promise<void> {
  let number = 0
  for await (const text of textsOf(source)) {
    number++
    if (text === '') continue
    const read = text === undefined ? `expected at most ${LINE_BYTES_MAX} bytes` : parse(text)
    if (typeof read === 'string') onMalformed({ line: number, problem: read })
    else onLine(read)
  }
}

/** The lines; `undefined`: one that is too long. */
async function* textsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<string | undefined> {
  let parts: Buffer[] = []
  let length = 0
  const take = (part: Buffer) => {
    length += part.length
    if (length <= LINE_BYTES_MAX) parts.push(part)
    else parts = []
  }
  const taken = (): string | undefined => {
    const text = length > LINE_BYTES_MAX ? undefined : Buffer.concat(parts).toString().trim()
    parts = []
    length = 0
    return text
  }
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
    let start = 0
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      take(bytes.subarray(start, end))
      start = end + 1
      yield taken()
    }
    take(bytes.subarray(start))
  }
  if (length > 0) yield taken()
}

/** @returns the line, or what was expected */
function parse(text: string): Line | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'expected JSON'
  }
  const [problem] = problemsBy(validate, value)
  return problem === undefined ? (value as Line) : problemText(problem)
}
