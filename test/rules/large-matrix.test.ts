/** A large matrix file is read and compiled while others have their turn. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { compile, compileInSteps, type Matrix } from '../../engine/index.ts'
import { inSlices } from '../../sidecar/base/slices.ts'
import { type Look, Rules } from '../../sidecar/rules/rules.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const APIS = 220
const [ONE, TWO, THREE] = ['one', 'two', 'three'].map((name) => manyApis(APIS, name)) as [
  Matrix,
  Matrix,
  Matrix,
]
const SMALL = manyApis(3, 'small')
const digests = new Map<Matrix, string>()
/** Compiled once: each time is as long as what is tested. */
function digestOf(matrix: Matrix): string {
  const digest = digests.get(matrix) ?? compile(matrix).digest
  digests.set(matrix, digest)
  return digest
}

/** Rules of a separate file, looked at on `reload` alone, with all their notifications. */
function open(first: Matrix) {
  const path = join(newFolder(), 'matrix.json')
  const put = (text: string) => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  put(JSON.stringify(first))
  const refused: string[] = []
  const looks: Look[] = []
  const rules = new Rules({
    ...{ path, strict: false, pollMs: 0 },
    onRefused: ({ message }) => refused.push(message),
    onLook: (look) => looks.push(look),
  })
  whenTheFileEnds(() => rules.close())
  const adopted: string[] = []
  rules.watch(({ digest }) => adopted.push(digest))
  const replace = (matrix: Matrix | string) => {
    put(typeof matrix === 'string' ? matrix : JSON.stringify(matrix))
    rules.reload()
  }
  return { path, rules, replace, refused, looks, adopted }
}

/** Counts the turns of the event loop until it is ended. */
function countTurns(): { readonly count: () => number; readonly end: () => void } {
  let turns = 0
  let next = setImmediate(function turn() {
    turns++
    next = setImmediate(turn)
  })
  return { count: () => turns, end: () => clearImmediate(next) }
}

describe('others have their turn', () => {
  afterEach(() => void vi.restoreAllMocks())

  /** Each look at the clock takes a millisecond, so that a slice has two steps on any machine. */
  function slowClock(): void {
    let nowMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs++)
  }

  test('while a matrix is compiled', async () => {
    slowClock()
    const turns = countTurns()
    const engine = await inSlices(compileInSteps(ONE), new AbortController().signal)
    turns.end()
    expect(engine.digest).toBe(digestOf(ONE))
    expect(turns.count()).toBeGreaterThan(APIS)
  })

  test('while what is made of the engine is prepared, and all of it is in place at once', async () => {
    const { rules, replace } = open(SMALL)
    const before = rules.engine
    let turnsOfPreparation = 0
    let prepared = before
    const turns = countTurns()
    rules.prepare(function* (engine) {
      const first = turns.count()
      for (let step = 0; step < 100; step++) {
        expect(rules.engine).toBe(before)
        yield
      }
      turnsOfPreparation = turns.count() - first
      return () => {
        prepared = engine
      }
    })
    const inPlace: boolean[] = []
    rules.watch((engine) => inPlace.push(prepared === engine && rules.engine === engine))
    replace(ONE)
    expect(rules.engine).toBe(before)
    slowClock()
    // The clock of `eventually` is not reliable now.
    while (rules.engine === before) await new Promise((resolve) => setImmediate(resolve))
    turns.end()
    expect(turnsOfPreparation).toBeGreaterThan(20)
    expect(inPlace).toEqual([true])
  })
})

test('a small file is in force at once, before and after a large one', async () => {
  const { rules, replace, looks, adopted } = open(manyApis(2))
  replace(SMALL)
  expect(rules.engine.digest).toBe(digestOf(SMALL))
  replace(ONE)
  expect(rules.engine.digest).toBe(digestOf(SMALL))
  await eventually(() => adopted.length === 2)
  replace(SMALL)
  expect(adopted).toEqual([digestOf(SMALL), digestOf(ONE), digestOf(SMALL)])
  expect(looks.every(({ refused }) => !refused)).toBe(true)
})

test('the newest file wins, and no change is lost, however many come while one is read', async () => {
  const { rules, replace, adopted } = open(SMALL)
  replace(ONE)
  replace(TWO)
  replace(THREE)
  await eventually(() => rules.engine.digest === digestOf(THREE))
  // The rules that were being read may have been any of them, and never come after newer ones.
  expect(adopted.at(-1)).toBe(digestOf(THREE))
  expect([1, 2]).toContain(adopted.length)
})

test.each([
  ['small', SMALL],
  ['large', TWO],
])('a %s file that comes when the last one is read already is in force after it', async (_size, newer) => {
  const { rules, replace, adopted } = open(THREE)
  rules.prepare(function* ({ digest }) {
    yield
    if (digest === digestOf(ONE)) replace(newer)
    return () => {}
  })
  replace(ONE)
  await eventually(() => rules.engine.digest === digestOf(newer))
  expect(adopted).toEqual([digestOf(ONE), digestOf(newer)])
})

test.each<[claim: string, spoiled: string, problem: string]>([
  ['is not JSON', JSON.stringify(ONE).slice(0, -1), 'expected JSON'],
  [
    'has an API twice',
    JSON.stringify({ ...ONE, apis: [...ONE.apis, ...ONE.apis.slice(0, 1)] }),
    `apis[${APIS}].id: expected a unique id`,
  ],
])(
  'a large file that %s leaves the last good rules in force, and the log says so once',
  async (_claim, spoiled, problem) => {
    const { path, rules, replace, refused, looks, adopted } = open(TWO)
    const last = () => looks.at(-1)
    replace(spoiled)
    await eventually(() => last()?.refused === true)
    rules.reload()
    rules.reload()
    expect(refused).toHaveLength(1)
    expect(refused[0]).toContain(`${path}: the matrix is not valid`)
    expect(refused[0]).toContain(problem)
    expect(rules.engine.digest).toBe(digestOf(TWO))
    // Until the fixed one is read, the problem is still there.
    replace(ONE)
    expect(last()).toMatchObject({ refused: true })
    await eventually(() => last()?.refused === false)
    expect(adopted).toEqual([digestOf(ONE)])
  },
)

test('a file that is gone before it is read leaves the last good rules in force', async () => {
  const { path, rules, replace, refused, looks } = open(TWO)
  replace(ONE)
  rmSync(path)
  rules.reload()
  await eventually(() => refused.length > 0 && looks.at(-1)?.refused)
  expect(refused.every((message) => message.includes('cannot be read (ENOENT)'))).toBe(true)
  expect([digestOf(ONE), digestOf(TWO)]).toContain(rules.engine.digest)
})

test('a file that was being read when the rules were closed has no effect', async () => {
  const { rules, replace, refused, looks, adopted } = open(SMALL)
  replace(ONE)
  const before = looks.length
  rules.close()
  const other = open(SMALL)
  other.replace(ONE)
  await eventually(() => other.adopted.length > 0)
  expect({ adopted, refused, looks: looks.length }).toEqual({ adopted: [], refused: [], looks: before })
})
