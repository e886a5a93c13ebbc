/**
 * Counters in the product's code: which branches an input takes, how often, and how near a comparison came.
 * Without them a fuzzer is blind.
 */
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import type { ESTree } from 'rolldown/utils'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COUNTED = ['engine', 'matrix', 'sidecar', 'proto', 'test/fuzz/planted'].map((folder) =>
  ROOT.concat(folder.replaceAll('/', sep)),
)

/** Most counters of all modules together. */
const COUNTERS_MAX = 1 << 17
/** A loop with this number of rounds for one input does not end. */
const ROUNDS_MAX = 1_000_000
/** Steps of nearness: the number of equal characters, or groups of four bits, at the beginning. */
const NEAR = 8
/** Pairs that were compared last and differed. */
const PAIRS = 64

/** Counters that the instrumented code writes, and the fuzzer reads. */
export class Coverage {
  readonly hits = new Uint32Array(COUNTERS_MAX)
  /** Counters in use. */
  size = 0
  /** How often a comparison came nearer than ever before. */
  nearer = 0
  /** Texts of the code, for the dictionary. */
  readonly words = new Set<string>()
  readonly pairs: [unknown, unknown][] = []
  readonly #near = new Uint8Array(COUNTERS_MAX)
  #comparisons = 0
  #pair = 0

  /** The number of a branch. */
  branch(): number {
    if (this.size === COUNTERS_MAX) throw new Error('more branches than there are counters')
    return this.size++
  }

  /** The number of a comparison. */
  comparison(): number {
    if (this.#comparisons === COUNTERS_MAX) throw new Error('more comparisons than there are counters')
    return this.#comparisons++
  }

  /** Ends a loop that would not end. */
  readonly endless = (): never => {
    this.hits.fill(0, 0, this.size)
    throw new Error('a loop that does not end')
  }

  /** `a === b`, and how near they were. */
  readonly equal = (at: number, a: unknown, b: unknown): boolean => {
    if (a === b) return true
    if (typeof a === 'string' && typeof b === 'string') {
      let same = 0
      while (same < NEAR - 1 && same < a.length && a.charCodeAt(same) === b.charCodeAt(same)) same++
      this.#note(at, same)
      if (a.length <= PAIRS && b.length <= PAIRS) this.pairs[this.#pair++ % PAIRS] = [a, b]
    } else if (typeof a === 'number' && typeof b === 'number') {
      this.#note(at, Math.clz32(a ^ b) >>> 2)
      if (a > 0xff && b > 0xff) this.pairs[this.#pair++ % PAIRS] = [a, b]
    }
    return false
  }

  #note(at: number, near: number): void {
    const bit = 1 << Math.min(near, NEAR - 1)
    const seen = this.#near[at] as number
    if ((seen & bit) !== 0) return
    this.#near[at] = seen | bit
    this.nearer++
  }
}

/** From now on, the product's modules that this thread loads are counted. */
export function countProduct(): Coverage {
  const coverage = new Coverage()
  Object.assign(globalThis, { $fuzz: coverage })
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.startsWith('file:') || !url.endsWith('.ts')) return loaded
      const path = fileURLToPath(url)
      if (!COUNTED.some((folder) => path.startsWith(folder))) return loaded
      const source = instrumented(stripTypeScriptTypes(String(loaded.source)), coverage)
      return { format: 'module', source, shortCircuit: true }
    },
  })
  return coverage
}

type Node = ESTree.Node & { readonly start: number; readonly end: number }

/** The module with counters. Its lines stay where they are. */
export function instrumented(code: string, coverage: Coverage): string {
  const edits: { at: number; until: number; text: string; order: number }[] = []
  const edit = (at: number, text: string, order = 0, until = at) => edits.push({ at, until, text, order })
  const count = () => `$h[${coverage.branch()}]++`
  const loop = () => {
    const at = coverage.branch()
    return `if(++$h[${at}]>${ROUNDS_MAX})$f.endless();`
  }
  // Of several edits at a place, those that open come from the outside to the inside, and those that close
  // the other way round.
  let depth = 0
  const wrap = ({ start, end }: Node, before: string, after: string) => {
    edit(start, before, depth)
    edit(end, after, -1_000_000 - depth)
  }
  const statement = (node: Node, counter = `${count()};`) => {
    if (node.type === 'BlockStatement') edit(node.start + 1, counter, depth)
    else wrap(node, `{${counter}`, '}')
  }
  const expression = (node: Node) => wrap(node, `(${count()},`, ')')

  const visit = (node: Node) => {
    depth++
    switch (node.type) {
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        if (node.body) statement(node.body as Node)
        break
      case 'ArrowFunctionExpression':
        if (node.body.type === 'BlockStatement') statement(node.body as Node)
        else expression(node.body as Node)
        break
      case 'IfStatement':
        statement(node.consequent as Node)
        if (node.alternate) statement(node.alternate as Node)
        else edit(node.end, `else{${count()}}`, -1_000_000 - depth + 0.5)
        break
      case 'ConditionalExpression':
        expression(node.consequent as Node)
        expression(node.alternate as Node)
        break
      case 'LogicalExpression':
        expression(node.right as Node)
        break
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        statement(node.body as Node, loop())
        break
      case 'SwitchCase':
        edit(node.consequent[0]?.start ?? node.end, `${count()};`, depth)
        break
      case 'CatchClause':
        statement(node.body as Node)
        break
      case 'BinaryExpression': {
        const equality = /^[!=]==$/.test(node.operator)
        if (!equality || !isTelling(node.left) || !isTelling(node.right)) break
        wrap(node as Node, `${node.operator === '!==' ? '!' : ''}$f.equal(${coverage.comparison()},`, ')')
        const at = code.indexOf(node.operator, (node.left as Node).end)
        edit(at, ',', 0, at + node.operator.length)
        break
      }
      case 'Literal':
        if (typeof node.value === 'string' && node.value.length <= PAIRS) coverage.words.add(node.value)
        break
      case 'Property':
        if (node.key.type === 'Identifier') coverage.words.add(node.key.name)
        break
    }
    for (const child of childrenOf(node)) visit(child)
    depth--
  }
  visit(parseAst(code) as Node)

  edits.sort((a, b) => a.at - b.at || a.order - b.order)
  let text = 'const $f=globalThis.$fuzz,$h=$f.hits;'
  let at = 0
  for (const each of edits) {
    text += code.slice(at, each.at) + each.text
    at = each.until
  }
  return text + code.slice(at)
}

/** Whether how near a comparison came says something: types, small numbers and booleans do not. */
function isTelling(node: ESTree.Node): boolean {
  if (node.type === 'UnaryExpression') return false
  if (node.type === 'Identifier') return node.name !== 'undefined'
  if (node.type !== 'Literal') return true
  return typeof node.value === 'string' || (typeof node.value === 'number' && node.value > 0xff)
}

function* childrenOf(node: Node): Generator<Node> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) yield each
    } else if (isNode(value)) yield value
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value
