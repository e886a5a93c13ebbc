/**
 * Reads JSON strictly, with comments where they may be: it refuses what `JSON.parse` accepts without a word,
 * such as a key that repeats.
 */
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'
import { type Place, type Problem, Problems, pathOf } from './problems.ts'

/** The result of reading a document: its value, or the fault of its text. */
export type Reading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Deepest nesting that is read. */
export const DEPTH_MAX = 64

export const TOO_DEEP_EXPECTED = `expected at most ${DEPTH_MAX} levels of nesting`
export const REPEATS = 'expected each key once, this one repeats'
export const RESERVED = 'expected another key: this one is reserved'
export const WELL_FORMED = 'expected text without half a surrogate pair'
export const FINITE = 'expected a number that fits into 64 bits of floating point'

export interface ReadingOptions {
  /** Whether one problem is enough: reading then ends with the first. */
  readonly firstProblem?: boolean
  /** Whether `__proto__` is a key as any other. Objects with it must not be copied by assignment. */
  readonly anyKey?: boolean
  /** Whether there may be comments, and a comma behind the last item (JSON with comments). */
  readonly comments?: boolean
}

/**
 * Parses JSON text, in time linear in its length. Refuses duplicate keys, the key `__proto__` unless any key
 * may be there, half surrogate pairs, numbers beyond the range of a double, and more than 64 levels of
 * nesting.
 */
export function readJson(text: string, options: ReadingOptions = {}): Reading {
  const { comments = false } = options
  const scan = new Scan(options)
  try {
    visit(text, scan.visitor, { disallowComments: !comments, allowTrailingComma: comments })
  } catch (error) {
    if (error === TOO_DEEP)
      return {
        ok: false,
        problems: [{ path: '', expected: TOO_DEEP_EXPECTED, ...scan.deepest }],
      }
    // Survives: `error !== ENOUGH` → `false`. The walk throws nothing else.
    if (error !== ENOUGH) throw error
  }
  const problems = scan.problems.list()
  if (problems.length > 0) return { ok: false, problems }
  try {
    return { ok: true, value: JSON.parse(scan.plain(text)) }
    // Survives: `{` → `{}`. A text that the walk accepts is read by `JSON.parse`; if ever it is not, its
    // message must not get out.
  } catch {
    // The message of JSON.parse quotes the text, which may hold a secret.
    // Survives: `{ ok: false, problems: [{ path: '', expected: 'expected JSON' }] }` → `{}`, `false` →
    // `true`, `[{ path: '', expected: 'expected JSON' }]` → `[]`, `{ path: '', expected: 'expected JSON' }` →
    // `{}`, `''` → `"Stryker was here!"`, `'expected JSON'` → `""`. A text that the walk accepts is read by
    // `JSON.parse`; if ever it is not, its message must not get out.
    return { ok: false, problems: [{ path: '', expected: 'expected JSON' }] }
  }
}

/** Thrown to leave the visitor, before it or anything after it runs out of stack. */
const TOO_DEEP = Symbol('too deep')

/** Thrown to leave the visitor with the first problem. */
const ENOUGH = Symbol('enough')

/** Walks the text once and notes faults, and parts that JSON does not have. */
class Scan {
  readonly problems = new Problems()
  /** Where the nesting became too deep. */
  deepest: Place | undefined
  readonly #firstProblem: boolean
  readonly #anyKey: boolean
  readonly #keys: Set<string>[] = []
  /** Offset and length of each comment, and of each comma behind a last item. */
  // Survives: `[]` → `["Stryker was here"]`. White space before the text and between its tokens says nothing.
  readonly #foreign: (readonly [offset: number, length: number])[] = []
  /** Where the comma is that nothing has followed yet. */
  #comma: number | undefined
  #broken = false

  constructor({ firstProblem = false, anyKey = false }: ReadingOptions) {
    this.#firstProblem = firstProblem
    this.#anyKey = anyKey
  }

  readonly visitor: Parameters<typeof visit>[1] = {
    onObjectBegin: (_offset, _length, line, column) => this.#enter(line, column),
    onObjectEnd: () => this.#leave(),
    onArrayBegin: (_offset, _length, line, column) => this.#enter(line, column),
    onArrayEnd: () => this.#leave(),
    onObjectProperty: (key, _offset, _length, line, column, parents) => {
      this.#comma = undefined
      const seen = this.#keys.at(-1) as Set<string>
      const note = (expected: string) =>
        this.#add(() => ({ path: pathOf([...parents(), key]), expected, ...place(line, column) }))
      if (seen.has(key)) note(REPEATS)
      if (key === '__proto__' && !this.#anyKey) note(RESERVED)
      if (!key.isWellFormed()) note(WELL_FORMED)
      seen.add(key)
    },
    onLiteralValue: (value, _offset, _length, line, column, parents) => {
      this.#comma = undefined
      const note = (expected: string) =>
        this.#add(() => ({ path: pathOf([...parents()]), expected, ...place(line, column) }))
      if (typeof value === 'string' && !value.isWellFormed()) note(WELL_FORMED)
      // JSON.parse reads 1e999 as Infinity, which no JSON can say.
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) note(FINITE)
    },
    onSeparator: (character, offset) => {
      // Survives: `character === ','` → `true`. A value follows a colon, and takes it back.
      if (character === ',') this.#comma = offset
    },
    onComment: (offset, length) => {
      this.#foreign.push([offset, length])
    },
    onError: (code, _offset, _length, line, column) => {
      // Later errors follow from the first one.
      if (this.#broken) return
      this.#broken = true
      const at = `line ${line + 1}, column ${column + 1}`
      const expected = `expected JSON; ${inWords(code)} at ${at}`
      this.#add(() => ({ path: '', expected, ...place(line, column) }))
    },
  }

  /** The text as JSON: a space for each comment and for each comma behind a last item. */
  plain(text: string): string {
    const parts: string[] = []
    let end = 0
    for (const [offset, length] of this.#foreign.toSorted(([one], [other]) => one - other)) {
      parts.push(text.slice(end, offset))
      end = offset + length
    }
    // Survives: `' '` → `""`. White space before the text and between its tokens says nothing.
    return [...parts, text.slice(end)].join(' ')
  }

  #add(describe: () => Problem): void {
    this.problems.add(describe)
    if (this.#firstProblem) throw ENOUGH
  }

  #enter(line: number, column: number): void {
    this.#comma = undefined
    this.deepest = place(line, column)
    if (this.#keys.push(new Set()) > DEPTH_MAX) throw TOO_DEEP
  }

  #leave(): void {
    this.#keys.pop()
    if (this.#comma !== undefined) this.#foreign.push([this.#comma, 1])
    this.#comma = undefined
  }
}

function place(line: number, column: number): Place {
  return { line: line + 1, column: column + 1 }
}

/** `PropertyNameExpected` as "property name expected". */
function inWords(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
}
