/** The lists of `npm run mutants` say what is there: files, tests, and survivors that are in the text. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AREAS } from '../../scripts/mutants/areas.ts'
import { keyOf, type Mutant, mutantsOf, verdictOf } from '../../scripts/mutants/report.ts'
import { survivorsOf } from '../../scripts/mutants/survivors.ts'
import { ROOT, sources } from '../support/checkout/sources.ts'

const parts = Object.values(AREAS).flatMap((area) => area.parts)
const changed = parts.flatMap(({ files }) => files)
const survivors = sources
  .filter(
    ({ path }) => path !== 'scripts/mutants/survivors.ts' && path !== 'test/architecture/mutants.test.ts',
  )
  .flatMap(({ path, text }) => survivorsOf(path, text))

test('every file that is changed and every test that judges is there, and no file is changed twice', () => {
  const named = [...changed, ...parts.flatMap(({ tests }) => tests)]
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  expect(new Set(changed)).toHaveLength(changed.length)
})

test.each(survivors)('$file: $from → $to is a change of the line below, with a reason', (survivor) => {
  const { file, line, from, to, reason } = survivor
  expect(changed).toContain(file)
  expect(line).toContain(from)
  expect(to).not.toBe(from)
  expect(reason).toMatch(/^[A-Z].{20,}\.$/)
})

test('no survivor is named twice', () => {
  expect(survivors.length).toBeGreaterThan(100)
  expect(new Set(survivors.map(keyOf))).toHaveLength(survivors.length)
})

test('a comment names what survives of the line below, and must have the form', () => {
  const text = '// A reader.\n// Survives: `a` → `b`,\n// `c` → `""`. A reason\n// of two lines.\n  f(a, c)\n'
  const survivor = { file: 'a.ts', line: 'f(a, c)', reason: 'A reason of two lines.' }
  expect(survivorsOf('a.ts', text)).toEqual([
    { ...survivor, from: 'a', to: 'b' },
    { ...survivor, from: 'c', to: '""' },
  ])
  expect(() => survivorsOf('a.ts', '// Survives: a becomes b.\nf(a)\n')).toThrow(
    'a.ts:1: expected // Survives:',
  )
})

const source = 'const least = 1\n\nexport const isLess = (value: number) =>\n  value < least\n'
const [onLine4, onLine1] = [
  { start: { line: 4, column: 3 }, end: { line: 4, column: 16 } },
  { start: { line: 1, column: 15 }, end: { line: 1, column: 16 } },
]
const AT_LEAST = { file: 'a.ts', line: 'value < least', from: 'value < least', to: 'value >= least' }

test.each<[what: string, statuses: [string, string], named: Mutant[], least: number, passes: boolean]>([
  ['all are killed', ['Killed', 'Killed'], [], 100, true],
  ['one runs for ever', ['Timeout', 'Killed'], [], 100, true],
  ['one survives', ['Survived', 'Killed'], [], 100, false],
  ['one survives that no test reaches', ['NoCoverage', 'Killed'], [], 100, false],
  ['one survives, and half are enough', ['Survived', 'Killed'], [], 50, true],
  ['one survives, and more than half are expected', ['Survived', 'Killed'], [], 51, false],
  ['one survives that is named', ['Survived', 'Killed'], [AT_LEAST], 100, true],
  ['one that is named is killed', ['Killed', 'Killed'], [AT_LEAST], 50, false],
  ['one that is named runs out of time', ['Timeout', 'Killed'], [AT_LEAST], 100, true],
  ['one that is named is not there', ['Survived', 'Killed'], [AT_LEAST, { ...AT_LEAST, to: '' }], 50, false],
  ['one does not compile', ['CompileError', 'Killed'], [], 100, true],
])('where %s: the gate says so', (_what, [first, second], named, least, passes) => {
  const mutants = mutantsOf({
    files: {
      'a.ts': {
        source,
        mutants: [
          { replacement: 'value >= least', status: first, location: onLine4 },
          { replacement: '2', status: second, location: onLine1 },
        ],
      },
    },
  })
  expect(mutants.at(-1)).toMatchObject({ line: 'const least = 1', from: '1', to: '2' })
  expect(verdictOf(mutants, named, least).passes).toBe(passes)
})
