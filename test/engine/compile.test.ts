/** What `compile` refuses, and that it keeps nothing of the object given. */
import { expect, test } from 'vitest'
import { compile, type Engine, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { cells, scopeFor } from '../support/oracle.ts'
import { planted, smallMatrix } from '../support/small-matrix.ts'

/** A value planted at a path of the small matrix, and what `compile` says of it. */
test.each<[path: string, value: unknown, message: string]>([
  ['tokenKinds[1].id', 'day_pass', 'two token kinds have the id `day_pass`'],
  ['apis[1].id', 'lobby', 'two apis have the id `lobby`'],
  ['statements[1].id', 'pass-manages', 'two statements have the id `pass-manages`'],
  ['conflicts[1].id', 'lobby-key-contradiction', 'two conflicts have the id `lobby-key-contradiction`'],
  ['apis[0].accepts[0]', 'nothing', refersToNothing('api `lobby`')],
  ['conflicts[1].apis[0]', 'nothing', refersToNothing('conflict `lobby-duplicate-row`')],
  ['conflicts[0].cells[0].api', 'nothing', refersToNothing('conflict `lobby-key-contradiction`')],
  ['conflicts[0].cells[0].kind', 'nothing', refersToNothing('conflict `lobby-key-contradiction`')],
  ['conflicts[0].kinds[0]', 'nothing', refersToNothing('conflict `lobby-key-contradiction`')],
  ['conflicts[0].statements[0]', 'nothing', refersToNothing('conflict `lobby-key-contradiction`')],
  ['statements[4].claim.kind', 'nothing', refersToNothing('statement `key-bound-to`')],
  ['statements[0].claim.apis[0]', 'nothing', refersToNothing('statement `pass-manages`')],
  ['statements[6].claim.api', 'nothing', refersToNothing('statement `lobby-repeated`')],
  ['statements[7].claim.kinds[0]', 'nothing', refersToNothing('statement `pass-advice`')],
])('a matrix with %s = %j is refused', (path, value, message) => {
  const matrix = planted(smallMatrix(), path, value)
  expect(() => compile(matrix)).toThrow(new TypeError(message))
})

test.each<[what: string, value: unknown, part: string]>([
  ['nothing', undefined, 'tokenKinds'],
  ['an empty object', {}, 'tokenKinds'],
  ['the text of the file', JSON.stringify(smallMatrix()), 'tokenKinds'],
  ['a matrix without statements', { ...smallMatrix(), statements: undefined }, 'statements'],
])('%s is refused, with where a matrix comes from', (_, value, part) => {
  expect(() => compile(value as Matrix)).toThrow(
    new TypeError(
      `\`${part}\`: expected a list, as in a matrix from \`loadMatrix\` or \`parseMatrix\` of portcullis/matrix`,
    ),
  )
})

test('later changes to the matrix have no effect on the engine', () => {
  const matrix = structuredClone(supportMatrix)
  const engine = compile(matrix)
  const before = JSON.stringify(everythingSaid(engine))
  overwrite(matrix)
  expect(JSON.stringify(everythingSaid(engine))).toBe(before)
})

test('compiling leaves the matrix as it was, so that a frozen one compiles', () => {
  const matrix = structuredClone(supportMatrix)
  compile(matrix)
  expect(matrix).toEqual(supportMatrix)
  expect(compile(deeplyFrozen(matrix)).digest).toBe(compile(supportMatrix).digest)
})

test('the mode is strict only where it was asked for', () => {
  expect(
    [compile(supportMatrix), compile(supportMatrix, {}), compile(supportMatrix, { strict: false })].map(
      ({ strict }) => strict,
    ),
  ).toEqual([false, false, false])
  expect(compile(supportMatrix, { strict: true }).strict).toBe(true)
})

function refersToNothing(row: string): string {
  return `${row} refers to \`nothing\`, which is not there`
}

/** Everything that an engine says, as plain values. */
function everythingSaid(engine: Engine): unknown {
  return [
    engine.digest,
    [...engine.tokenKinds],
    [...engine.apis].map(([id, { conflicts, ...api }]) => [id, api, [...conflicts]]),
    engine.conflicts,
    [...engine.decisions()],
    cells().map(({ api, kind }) => engine.decide({ api, kind, scope: scopeFor(kind) })),
    engine.extract([['X-Auth-Token', 'a']]),
  ]
}

/** Empties every array and overwrites every value, from the leaves up. */
function overwrite(value: object): void {
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'object' && member !== null) overwrite(member)
    else Reflect.set(value, name, 'overwritten')
  }
  if (Array.isArray(value)) value.length = 0
}

function deeplyFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deeplyFrozen)
  return Object.freeze(value)
}
