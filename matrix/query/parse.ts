/**
 * Reads a query, in time linear in its length:
 *
 *     any  = all { "or" all }
 *     all  = one { "and" one }
 *     one  = "not" one | "(" any ")" | flag
 *          | field ( "=" | "!=" | "~" ) value | field "in" "(" value { "," value } ")"
 *          | "opens" api | "opened" [ "only" ] "by" kind
 *
 * A value is a word or a text in quotes. Words of the language are in any case.
 */
import { namesMeant } from '../../engine/index.ts'
import { FIELDS, FLAGS, RELATIONS, TERMS } from './vocabulary.ts'

/** A value, and where it stands. */
export interface Value {
  readonly text: string
  /** From 1, in UTF-16 code units. */
  readonly column: number
}

export type Query =
  | { readonly type: 'any' | 'all'; readonly of: readonly Query[] }
  | { readonly type: 'not'; readonly of: Query }
  | { readonly type: 'flag'; readonly name: string }
  | { readonly type: 'equals'; readonly field: string; readonly values: readonly Value[] }
  | { readonly type: 'contains'; readonly field: string; readonly value: Value }
  | { readonly type: 'opens'; readonly strict: boolean; readonly api: Value }
  | { readonly type: 'opened'; readonly strict: boolean; readonly only: boolean; readonly kind: Value }

/** A query that cannot be read, or that names what the matrix does not have. */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  /** Where, from 1. */
  readonly column: number

  constructor(column: number, expected: string) {
    super(`column ${column}: ${expected}`)
    this.column = column
  }
}

/** Longest query, in characters. */
export const QUERY_LENGTH_MAX = 2_000

/** Deepest nesting of brackets and `not`. */
export const QUERY_DEPTH_MAX = 50

/** @throws QueryError with the column, and the expected value there */
export function parseQuery(text: string): Query {
  if (text.length > QUERY_LENGTH_MAX)
    throw new QueryError(QUERY_LENGTH_MAX + 1, `expected at most ${QUERY_LENGTH_MAX} characters`)
  return new Parser(tokensOf(text), text.length + 1).whole()
}

interface Token extends Value {
  readonly type: 'word' | 'quoted' | 'sign'
}

/** Between tokens there is white space. The last two begin none: a quote that is not closed, and `!`. */
const TOKEN =
  /(?<sign>!=|[=~(),])|"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<word>[^\s=~!(),"']+)|(?<open>["'])|!/gu

function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(TOKEN), ({ index, groups }): Token => {
    const { sign, double, single, word, open } = groups ?? {}
    const column = index + 1
    if (open !== undefined) throw new QueryError(column, 'expected the closing quote of this text')
    const quoted = double ?? single
    if (quoted !== undefined) return { type: 'quoted', text: quoted, column }
    if (sign !== undefined) return { type: 'sign', text: sign, column }
    if (word !== undefined) return { type: 'word', text: word, column }
    throw new QueryError(column, 'expected `!=`')
  })
}

class Parser {
  readonly #tokens: readonly Token[]
  readonly #end: number
  #next = 0
  #depth = 0

  constructor(tokens: readonly Token[], end: number) {
    this.#tokens = tokens
    this.#end = end
  }

  whole(): Query {
    const query = this.#any()
    if (this.#peek() !== undefined) this.#fail('expected `and`, `or` or the end', 'and', 'or')
    return query
  }

  #any(): Query {
    return this.#list('any', 'or', () => this.#list('all', 'and', () => this.#one()))
  }

  #list(type: 'any' | 'all', word: string, item: () => Query): Query {
    const of = [item()]
    while (this.#takes(word)) of.push(item())
    // Survives: `of.length === 1` → `false`. A list of one says what its item says.
    return of.length === 1 ? (of[0] as Query) : { type, of }
  }

  #one(): Query {
    if (this.#takes('not')) return this.#nested(() => ({ type: 'not', of: this.#one() }))
    if (this.#takes('(')) {
      const inner = this.#nested(() => this.#any())
      this.#expect(')', 'expected `and`, `or` or `)`')
      return inner
    }
    return this.#term()
  }

  #nested(read: () => Query): Query {
    if (++this.#depth > QUERY_DEPTH_MAX)
      this.#fail(`expected at most ${QUERY_DEPTH_MAX} levels of brackets and \`not\``)
    const query = read()
    this.#depth--
    return query
  }

  #term(): Query {
    const token = this.#peek()
    // Survives: `''` → `"Stryker was here!"`. No term has either text.
    const name = token?.type === 'word' ? token.text.toLowerCase() : ''
    if (!TERMS.includes(name))
      this.#fail(`expected a term: \`not\`, \`(\` or one of ${TERMS.join(', ')}`, 'not', ...TERMS)
    this.#next++
    if (Object.hasOwn(FLAGS, name)) return { type: 'flag', name }
    if (Object.hasOwn(FIELDS, name)) return this.#comparison(name)
    const strict = name.startsWith('strict.')
    if (name === RELATIONS[0] || name === RELATIONS[2])
      return { type: 'opens', strict, api: this.#value('expected the id of an API') }
    const only = this.#takes('only')
    this.#expect('by', only ? 'expected `by`' : 'expected `by` or `only by`')
    return { type: 'opened', strict, only, kind: this.#value('expected the id of a kind of token') }
  }

  #comparison(field: string): Query {
    const value = () => this.#value(`expected a value of ${field}`)
    if (this.#takes('=')) return { type: 'equals', field, values: [value()] }
    if (this.#takes('!=')) return { type: 'not', of: { type: 'equals', field, values: [value()] } }
    if (this.#takes('~')) return { type: 'contains', field, value: value() }
    if (!this.#takes('in')) this.#fail('expected `=`, `!=`, `~` or `in`', 'in')
    this.#expect('(', 'expected `(`')
    const values = [value()]
    while (this.#takes(',')) values.push(value())
    this.#expect(')', 'expected `,` or `)`')
    return { type: 'equals', field, values }
  }

  #value(expected: string): Value {
    const token = this.#peek()
    if (token === undefined || token.type === 'sign') return this.#fail(expected)
    this.#next++
    return { text: token.text, column: token.column }
  }

  #expect(text: string, expected: string): void {
    if (!this.#takes(text)) this.#fail(expected)
  }

  #takes(text: string): boolean {
    const token = this.#peek()
    if (token === undefined || token.type === 'quoted' || token.text.toLowerCase() !== text) return false
    this.#next++
    return true
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#next]
  }

  /** @param known the words that may have been meant */
  #fail(expected: string, ...known: readonly string[]): never {
    const token = this.#peek()
    const [meant] = token?.type === 'word' ? namesMeant(token.text, known) : []
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
    throw new QueryError(token?.column ?? this.#end, `${expected}${hint}`)
  }
}
