/** Compiling in steps, and matrices so large that their decisions are built when they are asked for. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { digestInSteps, digestOf } from '../../engine/digest.ts'
import {
  compile,
  compileInSteps,
  type Decision,
  type Engine,
  finish,
  type Matrix,
} from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { matrices, questions } from '../support/matrices/generated-matrices.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'

const LARGE = manyApis(300)

test('has a step for each row, so that none is long, and ends with the engine that `compile` makes', () => {
  const steps = compileInSteps(LARGE)
  let count = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) count++
  expect(count).toBeGreaterThan(3 * LARGE.apis.length)
  const whole = compile(LARGE)
  expect(step.value.rulesDigest).toBe(whole.rulesDigest)
  expect([...step.value.decisions()]).toEqual([...whole.decisions()])
})

test('throws what `compile` throws', () => {
  const twice = { ...supportMatrix, apis: [...supportMatrix.apis, ...supportMatrix.apis] } as Matrix
  const problem = 'the matrix is not valid: apis[30].id: expected a unique id'
  expect(() => compile(twice)).toThrow(problem)
  expect(() => finish(compileInSteps(twice))).toThrow(problem)
})

test('the digest in steps is that of the whole', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
      expect(finish(digestInSteps(value))).toBe(digestOf(value))
    }),
  )
})

test('the matrix of the source is built at once, and a large one is not', () => {
  expect([compile(supportMatrix).prebuilt, compile(LARGE).prebuilt]).toEqual([true, false])
})

/** Enlarges a matrix by APIs that are never asked about, so that its decisions are built one by one. */
function enlarged(matrix: Matrix): Matrix {
  const further = Array.from({ length: 700 }, (_, index) => ({
    ...{ id: `further-${index}`, title: 'further', accepts: [], section: '§1' },
  }))
  return { ...matrix, apis: [...matrix.apis, ...further] }
}

/** The content of a decision without the digests. */
const said = ({ digest: _, rulesDigest: __, ...rest }: Decision) => rest

test('a decision says the same whether it was built before the question or for it, in whatever order', () => {
  const cases = matrices(3, 4).chain((matrix) =>
    fc.record({
      matrix: fc.constant(matrix),
      strict: fc.boolean(),
      asked: fc.array(questions(matrix), { minLength: 30, maxLength: 40 }),
    }),
  )
  fc.assert(
    fc.property(cases, ({ matrix, strict, asked }) => {
      const [small, large] = [matrix, enlarged(matrix)].map((each) => compile(each, { strict })) as [
        Engine,
        Engine,
      ]
      expect([small.prebuilt, large.prebuilt]).toEqual([true, false])
      for (const [index, question] of asked.entries()) {
        const { api, kind, scope, target, holder } = question
        const byHandle = () => large.decideAt(large.handle(kind, api), scope, target, holder)
        const decision = index % 2 === 0 ? large.decide(question) : byHandle()
        expect(said(decision)).toEqual(said(small.decide(question)))
        expect(Object.isFrozen(decision)).toBe(true)
        expect(large.decide(question)).toBe(decision)
        expect(byHandle()).toBe(decision)
        const denial = large.deny(api, 'CREDENTIAL_REVOKED', kind, holder)
        expect(said(denial)).toEqual(said(small.deny(api, 'CREDENTIAL_REVOKED', kind, holder)))
        expect(large.deny(api, 'CREDENTIAL_REVOKED', kind, holder)).toBe(denial)
      }
    }),
    { numRuns: 10 },
  )
})

test('every decision is among `decisions` once, whether it was asked for before or not', () => {
  const engine = compile(LARGE)
  const asked = LARGE.apis.flatMap(({ id }) => [
    engine.decide({ api: id, kind: 'static_token', scope: { account: '1' } }),
    engine.deny(id, 'CREDENTIAL_MISSING'),
  ])
  const all = [...engine.decisions()]
  const once = new Set(all)
  expect(once.size).toBe(all.length)
  expect(asked.filter((decision) => !once.has(decision))).toEqual([])
  expect(all).toEqual([...compile(LARGE).decisions()])
})
