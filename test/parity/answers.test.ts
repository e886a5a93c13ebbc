/**
 * One table of questions goes through every protocol: each gives the answer, the reason and the digest of the
 * library.
 */
import { expect, test } from 'vitest'
import { REASONS } from '../../engine/index.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { decisionOf, holdsToTheTable, questionsFor } from './answers.ts'
import { startSidecars } from './people.ts'
import { PROTOCOLS } from './protocols.ts'

const sidecars = await startSidecars()

test.each([
  { mode: 'by default', strict: false, library: engine },
  { mode: 'in strict mode', strict: true, library: strictEngine },
])('the library gives the reasons of the table, $mode', ({ strict, library }) => {
  const questions = questionsFor(sidecars, strict)
  const reasons = questions.map((question) => [question.what, decisionOf(library, question).reason])
  expect(reasons).toEqual(questions.map(({ what, reason }) => [what, reason]))
})

test('the table has every reason', () => {
  const reasons = [false, true].flatMap((strict) => questionsFor(sidecars, strict).map((row) => row.reason))
  expect([...new Set(reasons)].toSorted()).toEqual([...REASONS].toSorted())
})

for (const protocol of PROTOCOLS) holdsToTheTable(protocol, () => sidecars)
