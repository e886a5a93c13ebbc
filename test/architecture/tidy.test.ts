/**
 * Style that can be checked by a machine: files that say what they are for, and nothing left lying about.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blindCatchesOf, functionsOf } from '../support/checkout/functions.ts'
import { protos, ROOT, sources, sourcesIn } from '../support/checkout/sources.ts'

/** Most lines that a function has: it fits on a page. */
const FUNCTION_LINES_MAX = 70

/** Where functions are held to that. In the other tests a function is most often a group of tests. */
const HELD = [
  ...['engine/', 'matrix/', 'proto/', 'clients/', 'sidecar/', 'console/', 'bench/', 'scripts/'],
  'test/support/',
]

/** The width to which the formatter wraps code. It leaves comments as they are. */
const WIDTH: number = JSON.parse(readFileSync(join(ROOT, 'biome.json'), 'utf8')).formatter.lineWidth

const written = sources.filter(({ generated }) => !generated)

interface Habit {
  readonly claim: string
  /** Whether a file breaks it. */
  readonly broken: (text: string) => boolean
  /** Texts that do, so that the habit is no weaker than it sounds. */
  readonly examples: readonly string[]
}

// The words are put together here, so that this file does not find them in itself.
const whole = (...halves: string[]): string => halves.map((word) => word.replace('|', '')).join('|')
const LEFT_OVER = new RegExp(`\\b(${whole('TO|DO', 'FIX|ME', 'XX|X', 'HA|CK')})\\b`)
const UNDONE_TEST = new RegExp(
  `\\b(test|it|describe)(\\.\\w+)*\\.(${whole('on|ly', 'sk|ip', 'to|do', 'fa|ils')})\\b`,
)

const HABITS: readonly Habit[] = [
  {
    claim: 'every file opens by saying what it is for',
    broken: (text) => !/^(#!.*\n)?(\/\*\*|\/\/) ?\S|^(#!.*\n)?\/\*\*\n \* \S/.test(text),
    examples: ["import 'node:fs'\n", '\n/** Too late. */\n', '/**\n */\n'],
  },
  {
    claim: 'no note of unfinished work is left behind',
    broken: (text) => LEFT_OVER.test(text),
    examples: [`// ${whole('TO|DO')}: finish`, `// ${whole('FIX|ME')}`],
  },
  {
    claim: 'no test is left out and none runs alone',
    broken: (text) => UNDONE_TEST.test(text),
    examples: [
      `test.${whole('on|ly')}('a')`,
      `describe.concurrent.${whole('sk|ip')}('a')`,
      `it.${whole('to|do')}('a')`,
    ],
  },
  {
    claim: 'no file has a tab, a carriage return or white space at the end of a line',
    broken: (text) => /[\t\r]|[ ]$/m.test(text),
    examples: ['a\tb', 'a\r\n', 'a \nb'],
  },
  {
    claim: `no line of a comment has more than ${WIDTH} characters, directives and long words excepted`,
    broken: (text) => wideComments(text).length > 0,
    examples: ['//', ' *', '/**', '  // §'].map((start) => `${start}${' word'.repeat(WIDTH / 5)}`),
  },
]

/**
 * Lines that are comments and too wide. A directive of a tool cannot be wrapped, nor can a word or an
 * address.
 */
function wideComments(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.length > WIDTH && /^\s*(\/\/|\/?\*)/.test(line))
    .filter((line) => !/^\s*(\/\/|\/?\*+) (biome-ignore\b|@ts-|\S+$)/.test(line))
}

test.each(HABITS)('$claim', ({ broken, examples }) => {
  expect(examples.filter((text) => !broken(text))).toEqual([])
  expect(written.filter(({ text }) => broken(text)).map(({ path }) => path)).toEqual([])
})

test('in the sidecar a catch without a name for its error covers one statement', () => {
  const example =
    'try {\n  const size = look(path)\n  return String(size)\n} catch {\n  return "unknown"\n}\n'
  const text = `function sizeOf(path) {\n${example}}\n`
  expect(blindCatchesOf({ path: 'a.js', text })).toEqual(['const size = look(path)'])
  // It would hide what went wrong in the others, as a defect of ours.
  expect(
    sourcesIn('sidecar/').flatMap((source) =>
      blindCatchesOf(source).map((line) => `${source.path}: ${line}`),
    ),
  ).toEqual([])
})

test('no comment of the protos is wider', () => {
  expect(protos.length).toBeGreaterThan(0)
  expect(protos.flatMap(({ path, text }) => wideComments(text).map((line) => `${path}: ${line}`))).toEqual([])
})

test.each(['.nvmrc', '.devcontainer/devcontainer.json', 'deploy/container/Containerfile'])(
  '%s names the Node that the tests run on',
  (path) => {
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const named = readFileSync(join(ROOT, path), 'utf8').match(/(?<=^|node:)\d+\.\d+\.\d+/g)
    expect(named).toEqual([devDependencies.node])
  },
)

test('random texts that people copy are made in one place, where none looks like an option of a command', () => {
  const direct = /[=:(] ?randomBytes\([^;\n]*\)\.toString\('base64url'\)/
  expect("jti: randomBytes(16).toString('base64url')").toMatch(direct)
  const makers = sourcesIn('sidecar/', 'clients/').filter(({ text }) => direct.test(text))
  expect(makers.map(({ path }) => path)).toEqual(['sidecar/base/random-text.ts'])
})

test(`no function has more than ${FUNCTION_LINES_MAX} lines, tables excepted`, () => {
  const long = sourcesIn(...HELD)
    .filter(({ generated }) => !generated)
    .flatMap((source) => longFunctionsOf(source).map((name) => `${source.path}: ${name}`))
  expect(long).toEqual([])
})

// The rule is no stronger than the reader of functions.
const body = 'f()\n'.repeat(FUNCTION_LINES_MAX)
const rows = `{ ${'a: 1,\n'.repeat(FUNCTION_LINES_MAX)} }`
test.each<[code: string, long: string[]]>([
  [`function declared() {\n${body}}`, ['declared']],
  [`export default function () {\n${body}}`, ['<anonymous>']],
  [`async function* generates(): AsyncGenerator<number> {\n${body}}`, ['generates']],
  [`const arrow = async (): Promise<void> => {\n${body}}`, ['arrow']],
  [`const expression = () => f(\n${'1,\n'.repeat(FUNCTION_LINES_MAX)})`, ['expression']],
  [`class C {\n  constructor() {\n${body}}\n}`, ['constructor']],
  [`class C {\n  async #method() {\n${body}}\n}`, ['#method']],
  [`class C {\n  field = () => {\n${body}}\n}`, ['field']],
  [`const o = { get member() {\n${body}} }`, ['member']],
  [`f(() => {\n${body}})`, ['<anonymous>']],
  [`function outer() {\n  return function inner() {\n${body}}\n}`, ['outer', 'inner']],
  [`function table() {\n  return ${rows}\n}`, []],
  [`const table = () => (${rows})`, []],
  [`const table = () => [\n${'1,\n'.repeat(FUNCTION_LINES_MAX)}]`, []],
  [`function works() {\n  f()\n  return ${rows}\n}`, ['works']],
  [`const table = ${rows}`, []],
  [`function short() {\n${'f()\n'.repeat(FUNCTION_LINES_MAX - 2)}}`, []],
])('the reader of functions finds the long ones of example %#', (text, long) => {
  expect(longFunctionsOf({ path: 'x.ts', text })).toEqual(long)
})

function longFunctionsOf(source: Parameters<typeof functionsOf>[0]): string[] {
  return functionsOf(source)
    .filter(({ lines, table }) => lines > FUNCTION_LINES_MAX && !table)
    .map(({ name }) => name)
}
