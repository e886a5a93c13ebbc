/**
 * The gate of counted instructions: its judgement of a count, and that its operations run. To count needs
 * valgrind: test/nightly/instructions.test.ts.
 */
import { expect, test } from 'vitest'
import { compare, elsewhere, judged, type Kept, readKept } from '../../bench/instructions/kept.ts'
import { GROUPS, type Repeated } from '../../bench/instructions/operations.ts'
import { repeated } from '../../bench/instructions/program.ts'
import { recordCalls } from '../../bench/workloads/record.ts'
import { newFolder } from '../support/suite/resources.ts'

const PLACE = { node: '24.21.0', processor: 'x64 with AVX2', valgrind: '3.19.0' }
const KEPT: Kept = { ...PLACE, operations: [{ id: 'a', what: 'an operation', instructions: 200 }] }
const HOW = 'if that is meant, keep the new counts: `npm run instructions -- --keep && npm run docs`'

test.each([
  { instructions: 202, spread: 0, fails: false, says: 'every operation takes what it took, within 1 %' },
  { instructions: 198, spread: 0.005, fails: false, says: 'every operation takes what it took, within 1 %' },
  {
    ...{ instructions: 202.1, spread: 0, fails: true },
    says: `a (an operation) takes 1.05 % more: 200.0 instructions before, 202.1 now; at most 1 % passes\n${HOW}`,
  },
  {
    ...{ instructions: 150, spread: 0, fails: false },
    says: `a (an operation) takes 25.00 % less: 200.0 instructions before, 150.0 now; until that is kept, it may be lost again\n${HOW}`,
  },
  {
    ...{ instructions: 250, spread: 0.006, fails: false },
    says: `a (an operation) is not judged: its rounds differ by more than 0.5 %\n${HOW}`,
  },
  {
    ...{ instructions: Number.NaN, spread: Number.NaN, fails: true },
    says: `a (an operation) was not counted, and a count of it is kept\n${HOW}`,
  },
])('$instructions instructions, spread $spread, where 200 are kept: $says', ({ fails, says, ...counted }) => {
  const compared = compare(KEPT, [{ id: 'a', what: 'an operation', ...counted }])
  expect(judged(compared)).toEqual({ text: says, fails })
})

test('an operation without a kept count fails, and so does a kept count without its operation', () => {
  const counted = [{ id: 'b', what: 'another', instructions: 7, spread: 0 }]
  expect(judged(compare(KEPT, counted))).toEqual({
    text: [
      'b (another) takes 7.0 instructions, and no count of it is kept',
      'a (an operation) was not counted, and a count of it is kept',
      HOW,
    ].join('\n'),
    fails: true,
  })
})

test.each([{ node: '24.22.0' }, { processor: 'arm64' }, { valgrind: '3.24.0' }])(
  'counts of another place are distinguished: %o',
  (other) => {
    expect(elsewhere(KEPT, PLACE)).toBeUndefined()
    const [name] = Object.values(other)
    const said = elsewhere(KEPT, { ...PLACE, ...other })
    expect(said).toContain('the kept counts are of Node 24.21.0 on x64 with AVX2 under valgrind 3.19.0')
    expect(said?.split('these are of')[1]).toContain(name)
  },
)

test('the operations run, answer right, and are those whose counts are kept', async () => {
  const folder = newFolder()
  await recordCalls(folder)
  const groups = await Promise.all(GROUPS.map((group) => repeated(group, 'smoke', folder)))
  const named = (list: readonly Pick<Repeated, 'id' | 'what'>[]) => list.map(({ id, what }) => ({ id, what }))
  expect(named(groups.flat())).toEqual(named(readKept()?.operations ?? []))
})
