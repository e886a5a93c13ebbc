/** The engine is pure: nothing of a platform, nothing that waits, and it decides where there is no platform at all. */
import { createContext, runInContext } from 'node:vm'
import { build, transform } from 'esbuild'
import { expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { cells, scopeFor } from '../support/oracle.ts'
import { ROOT, sourcesIn } from '../support/sources.ts'

/** What a platform brings along, what waits, and what depends on the moment. */
const FORBIDDEN = [
  ...['process', 'Buffer', 'global', 'globalThis', 'window', 'self', 'navigator', 'require', '__dirname'],
  ...['console', 'fetch', 'crypto', 'performance', 'localStorage', 'TextEncoder', 'TextDecoder', 'URL'],
  ...['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'structuredClone', 'eval'],
  ...['async', 'await', 'Promise', 'Date', 'Math.random', 'import.meta', 'node:'],
]

test.each(sourcesIn('engine/'))('$path touches nothing outside the language', async ({ text }) => {
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

/** Whether code has the name as a word of its own, not as the member of something else. */
function mentions(code: string, name: string): boolean {
  const escaped = name.replace('.', '\\.')
  return new RegExp(`(?<![\\w$.'"])${escaped}${name.endsWith(':') ? '' : '(?![\\w$])'}`).test(
    name.endsWith(':') ? code.replaceAll(/['"]/g, ' ') : code,
  )
}
