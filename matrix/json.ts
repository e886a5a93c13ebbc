/** JSON as strict as the standard allows, with what JSON.parse passes over in silence refused. */
import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'
import { type Problem, pathOf } from './problems.ts'

export type JsonReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Deepest nesting that is read. */
const DEPTH_MAX = 64

/** Ends the reading: the parser goes as deep as the text does, and has no more stack than anyone else. */
const TOO_DEEP = new Error('too deep')

/** Parses JSON text, whatever it is; refuses duplicate keys, the key `__proto__`, and nesting beyond 64 levels. */
export function readJson(text: string): JsonReading {
  const problems: Problem[] = []
  const keys: Set<string>[] = []
  const enter = () => {
    if (keys.push(new Set()) > DEPTH_MAX) throw TOO_DEEP
  }
  try {
    visit(
      text,
      {
        onObjectBegin: enter,
        onObjectEnd: () => void keys.pop(),
        onArrayBegin: enter,
        onArrayEnd: () => void keys.pop(),
        onObjectProperty: (key, _offset, _length, _line, _column, parents) => {
          const seen = keys.at(-1)
          const path = () => pathOf([...parents(), key])
          if (seen?.has(key))
            problems.push({ path: path(), expected: 'expected each key once, this one repeats' })
          if (key === '__proto__')
            problems.push({ path: path(), expected: 'expected another key: this one is reserved' })
          seen?.add(key)
        },
        onError: (code: ParseErrorCode, _offset, _length, line, column) =>
          problems.push({
            path: '',
            expected: `expected JSON; ${printParseErrorCode(code)} at line ${line + 1}, column ${column + 1}`,
          }),
      },
      { disallowComments: true, allowTrailingComma: false },
    )
  } catch (error) {
    if (error !== TOO_DEEP) throw error
    problems.push({ path: '', expected: `expected at most ${DEPTH_MAX} levels of nesting` })
  }
  if (problems.length > 0) return { ok: false, problems }
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    // The message of JSON.parse quotes the text, which may hold a secret.
    return { ok: false, problems: [{ path: '', expected: 'expected JSON' }] }
  }
}
