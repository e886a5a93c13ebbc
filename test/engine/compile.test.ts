/** `compile` refuses faults, and does not keep the given object. */
import { expect, test } from 'vitest'
import { compile, type Engine, type Matrix, matrixProblems } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

/** A value planted at a path of the small matrix, and the message of `compile`. */
test.each<[path: string, value: unknown, message: string]>([
  ['tokenKinds[1].id', 'day_pass', 'expected a unique id, `day_pass` is taken'],
  ['apis[1].id', 'lobby', 'expected a unique id, `lobby` is taken'],
  ['statements[1].id', 'pass-manages', 'expected a unique id, `pass-manages` is taken'],
  ['conflicts[1].id', 'lobby-key-contradiction', 'expected a unique id, `lobby-key-contradiction` is taken'],
  ['apis[0].accepts[0]', 'nothing', unknownId('a token kind')],
  ['conflicts[1].apis[0]', 'nothing', unknownId('an api')],
  ['conflicts[0].cells[0].api', 'nothing', unknownId('an api')],
  ['conflicts[0].cells[0].kind', 'nothing', unknownId('a token kind')],
  ['conflicts[0].kinds[0]', 'nothing', unknownId('a token kind')],
  ['conflicts[0].statements[0]', 'nothing', unknownId('a statement')],
  ['statements[4].claim.kind', 'nothing', unknownId('a token kind')],
  ['statements[0].claim.apis[0]', 'nothing', unknownId('an api')],
  ['statements[6].claim.api', 'nothing', unknownId('an api')],
  ['statements[7].claim.kinds[0]', 'nothing', unknownId('a token kind')],
])('a matrix with %s = %j is refused', (path, value, expected) => {
  const matrix = planted(smallMatrix(), path, value)
  expect(() => compile(matrix)).toThrow(new TypeError(`the matrix is not valid: ${path}: ${expected}`))
})

test('the message has the first of several problems, and the list has all of them', () => {
  const matrix = planted(planted(smallMatrix(), 'apis[2].accepts[0]', 'nothing'), 'apis[1].id', 'lobby')
  const problems = matrixProblems(matrix)
  expect(problems.map(({ path }) => path)).toEqual([
    'apis[1].id',
    'apis[2].accepts[0]',
    // The library is gone with its id.
    'statements[0].claim.apis[1]',
    'statements[1].claim.apis[1]',
  ])
  expect(() => compile(matrix)).toThrow(
    new TypeError('the matrix is not valid: apis[1].id: expected a unique id, `lobby` is taken'),
  )
})

test.each<[what: string, value: unknown, part: string]>([
  ['nothing', undefined, 'tokenKinds'],
  ['an empty object', {}, 'tokenKinds'],
  ['the text of the file', JSON.stringify(smallMatrix()), 'tokenKinds'],
  ['a matrix without APIs', { ...smallMatrix(), apis: undefined }, 'apis'],
  ['a matrix whose statements are null', { ...smallMatrix(), statements: null }, 'statements'],
  ['a matrix whose conflicts are an object', { ...smallMatrix(), conflicts: {} }, 'conflicts'],
])('%s is refused, with where a matrix comes from', (_, value, part) => {
  expect(() => compile(value as Matrix)).toThrow(
    new TypeError(
      `the matrix is not valid: ${part}: expected a list, as in a matrix from \`loadMatrix\` of \`@portcullis/matrix\``,
    ),
  )
})

test.each<[what: string, absent: { statements?: undefined; conflicts?: undefined }]>([
  ['absent', {}],
  ['undefined', { statements: undefined, conflicts: undefined }],
])('statements and conflicts that are %s are empty lists, to the digest as well', (_what, absent) => {
  const { statements: _, conflicts: __, ...rows } = smallMatrix()
  const engine = compile({ ...rows, ...absent })
  expect(engine.digest).toBe(compile({ ...rows, statements: [], conflicts: [] }).digest)
  expect(engine.conflicts).toEqual([])
  expect(engine.decide({ api: 'lobby', kind: 'day_pass', scope: { account: 'house' } }).allowed).toBe(true)
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

test('an API lists how each accepted kind is sent, and a scheme only where there is one', () => {
  const matrix = smallMatrix()
  const [pass, key] = matrix.tokenKinds
  if (pass === undefined || key === undefined) throw new TypeError('the kinds are not there')
  const { apis } = compile({ ...matrix, tokenKinds: [{ ...pass, scheme: 'Bearer' }, key] })
  expect(apis.get('lobby')?.accepted).toStrictEqual([
    { kind: 'day_pass', header: 'X-Day-Pass', scheme: 'Bearer', issuable: true, obtained: 'issue' },
    { kind: 'room_key', header: 'X-Room-Key', issuable: false, obtained: 'control_panel' },
  ])
})

test('the common part of APIs is there once, so that a large matrix stays small', () => {
  const { apis, reasons } = compile({ ...smallMatrix(), conflicts: [] })
  const [lobby, library, cellar] = [apis.get('lobby'), apis.get('library'), apis.get('cellar')]
  expect(library?.conflicts).toEqual(
    new Map([
      ['day_pass', []],
      ['room_key', []],
    ]),
  )
  expect(library?.conflicts).toBe(cellar?.conflicts)
  expect(library?.contested).toBe(cellar?.contested)
  expect(reasons('lobby', 'day_pass')).toBe(reasons('library', 'day_pass'))
  const twice = {
    ...smallMatrix(),
    apis: smallMatrix().apis.map((row) => ({ ...row, accepts: ['room_key'] })),
  }
  const alike = compile({ ...twice, conflicts: [] }).apis
  expect(alike.get('lobby')?.accepted).toBe(alike.get('cellar')?.accepted)
  expect(lobby?.accepted).not.toBe(cellar?.accepted)
})

function unknownId(row: string): string {
  return `expected the id of ${row}; there is no ${row.split(' ').slice(1).join(' ')} \`nothing\``
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
