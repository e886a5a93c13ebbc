/** The examples that pages begin with, and the API that commands are shown for. */
import { expect, test } from 'vitest'
import { compareExample } from '../../console/model/compare-example.ts'
import { planView } from '../../console/model/plan.ts'
import { apiOpenedBy, isShared, planExample, staticKinds, tryExample } from '../../console/model/sample.ts'
import { readPasted, tryHeaders } from '../../console/model/try.ts'
import { viewOf } from '../../console/model/view.ts'
import type { Matrix } from '../../engine/index.ts'
import { compareMatrices, supportMatrix } from '../../matrix/index.ts'
import { engine } from '../support/matrices/engines.ts'

test('the API to try it with is one that the kind opens, whatever the mode is', () => {
  expect(staticKinds(supportMatrix).map(({ id }) => id)).toEqual(['static_token'])
  expect(apiOpenedBy(supportMatrix, 'static_token')).toBe('balance')
  expect(apiOpenedBy(supportMatrix, 'unknown')).toBeUndefined()
})

test('headers to try are found and allowed', () => {
  const { api, text } = tryExample(supportMatrix) ?? { api: '', text: '' }
  const trial = tryHeaders(engine, api, readPasted(text))
  expect(trial).toMatchObject({ type: 'found', candidates: [{ decision: { allowed: true } }, {}] })
  expect(tryExample({ ...supportMatrix, apis: [] })).toBeUndefined()
})

test('a job to plan needs several tokens, and all of it is opened', () => {
  const { tokens, unopened, unknown } = planView(engine, planExample(supportMatrix))
  expect([tokens.length, unopened, unknown]).toEqual([3, [], []])
  expect(planExample({ ...supportMatrix, apis: [] })).toEqual([])
})

test('a matrix to compare with opens one cell and closes one', () => {
  const before = JSON.stringify(supportMatrix)
  const other = compareExample(supportMatrix)
  const comparison = compareMatrices(supportMatrix, other as Matrix)
  expect(comparison.flips.map(({ direction }) => direction)).toEqual(['opened', 'closed'])
  expect([comparison.apis.added, comparison.apis.removed]).toEqual([[], []])
  expect(JSON.stringify(supportMatrix)).toBe(before)
  expect(compareExample({ ...supportMatrix, apis: supportMatrix.apis.slice(0, 1) })).toBeUndefined()
})

test('a link that a user shared begins with none', () => {
  expect([isShared(viewOf('#/plan')), isShared(viewOf('#/plan?mode=strict&matrix=0123456789ab'))]).toEqual([
    ...[false, true],
  ])
})
