/** The functions of a source, read by a parser of TypeScript. */
import { parseAst } from 'vitest/node'
import type { Source } from './sources.ts'

/** A function, method or arrow function of a source. */
export interface FunctionOfSource {
  /** As it is written there: `startSidecar`, or `<anonymous>`. */
  readonly name: string
  /** How many lines it has, the first and the last included. */
  readonly lines: number
  /** Whether it does nothing but return one object or array literal: then it is a table, however long. */
  readonly table: boolean
}

/** A node of the syntax tree, as ESTree has it. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** Every function of a source, nested ones included. */
export function functionsOf({ path, text }: Pick<Source, 'path' | 'text'>): FunctionOfSource[] {
  const functions: FunctionOfSource[] = []
  const visit = (node: unknown, nameFromOutside = ''): void => {
    if (Array.isArray(node)) for (const each of node) visit(each, nameFromOutside)
    if (!isNode(node)) return
    const name = isNode(node.id)
      ? String(node.id.name)
      : isNode(node.key)
        ? text.slice(node.key.start, node.key.end)
        : ''
    if (FUNCTION.test(node.type)) {
      const lines = text.slice(node.start, node.end).split('\n').length
      functions.push({ name: name || nameFromOutside || '<anonymous>', lines, table: isTable(node) })
    }
    const named = NAMING.test(node.type) ? name : ''
    for (const value of Object.values(node)) if (typeof value === 'object') visit(value, named)
  }
  visit(treeOf({ path, text }))
  return functions
}

/** Every operation with one of these operators between two values, as the source has it, on one line. */
export function operationsOf(source: Pick<Source, 'path' | 'text'>, operators: readonly string[]): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each)
    if (!isNode(node)) return
    if (node.type === 'BinaryExpression' && operators.includes(String(node.operator)))
      found.push(source.text.slice(node.start, node.end).replaceAll(/\s+/g, ' '))
    for (const value of Object.values(node)) if (typeof value === 'object') visit(value)
  }
  visit(treeOf(source))
  return found
}

/**
 * Every `try` whose `catch` has no name for the error and covers more than one statement, by its first line.
 * A last statement that returns a literal or leaves a loop cannot fail.
 */
export function blindCatchesOf(source: Pick<Source, 'path' | 'text'>): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each)
    if (!isNode(node)) return
    if (node.type === 'TryStatement' && isNode(node.handler) && node.handler.param === null) {
      const statements = ((node.block as Node).body as Node[]).filter((each) => !cannotFail(each))
      if (statements.length > 1) found.push(source.text.slice(statements[0]?.start).split('\n')[0] ?? '')
    }
    for (const value of Object.values(node)) if (typeof value === 'object') visit(value)
  }
  visit(treeOf(source))
  return found
}

/** Every text of a source. Where a template has a value, the text has the character U+FFFC. */
export function textsOf(source: Pick<Source, 'path' | 'text'>): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const each of node) visit(each)
    if (!isNode(node)) return
    if (node.type === 'Literal' && typeof node.value === 'string') found.push(node.value)
    if (node.type === 'TemplateLiteral')
      found.push((node.quasis as Quasi[]).map(({ value }) => value.cooked).join('\uFFFC'))
    for (const value of Object.values(node)) if (typeof value === 'object') visit(value)
  }
  visit(treeOf(source))
  return found
}

interface Quasi {
  readonly value: { readonly cooked: string }
}

function cannotFail({ type, argument }: Node): boolean {
  return type === 'ReturnStatement' && (!isNode(argument) || argument.type === 'Literal')
}

function treeOf({ path, text }: Pick<Source, 'path' | 'text'>): unknown {
  return parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : path.endsWith('.ts') ? 'ts' : 'js' })
}

const FUNCTION = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

/** The declaration that gives its name to the function that is its value. */
const NAMING = /^(VariableDeclarator|MethodDefinition|PropertyDefinition|Property)$/

const LITERAL = /^(ObjectExpression|ArrayExpression)$/

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function isTable({ body }: Node): boolean {
  if (!isNode(body)) return false
  const returned = body.type === 'BlockStatement' ? onlyReturnOf(body) : body
  return isNode(returned) && LITERAL.test(returned.type)
}

/** The value that a block returns if it does nothing else. */
function onlyReturnOf({ body }: Node): unknown {
  const [only, ...others] = body as readonly Node[]
  return only?.type === 'ReturnStatement' && others.length === 0 ? only.argument : undefined
}
