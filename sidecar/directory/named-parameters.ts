/** Replaces the named parameters of SQL by numbered ones, which both databases process fastest. */
import type { Parameters, Value } from './database.ts'

/** The character before the number of a parameter: `$` for PostgreSQL, `?` for SQLite. */
export type Sign = '$' | '?'

/**
 * A statement with `$1`, `$2`, … (or `?1`, `?2`, …), and the parameter names in the order of these numbers.
 */
interface NumberedStatement {
  /** A unique name, so that each PostgreSQL connection parses the statement only once. */
  readonly name: string
  readonly text: string
  readonly names: readonly string[]
}

/** Strings, quoted names, comments and casts may contain a colon, so they are matched before parameters. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|::|:([A-Za-z_]\w*)/g

/** All statements are constants in the code, so these maps stay small. */
const STATEMENTS: Readonly<Record<Sign, Map<string, NumberedStatement>>> = { $: new Map(), '?': new Map() }

/** @throws TypeError if a parameter of the statement has no value */
export function numberParameters(
  sign: Sign,
  sql: string,
  parameters: Parameters,
): { name: string; text: string; values: Value[] } {
  const statements = STATEMENTS[sign]
  let statement = statements.get(sql)
  if (statement === undefined) {
    statement = parseStatement(sign, sql, `directory_${statements.size}`)
    statements.set(sql, statement)
  }
  const values = statement.names.map((name) => {
    const value = parameters[name]
    if (value === undefined) throw new TypeError(`the statement's parameter :${name} has no value`)
    return value
  })
  return { name: statement.name, text: statement.text, values }
}

function parseStatement(sign: Sign, sql: string, name: string): NumberedStatement {
  const names: string[] = []
  const text = sql.replace(TOKENS, (token, name: string | undefined) => {
    if (name === undefined) return token
    if (!names.includes(name)) names.push(name)
    return sign + (names.indexOf(name) + 1)
  })
  return { name, text, names }
}
