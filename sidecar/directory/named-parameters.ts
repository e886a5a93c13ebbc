/** SQL with parameters by name, as PostgreSQL takes it: by number. */
import type { Parameters, Value } from './database.ts'

/** A statement with `$1`, `$2`, … and the names that they stand for. */
interface Numbered {
  /** Of its own, so that each connection has it parsed once. */
  readonly name: string
  readonly text: string
  readonly names: readonly string[]
}

/** What is no parameter comes first: strings, quoted names, comments and casts may hold a colon. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|::|:([A-Za-z_]\w*)/g

/** Every statement of the directory is written in its code, so this stays small. */
const statements = new Map<string, Numbered>()

/** @throws TypeError where the statement names a parameter that is not given */
export function withNumbers(
  sql: string,
  parameters: Parameters,
): { name: string; text: string; values: Value[] } {
  let statement = statements.get(sql)
  if (statement === undefined) {
    statement = numbered(sql)
    statements.set(sql, statement)
  }
  const values = statement.names.map((name) => {
    const value = parameters[name]
    if (value === undefined) throw new TypeError(`the parameter :${name} of a statement is not given`)
    return value
  })
  return { name: statement.name, text: statement.text, values }
}

function numbered(sql: string): Numbered {
  const names: string[] = []
  const text = sql.replace(TOKENS, (token, name: string | undefined) => {
    if (name === undefined) return token
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { name: `directory_${statements.size}`, text, names }
}
