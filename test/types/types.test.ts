/**
 * The types are what embedder.ts says: the compiler takes it as it is, and refuses what it expects to be
 * refused.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { newFolder } from '../support/suite/resources.ts'

const embedder = readFileSync(join(ROOT, 'test/types/embedder.ts'), 'utf8')
const EXPECTED = '// @ts-expect-error'

/** Types that have lost something, and the place in the code of the embedder where that begins. */
const REGRESSIONS = [
  ['the ids of the shipped matrix', 'compile(supportMatrix)', 'compile(supportMatrix as Matrix)'],
  ['the ids of a literal', 'compile(own)', 'compile(own as MatrixInput)'],
  ['the class of a handle', 'const handle: CellHandle =', 'const handle: {} ='],
] as const

/** The compiler's errors for each text, in one run. */
let errors: { readonly asItIs: string[]; readonly unexpecting: string[]; readonly regressed: string[][] }
const folder = newFolder()

beforeAll(() => {
  const [asItIs = [], unexpecting = [], ...regressed] = errorsIn([
    embedder,
    embedder.replaceAll(EXPECTED, '//'),
    ...REGRESSIONS.map(([_what, said, forgotten]) => embedder.replace(said, forgotten)),
  ])
  errors = { asItIs, unexpecting, regressed }
})

test('the compiler takes the code of an embedder, and refuses what it expects to be refused', () => {
  expect(errors.asItIs).toEqual([])
})

test('without the expectations, each of those lines is an error, and no other line is', () => {
  const refused = embedder.split('\n').flatMap((line, index) => (line.includes(EXPECTED) ? [index + 2] : []))
  expect(refused.length).toBeGreaterThan(10)
  const lines = errors.unexpecting.map((error) => Number(/\((\d+),/.exec(error)?.[1]))
  expect([...new Set(lines)]).toEqual(refused)
})

test.each(REGRESSIONS.map(([what, said], index) => ({ what, said, index })))(
  'types that forget $what are noticed',
  ({ said, index }) => {
    expect(embedder).toContain(said)
    expect(errors.regressed[index]).not.toEqual([])
  },
)

/** The compiler's errors for each text in the place of embedder.ts, under the options of the project. */
function errorsIn(texts: readonly string[]): string[][] {
  const files = texts.map((_, index) => `embedder-${index}.mts`)
  for (const [index, file] of files.entries())
    writeFileSync(join(folder, file), `${texts[index]}`.replaceAll("from '../../", `from '${ROOT}`))
  const options = { rootDir: '/', typeRoots: [join(ROOT, 'node_modules/@types')] }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions: options, include: files }),
  )
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  const { stdout, error } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(error).toBeUndefined()
  return files.map((file) => stdout.split('\n').filter((line) => line.startsWith(`${file}(`)))
}
