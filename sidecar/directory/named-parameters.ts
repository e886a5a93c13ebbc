/** SQL with parameters by name, as the databases take it fastest: by number. */
import type { Parameters, Value } from './database.ts'

/** What a database writes before the number of a parameter: PostgreSQL and SQLite, in this order. */
export type Sign = '$' | '?'

/** A statement with `$1`, `$2`, … (or `?1`, `?2`, …) and the names that they stand for. */
interface Numbered {
  /** Of its own, so that each connection has it parsed once. */
  readonly name: string
  readonly text: string
  readonly names: readonly string[]
}

/** What is no parameter comes first: strings, quoted names, comments and casts may hold a colon. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|::|:([A-Za-z_]\w*)/g

/** Every statement of the directory is written in its code, so these stay small. */
const STATEMENTS: Readonly<Record<Sign, Map<string, Numbered>>> = { $: new Map(), '?': new Map() }

/** @throws TypeError where the statement names a parameter that is not given */
export function withNumbers(
  sign: Sign,
  sql: string,
  parameters: Parameters,
): { name: string; text: string; values: Value[] } {
  const statements = STATEMENTS[sign]
  let statement = statements.get(sql)
  if (statement === undefined) {
    statement = numbered(sign, sql, `directory_${statements.size}`)
    statements.set(sql, statement)
  }
  const values = statement.names.map((name) => {
    const value = parameters[name]
    if (value === undefined) throw new TypeError(`the parameter :${name} of a statement is not given`)
    return value
  })
  return { name: statement.name, text: statement.text, values }
}

function numbered(sign: Sign, sql: string, name: string): Numbered {
  const names: string[] = []
  const text = sql.replace(TOKENS, (token, name: string | undefined) => {
    if (name === undefined) return token
    if (!names.includes(name)) names.push(name)
    return sign + (names.indexOf(name) + 1)
  })
  return { name, text, names }
}
