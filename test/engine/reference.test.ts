/** The engine against a second, naive implementation of DESIGN §5, on generated questions and matrices. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { compile, type Engine, type Matrix, type Question } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { matricesWithQuestions, questions } from '../support/matrices/generated-matrices.ts'
import { referenceDecision } from '../support/matrices/reference.ts'

test.each([false, true])('both implementations agree on the shipped matrix (strict: %s)', (strict) => {
  const engine = compile(supportMatrix, { strict })
  fc.assert(
    fc.property(questions(supportMatrix), (question) => agree(engine, supportMatrix, strict, question)),
    { numRuns: 1_000 },
  )
})

test.each([false, true])('both implementations agree on any small matrix (strict: %s)', (strict) => {
  fc.assert(
    fc.property(matricesWithQuestions, ({ matrix, asked }) => {
      const engine = compile(matrix, { strict })
      for (const question of asked) agree(engine, matrix, strict, question)
    }),
    { numRuns: 100 },
  )
})

test('the generated questions reach every reason that a question can have', () => {
  const reached = fc
    .sample(matricesWithQuestions, 300)
    .flatMap(({ matrix, asked }) => asked.map((question) => referenceDecision(matrix, true, question).reason))
  expect([...new Set(reached)].sort()).toEqual([
    'ACCOUNT_MISMATCH',
    'ALLOWED',
    'CONTESTED',
    'INVALID_SCOPE',
    'PROJECT_MISMATCH',
    'TOKEN_KIND_NOT_ACCEPTED',
    'UNKNOWN_API',
    'UNKNOWN_TOKEN_KIND',
  ])
})

function agree(engine: Engine, matrix: Matrix, strict: boolean, question: Question): void {
  const { allowed, reason, header, accepted, advice } = engine.decide(question)
  expect({ allowed, reason, header, accepted, advice }).toEqual(referenceDecision(matrix, strict, question))
}
