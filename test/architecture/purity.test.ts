/**
 * The engine is pure: nothing of a platform, nothing that waits, and it decides where there is no platform at
 * all.
 */
import { createContext, runInContext } from 'node:vm'
import { build, transform } from 'esbuild'
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { ROOT, sourcesIn } from '../support/checkout/sources.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'

/** Names of a platform, of waits, and of values that depend on the moment. */
const FORBIDDEN = [
  ...['process', 'Buffer', 'global', 'globalThis', 'window', 'self', 'navigator', 'require', '__dirname'],
  ...['console', 'fetch', 'crypto', 'performance', 'localStorage', 'TextEncoder', 'TextDecoder', 'URL'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'structuredClone', 'eval'],
  ...['async', 'await', 'Promise', 'Date', 'Math.random', 'import.meta', 'node:'],
]

test.each(sourcesIn('engine/'))('$path uses nothing outside the language', async ({ text }) => {
  // Without types and comments, which may well speak of such things.
  const { code } = await transform(text, { loader: 'ts', legalComments: 'none' })
  expect(FORBIDDEN.filter((name) => mentions(code, name))).toEqual([])
})

// The rule is no stronger than the search.
test.each<[code: string, name: string]>([
  ['process.exit()', 'process'],
  ['x = Buffer', 'Buffer'],
  ['Math.random()', 'Math.random'],
  ['await f()', 'await'],
  ["import 'node:fs'", 'node:'],
])('the search finds in %j what does not belong there', (code, name) => {
  expect(FORBIDDEN.filter((each) => mentions(code, each))).toEqual([name])
})

/** Variables of a module, and objects that can be changed: another engine would find their values. */
const VARIABLE = /^(?:export )?(?:let|var) |^ {2}static (?!readonly )[#\w]+(?:: [^=(]+)? = /m
const COLLECTION = /^(?:export )?const \w+(?:: [^=]+)? = (?:new (?:Weak)?(?:Map|Set)\b|\[|\{|Array\b)/
const CONSTANT = /^(?:export )?const \w+: (?:readonly |Readonly|ArrayLike)|[\]}] as const\b/

/** The statements of a module that keep state. */
function stateOf(text: string): string[] {
  // A statement goes on where a line is indented or closes a bracket.
  const statements = text.split(/\n(?![ \n)\]}])/)
  return statements.filter(
    (statement) => VARIABLE.test(statement) || (COLLECTION.test(statement) && !CONSTANT.test(statement)),
  )
}

test.each(sourcesIn('engine/'))('$path keeps no state in the module', ({ text }) => {
  expect(stateOf(text)).toEqual([])
})

// The rule is no stronger than the search.
test.each([
  ['let next = 0', 1],
  ['export var next = 0', 1],
  ['const seen = new Map<string, number>()', 1],
  ['const seen: Map<string, number> = new Map()', 1],
  ['const seen = new WeakSet()', 1],
  ['const seen = []', 1],
  ['export const seen: string[] = []', 1],
  ['const seen = { count: 0 }', 1],
  ['class Handles {\n  static #next = 0\n}', 1],
  ['class Handles {\n  static next(): number {\n    let next = 0\n  }\n}', 0],
  ['const seen: ReadonlyMap<string, number> = new Map()', 0],
  ['const seen: readonly string[] = []', 0],
  ["const WORDS = ['a', 'b'] as const", 0],
  ["const WORDS = [\n  'a',\n] as const satisfies readonly string[]", 0],
  ['function count() {\n  let next = 0\n  const seen = new Map()\n}', 0],
])('the search for state finds in %j this number: %i', (code, found) => {
  expect(stateOf(code)).toHaveLength(found)
})

test('the engine is bundled for a browser into one file that imports nothing', async () => {
  const { metafile, code } = await bundle()
  expect(Object.keys(metafile.inputs).filter((path) => !path.startsWith('engine/'))).toEqual([])
  expect(Object.values(metafile.outputs).flatMap((output) => output.imports)).toEqual([])
  expect(code).not.toMatch(/\b(?:import|require)\s*[('"{*]/)
  expect(FORBIDDEN.filter((name) => mentions(code, name))).toEqual([])
})

test('the bundle decides every cell in a context that has nothing but the language', async () => {
  const { code } = await bundle()
  // Neither a platform nor code from strings: as under the strictest content security policy.
  const context = createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } })
  expect(runInContext('typeof process + typeof Buffer + typeof setTimeout', context)).toBe(
    'undefined'.repeat(3),
  )
  runInContext(code, context)
  const questions = cells().map(({ api, kind }) => ({ api, kind, scope: scopeFor(kind) }))
  const answers = runInContext(
    `const engine = portcullis.compile(${JSON.stringify(supportMatrix)})
     JSON.stringify(${JSON.stringify(questions)}.map((question) => engine.decide(question).allowed))`,
    context,
  )
  expect(JSON.parse(answers)).toEqual(cells().map((cell) => cell.accepted))
})

async function bundle() {
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['engine/index.ts'],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'portcullis',
    legalComments: 'none',
    minifyWhitespace: true,
  })
  return { metafile, code: outputFiles.map(({ text }) => text).join() }
}

/** Whether code has the name as a separate word, not as the member of an object. */
function mentions(code: string, name: string): boolean {
  const escaped = name.replace('.', '\\.')
  return new RegExp(`(?<![\\w$.'"])${escaped}${name.endsWith(':') ? '' : '(?![\\w$])'}`).test(
    name.endsWith(':') ? code.replaceAll(/['"]/g, ' ') : code,
  )
}
