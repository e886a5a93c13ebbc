/** Reads JSON strictly: it refuses what `JSON.parse` accepts without a word, such as a key that repeats. */
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'
import { type Problem, Problems, pathOf } from './problems.ts'

export type JsonReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Deepest nesting that is read. */
const DEPTH_MAX = 64

export interface ReadingOptions {
  /** Whether one problem is enough: reading then ends with the first. */
  readonly firstProblem?: boolean
}

/**
 * Parses JSON text, in time linear in its length. Refuses duplicate keys, the key `__proto__`, half surrogate
 * pairs, numbers beyond the range of a double, and more than 64 levels of nesting.
 */
export function readJson(text: string, { firstProblem = false }: ReadingOptions = {}): JsonReading {
  const scan = new Scan(firstProblem)
  try {
    visit(text, scan.visitor, { disallowComments: true, allowTrailingComma: false })
  } catch (error) {
    if (error === TOO_DEEP)
      return {
        ok: false,
        problems: [{ path: '', expected: `expected at most ${DEPTH_MAX} levels of nesting` }],
      }
    if (error !== ENOUGH) throw error
  }
  const problems = scan.problems.list()
  if (problems.length > 0) return { ok: false, problems }
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    // The message of JSON.parse quotes the text, which may hold a secret.
    return { ok: false, problems: [{ path: '', expected: 'expected JSON' }] }
  }
}

/** Thrown to leave the visitor, before it or anything after it runs out of stack. */
const TOO_DEEP = Symbol('too deep')

/** Thrown to leave the visitor with the first problem. */
const ENOUGH = Symbol('enough')

/** Walks the text once and notes what is wrong. */
class Scan {
  readonly problems = new Problems()
  readonly #firstProblem: boolean
  readonly #keys: Set<string>[] = []
  #broken = false

  constructor(firstProblem: boolean) {
    this.#firstProblem = firstProblem
  }

  readonly visitor: Parameters<typeof visit>[1] = {
    onObjectBegin: () => this.#enter(),
    onObjectEnd: () => void this.#keys.pop(),
    onArrayBegin: () => this.#enter(),
    onArrayEnd: () => void this.#keys.pop(),
    onObjectProperty: (key, _offset, _length, _line, _column, parents) => {
      const seen = this.#keys.at(-1)
      const note = (expected: string) => this.#add(() => ({ path: pathOf([...parents(), key]), expected }))
      if (seen?.has(key)) note('expected each key once, this one repeats')
      if (key === '__proto__') note('expected another key: this one is reserved')
      if (!key.isWellFormed()) note(WELL_FORMED)
      seen?.add(key)
    },
    onLiteralValue: (value, _offset, _length, _line, _column, parents) => {
      if (typeof value === 'string' && !value.isWellFormed())
        this.#add(() => ({ path: pathOf([...parents()]), expected: WELL_FORMED }))
      // JSON.parse reads 1e999 as Infinity, which no JSON can say.
      if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
        this.#add(() => ({ path: pathOf([...parents()]), expected: FINITE }))
    },
    onError: (code, _offset, _length, line, column) => {
      // What follows the first error follows from it.
      if (this.#broken) return
      this.#broken = true
      const place = `line ${line + 1}, column ${column + 1}`
      this.#add(() => ({ path: '', expected: `expected JSON; ${inWords(code)} at ${place}` }))
    },
  }

  #add(describe: () => Problem): void {
    this.problems.add(describe)
    if (this.#firstProblem) throw ENOUGH
  }

  #enter(): void {
    if (this.#keys.push(new Set()) > DEPTH_MAX) throw TOO_DEEP
  }
}

const WELL_FORMED = 'expected text without half a surrogate pair'
const FINITE = 'expected a number that fits into 64 bits of floating point'

/** `PropertyNameExpected` as "property name expected". */
function inWords(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
}
