/** The fuzzer itself: a planted fault is found, minimised, and reported with its reproduction. */
import { Script } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../support/checkout/sources.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { startProcess } from '../support/processes/processes.ts'
import { Coverage, instrumented } from './instrument.ts'
import { minimised, mutated } from './mutate.ts'

const fuzz = (...args: string[]) =>
  startProcess([
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    `${ROOT}test/fuzz/run.ts`,
    ...args,
  ]).ended

/** The inputs that a run printed, by their faults. */
function findingsIn(stdout: string): Map<string, string> {
  const found = stdout.matchAll(/^\S+: (?:Error: )?(.+?)(?: \(\S+\))?\n {2}npm run fuzz .* --input (\S+)$/gm)
  return new Map(
    Array.from(found, ([, what = '', input = '']) => [what, Buffer.from(input, 'base64').toString('latin1')]),
  )
}

test('a planted fault is found and minimised, and its input reproduces it', async () => {
  const { code, stdout } = await fuzz('--target', 'planted', '--runs', '40000')
  expect(code).toBe(1)
  const found = findingsIn(stdout)
  expect(found.get('planted: four bytes at once')).toBe('abcd')
  expect(found.get('planted: four bytes in turn')).toBe('wxyz')
  expect(found.get('planted: a number')).toBe('aaaa\u00c0\u00de\u00ca\u00fe')
  expect(found.get('a loop that does not end')).toBe('ever')
  expect(found.get('more steps than its length allows')).toMatch(/^sq/)
  const again = await fuzz('--target', 'planted', '--input', Buffer.from('wxyz').toString('base64'))
  expect(again.code).toBe(1)
  expect(again.stdout).toContain('planted: four bytes in turn')
})

test('an input that is never read is a finding, and ends the run', async () => {
  const { code, stdout } = await fuzz('--target', 'planted-hang', '--patience', '2s', '--runs', '1')
  expect(code).toBe(1)
  expect(findingsIn(stdout).get('an input that is not read within 2s')).toMatch(/^a+!$/)
})

test.each([
  ['--target', 'nothing'],
  ['--for', 'long'],
  ['--runs', 'many'],
])('%s %s is refused', async (...args) => {
  const { code, stderr } = await fuzz(...args)
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/no target `nothing`|expected a time such as|expected whole numbers/)
})

/** Sources with every sort of branch; each is an expression statement whose value is compared. */
const SOURCES: readonly string[] = [
  '((a) => { if (a) if (a > 1) return "b"; else return "c"; return "d" })(input)',
  '((a) => a === "x" ? { a } : a !== 2 ? [a] : (a, "y"))(input)',
  '((a) => { let n = 0; for (let i = 0; i < 3; i++) n += i; for (const c of "ab") n += c.length; do n++; while (n < 9) return n })(input)',
  '((a) => { switch (a) { case 1: case 2: return "few"; case 3: { break } default: return a } return "three" })(input)',
  '((a) => a ?? (a || "no"))(input)',
  '((a) => { try { throw a } catch (e) { return e === a } finally { input } })(input)',
  '(function* (a) { while (a-- > 0) yield a === 1 })(3).toArray()',
  '((a) => ({ b: (a) === (2), "c d": [`x`, a][1] === "1" }))(input)',
]

describe.each(SOURCES)('%s', (source) => {
  test.each([undefined, 0, 1, 2, 3, 'x'])('with counters is as without, for %s', (input) => {
    const coverage = new Coverage()
    const code = instrumented(source, coverage)
    const resultOf = (text: string) => new Script(text).runInNewContext({ input, $fuzz: coverage })
    expect(JSON.stringify(resultOf(code))).toBe(JSON.stringify(resultOf(source)))
    expect(coverage.hits.some((hits) => hits > 0)).toBe(true)
  })
})

test('lines stay where they are, and the words of the code are known', () => {
  const coverage = new Coverage()
  const code = instrumented('if (a)\n  b({ key: "word" })\nelse\n  c()\n', coverage)
  expect(code.split('\n').map((line) => line.match(/b\(|c\(/)?.[0])).toEqual([
    undefined,
    'b(',
    undefined,
    'c(',
    undefined,
  ])
  expect([...coverage.words]).toEqual(['key', 'word'])
})

test('a comparison that comes nearer is noted once', () => {
  const { equal, ...before } = new Coverage()
  expect(before.nearer).toBe(0)
  const coverage = new Coverage()
  const at = coverage.comparison()
  const nearer = ['x', 'ax', 'ax', 'abx'].map((text) => {
    expect(coverage.equal(at, text, 'abc')).toBe(false)
    return coverage.nearer
  })
  expect(nearer).toEqual([1, 2, 2, 3])
  expect(coverage.equal(at, 'abc', 'abc')).toBe(true)
  expect(equal(0, 1, 1)).toBe(true)
})

test('the same seed makes the same inputs', () => {
  const made = (seed: number) => {
    const random = randomFrom(seed)
    const material = { words: [Buffer.from('word')], pairs: [], other: Buffer.from('other'), bytesMax: 20 }
    let input: Buffer = Buffer.from('some text')
    return Array.from({ length: 200 }, () => {
      input = mutated(input, random, material)
      expect(input.length).toBeLessThanOrEqual(20)
      return input.toString('hex')
    })
  }
  expect(made(1)).toEqual(made(1))
  expect(new Set(made(1)).size).toBeGreaterThan(100)
})

test('an input is minimised to what its fault needs', async () => {
  const input = Buffer.from('something long with a needle in it, and more of it')
  const small = await minimised(input, async (bytes) => bytes.includes('needle') && bytes.length >= 8)
  expect(small.toString()).toMatch(/^a*needlea*$/)
  expect(small).toHaveLength(8)
})
