/** A handle stands for a cell: what is decided by it is what is decided by name, and it means nothing to another engine. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compile, type Scope } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { engine, strictEngine } from '../support/engines.ts'
import { matricesWithQuestions, questions } from '../support/generated.ts'
import { makersOfAnything } from '../support/hostile.ts'
import { cells, scopeFor } from '../support/oracle.ts'

test('on the shipped matrix a handle decides as the names do', () => {
  fc.assert(
    fc.property(questions(supportMatrix), ({ api, kind, scope, target, holder }) => {
      const byName = engine.decide({ api, kind, scope, target, holder })
      expect(engine.decideAt(engine.handle(kind, api), scope, target, holder)).toBe(byName)
    }),
    { numRuns: 3_000 },
  )
})

test('on any small matrix a handle decides as the names do', () => {
  fc.assert(
    fc.property(matricesWithQuestions, ({ matrix, asked }) => {
      const compiled = compile(matrix)
      for (const { api, kind, scope, target, holder } of asked)
        expect(compiled.decideAt(compiled.handle(kind, api), scope, target, holder)).toBe(
          compiled.decide({ api, kind, scope, target, holder }),
        )
    }),
    { numRuns: 200 },
  )
})

test('each of the 90 cells has a whole number of its own', () => {
  const handles = cells().map(({ api, kind }) => engine.handle(kind, api))
  expect(new Set(handles).size).toBe(90)
  for (const handle of handles) expect(Number.isSafeInteger(handle)).toBe(true)
})

test.each([
  ['an API', 'iam_token_account', 'no-such-api', 'UNKNOWN_API'],
  ['a kind', 'no_such_kind', 'balance', 'UNKNOWN_TOKEN_KIND'],
  ['either', 'no_such_kind', 'no-such-api', 'UNKNOWN_API'],
])(
  '%s that the matrix does not know has a handle, with the denial that says so',
  (_what, kind, api, reason) => {
    const decision = engine.decideAt(engine.handle(kind, api), { account: '1' })
    expect(decision).toMatchObject({ allowed: false, reason })
  },
)

describe('a handle of another engine', () => {
  test.each([
    ['of a stricter mode', strictEngine],
    ['of the same matrix, compiled again', compile(supportMatrix)],
    [
      'of a matrix with one API less',
      compile({ ...supportMatrix, apis: supportMatrix.apis.slice(1), statements: [], conflicts: [] }),
    ],
  ])('%s is an unknown API here', (_which, other) => {
    for (const { api, kind } of cells())
      expect(engine.decideAt(other.handle(kind, api), scopeFor(kind)).reason).toBe('UNKNOWN_API')
  })
})

test('whatever is given for a handle, a scope, a target and a holder, a decision comes back', () => {
  const known = new Set(engine.decisions())
  fc.assert(
    fc.property(
      fc.array(makersOfAnything, { minLength: 4, maxLength: 4 }),
      fc.constantFrom(...cells()),
      (make, cell) => {
        const [handle, scope, target, holder] = make.map((one) => one()) as [number, Scope, Scope, string]
        expect(known.has(engine.decideAt(handle, scope, target, holder))).toBe(true)
        expect(known.has(engine.decideAt(engine.handle(cell.kind, cell.api), scope, target, holder))).toBe(
          true,
        )
      },
    ),
    { numRuns: 2_000 },
  )
})
