/** Flips that are signed off: exactly those, in exactly those modes, until their day is over. */
import { expect, test } from 'vitest'
import { type AllowedFlip, compareMatrices, judgeFlips, supportMatrix } from '../../matrix/index.ts'
import { PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'

const ROWS = { ...supportMatrix, statements: [], conflicts: [] }
const TODAY = '2026-11-27'

/** Tickets are opened for one kind more; in strict mode alone the CDN is. */
const comparison = compareMatrices(supportMatrix, {
  ...supportMatrix,
  apis: supportMatrix.apis.map((api) =>
    api.id === 'tickets' ? { ...api, accepts: [PROJECT_KIND, STATIC_KIND] } : api,
  ),
  conflicts: supportMatrix.conflicts.filter(({ id }) => id !== 'cdn-project-omission'),
})
const entry = (fields: Partial<AllowedFlip>): AllowedFlip => ({
  ...{ api: 'tickets', kind: PROJECT_KIND, direction: 'opened', reason: 'meant', until: TODAY },
  ...fields,
})

test.each<[what: string, entries: AllowedFlip[], left: string[], unused: number, expired: number]>([
  ['nothing', [], ['cdn strict', 'tickets lenient+strict'], 0, 0],
  ['a flip on its last day', [entry({})], ['cdn strict'], 0, 0],
  [
    'a flip whose day is over',
    [entry({ until: '2026-11-26' })],
    ['cdn strict', 'tickets lenient+strict'],
    0,
    1,
  ],
  ['one of two modes', [entry({ mode: 'lenient' })], ['cdn strict', 'tickets strict'], 0, 0],
  ['each of two modes', [entry({ mode: 'lenient' }), entry({ mode: 'strict' })], ['cdn strict'], 0, 0],
  [
    'a mode in which nothing flips',
    [entry({ api: 'cdn', mode: 'lenient' })],
    ['cdn strict', 'tickets lenient+strict'],
    1,
    0,
  ],
  ['another direction', [entry({ direction: 'closed' })], ['cdn strict', 'tickets lenient+strict'], 1, 0],
  ['another kind', [entry({ kind: STATIC_KIND })], ['cdn strict', 'tickets lenient+strict'], 1, 0],
  ['a flip twice', [entry({ reason: 'older' }), entry({})], ['cdn strict'], 1, 0],
  ['everything', [entry({}), entry({ api: 'cdn' })], [], 0, 0],
])('signed off: %s', (_what, entries, left, unused, expired) => {
  const judged = judgeFlips(comparison, entries, TODAY)
  expect(judged.left.map(({ api, modes }) => `${api} ${modes.join('+')}`)).toEqual(left)
  expect([judged.unused.length, judged.expired.length]).toEqual([unused, expired])
})

test('who asks with the old id of a renamed API loses cells, which are signed off by that id', () => {
  const renamed = compareMatrices(ROWS, {
    ...ROWS,
    apis: ROWS.apis.map((api) => (api.id === 'cdn' ? { ...api, id: 'edge' } : api)),
  })
  expect(judgeFlips(renamed, [], TODAY).left).toMatchObject([
    { direction: 'closed', api: 'cdn', kind: PROJECT_KIND, after: { lenient: 'UNKNOWN_API' } },
  ])
  const judged = judgeFlips(renamed, [entry({ api: 'cdn', direction: 'closed' })], TODAY)
  expect([judged.left, judged.unused]).toEqual([[], []])
  expect(judged.signedOff).toMatchObject([{ flip: { api: 'cdn' }, by: [{ reason: 'meant' }] }])
})
