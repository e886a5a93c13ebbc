/**
 * Loading matrices that are right: the shipped one, a stranger's, and whatever survives arbitrary changes.
 */
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { loadMatrix, MatrixError, parseMatrix, supportMatrix } from '../../matrix/index.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

const SHIPPED_FILE = new URL('../../matrix/support-matrix.json', import.meta.url)
const shippedText = readFileSync(SHIPPED_FILE, 'utf8')
const smallText = JSON.stringify(smallMatrix())

test.each<[form: string, file: string | Uint8Array]>([
  ['text', shippedText],
  ['bytes', readFileSync(SHIPPED_FILE)],
])('the shipped file loads from %s and is the matrix that the package exports', (_form, file) => {
  // The file names its schema for editors; that is not part of the matrix.
  const { $schema, ...exported } = supportMatrix as Matrix & { $schema?: string }
  expect(loadMatrix(file)).toEqual(exported)
  expect(parseMatrix(file)).toEqual(exported)
  expect(compile(loadMatrix(file)).digest).toBe(compile(supportMatrix).digest)
})

test('the small matrix, with every part and every type of claim, loads as it was written', () => {
  expect(loadMatrix(smallText)).toEqual(smallMatrix())
})

test('a stranger’s matrix of other kinds and headers, without statements and conflicts, loads and decides', () => {
  const stranger = { ...smallMatrix(), statements: [], conflicts: [] }
  const engine = compile(loadMatrix(JSON.stringify(stranger)))
  const pass = { kind: 'day_pass', scope: { account: 'house' } }
  const key = { kind: 'room_key', scope: { account: 'house', project: 'room-7' } }
  const answers = ['lobby', 'library', 'cellar', 'attic'].map((api) => [
    engine.decide({ api, ...pass }).reason,
    engine.decide({ api, ...key }).reason,
  ])
  expect(answers).toEqual([
    ['ALLOWED', 'ALLOWED'],
    ['ALLOWED', 'TOKEN_KIND_NOT_ACCEPTED'],
    ['TOKEN_KIND_NOT_ACCEPTED', 'ALLOWED'],
    ['UNKNOWN_API', 'UNKNOWN_API'],
  ])
  expect(engine.extract([['x-room-key', 'abc']])).toEqual({
    ...{ ok: true, header: 'x-room-key', scheme: '', place: 'x-room-key', value: 'abc' },
  })
  expect(engine.decide({ api: 'lobby', kind: 'static_token', scope: { account: 'house' } })).toMatchObject({
    reason: 'UNKNOWN_TOKEN_KIND',
    message: 'the token kind is not in the matrix; expected `day_pass` or `room_key`',
  })
})

test('a file without statements and conflicts is a file with empty lists of them, to the digest as well', () => {
  const { statements: _, conflicts: __, ...rows } = smallMatrix()
  const empty = { ...rows, statements: [], conflicts: [] }
  expect(loadMatrix(JSON.stringify(rows))).toEqual(empty)
  expect(parseMatrix(JSON.stringify(rows))).toEqual(empty)
  const digests = [rows, empty, { ...rows, statements: [] }, { ...rows, conflicts: [] }].map(
    (file) => compile(loadMatrix(JSON.stringify(file))).digest,
  )
  expect(new Set(digests).size).toBe(1)
})

test('parsing leaves the comparison of the conflicts to the linter', () => {
  const text = JSON.stringify({ ...smallMatrix(), conflicts: [] })
  expect(parseMatrix(text)).toEqual({ ...smallMatrix(), conflicts: [] })
  expect(() => loadMatrix(text)).toThrow(MatrixError)
})

test('a valid matrix with any value in any place is loaded and compiles, or is refused with a path', () => {
  const places = fc.constantFrom(...placesOf(smallMatrix()))
  const values = fc.oneof(
    fc.jsonValue({ stringUnit: 'binary' }),
    // Values that fit somewhere else, so that some changes survive.
    places.map((place) => valueAt(smallMatrix(), place)),
    fc.constant(undefined),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(places, values), { minLength: 1, maxLength: 3 }), (changes) => {
      const matrix = smallMatrix()
      for (const [place, value] of changes)
        if (placesOf(matrix).includes(place)) planted(matrix, place, value)
      loadsOrRefuses(JSON.stringify(matrix))
    }),
    { numRuns: 300 },
  )
})

test('a valid file with any characters in any place is loaded and compiles, or is refused with a path', () => {
  const position = fc.integer({ min: 0, max: smallText.length })
  const inserted = fc.oneof(
    fc.string(),
    fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '\0', '\u2028'),
  )
  fc.assert(
    fc.property(position, fc.nat({ max: 20 }), inserted, (start, removed, text) => {
      loadsOrRefuses(smallText.slice(0, start) + text + smallText.slice(start + removed))
    }),
    { numRuns: 300 },
  )
})

test('any bytes whatever are loaded and compile, or are refused with a path', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), loadsOrRefuses), { numRuns: 300 })
})

/** Any error but a refusal is passed on, and so fails the test; a loaded matrix must compile. */
function loadsOrRefuses(file: string | Uint8Array): void {
  try {
    compile(loadMatrix(file))
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    expect(error.problems).not.toHaveLength(0)
    for (const { path, expected } of error.problems)
      expect([typeof path, expected]).toEqual(['string', expect.stringMatching(/./)])
  }
}

/** Paths of all members of a document, for {@link planted}. */
function placesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const place = path === '' ? name : `${path}.${name}`
    return [place, ...placesOf(member, place)]
  })
}

function valueAt(document: unknown, place: string): unknown {
  let value = document
  for (const segment of place.split('.'))
    value = (value as Record<string, unknown> | null | undefined)?.[segment]
  return value
}
