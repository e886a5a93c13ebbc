/** Flips that are signed off: exactly those, in exactly those modes, until their day has passed. */
import { describe, expect, test } from 'vitest'
import {
  type AllowedFlip,
  bearsOn,
  compareMatrices,
  isOfCell,
  judgeFlips,
  supportMatrix,
} from '../../matrix/index.ts'
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
const entry = (fields: object): AllowedFlip => ({
  ...({ api: 'tickets', kind: PROJECT_KIND, direction: 'opened', reason: 'meant', until: TODAY } as const),
  ...fields,
})

test.each<[what: string, entries: AllowedFlip[], left: string[], unused: number, expired: number]>([
  ['nothing', [], ['cdn strict', 'tickets lenient+strict'], 0, 0],
  ['a flip on its last day', [entry({})], ['cdn strict'], 0, 0],
  [
    'a flip whose day has passed',
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
  expect(judged.left.filter(isOfCell).map(({ api, modes }) => `${api} ${modes.join('+')}`)).toEqual(left)
  expect([judged.unused.length, judged.expired.length]).toEqual([unused, expired])
})

test('a renamed API is signed off by its old id, which loses cells, and by its new one, which gains them', () => {
  const renamed = compareMatrices(ROWS, {
    ...ROWS,
    apis: ROWS.apis.map((api) => (api.id === 'cdn' ? { ...api, id: 'edge' } : api)),
  })
  expect(judgeFlips(renamed, [], TODAY).left).toMatchObject([
    { direction: 'closed', api: 'cdn', kind: PROJECT_KIND, after: { lenient: 'UNKNOWN_API' } },
    { direction: 'opened', api: 'edge', kind: PROJECT_KIND, before: { lenient: 'UNKNOWN_API' } },
  ])
  const [old, next] = [entry({ api: 'cdn', direction: 'closed' }), entry({ api: 'edge' })]
  const judged = judgeFlips(renamed, [old, next], TODAY)
  expect([judged.left, judged.unused]).toEqual([[], []])
  expect(judged.signedOff).toMatchObject([
    { flip: { api: 'cdn' }, by: [{ reason: 'meant' }] },
    { flip: { api: 'edge' }, by: [{ reason: 'meant' }] },
  ])
  expect(judgeFlips(renamed, [old], TODAY).left).toMatchObject([{ api: 'edge' }])
})

describe('a kind of which other facts hold', () => {
  const { left, flips } = judgedKinds([])
  const [lifetime, scopes, header] = ['lifetimeSeconds', 'permissionScopes', 'header'] as const

  test('is left where its flips are not signed off, beside cells that do not flip', () => {
    expect(flips).toEqual([])
    expect(left).toEqual([
      { direction: 'loosened', kind: PROJECT_KIND, field: lifetime, before: 86_400, after: 864_000 },
      { direction: 'changed', kind: STATIC_KIND, field: header, before: 'X-Token', after: 'X-Key' },
      {
        ...{ direction: 'tightened', kind: STATIC_KIND, field: scopes },
        ...{ before: [], after: ['account', 'projects'] },
      },
    ])
  })

  test('may open something where it is looser, close something where it is tighter, and both where it is another', () => {
    const fieldsOf = (side: 'opened' | 'closed') =>
      left.filter((flip) => bearsOn(flip, side)).map((flip) => 'field' in flip && flip.field)
    expect(fieldsOf('opened')).toEqual([lifetime, header])
    expect(fieldsOf('closed')).toEqual([header, scopes])
    expect((['opened', 'closed'] as const).map((side) => bearsOn({ direction: 'opened' }, side))).toEqual([
      ...[true, false],
    ])
  })

  const meant = { kind: PROJECT_KIND, direction: 'loosened', field: lifetime, to: 864_000 }
  test.each<[what: string, entry: object, signedOff: boolean]>([
    ['for its value', {}, true],
    ['until yesterday', { until: '2026-11-26' }, false],
    ['for another value', { to: 864_001 }, false],
    ['for no value', { to: null }, false],
    ['in another direction', { direction: 'tightened' }, false],
    ['for another field', { field: scopes }, false],
    ['for another kind', { kind: STATIC_KIND }, false],
    [
      'for a list, in whatever order',
      { kind: STATIC_KIND, direction: 'tightened', field: scopes, to: ['projects', 'account'] },
      true,
    ],
    [
      'for a list of other items',
      { kind: STATIC_KIND, direction: 'tightened', field: scopes, to: [] },
      false,
    ],
  ])('is signed off %s: %s', (_what, fields, signedOff) => {
    const judged = judgedKinds([{ reason: 'meant', until: TODAY, ...meant, ...fields } as AllowedFlip])
    expect(judged.left).toHaveLength(signedOff ? left.length - 1 : left.length)
    expect([judged.signedOff.length, judged.unused.length + judged.expired.length]).toEqual(
      signedOff ? [1, 0] : [0, 1],
    )
    for (const each of judged.signedOff)
      expect(each).toMatchObject({ flip: { kind: each.by[0]?.kind }, by: [{ reason: 'meant' }] })
  })

  function judgedKinds(entries: readonly AllowedFlip[]) {
    const changes: Readonly<Record<string, object>> = {
      [PROJECT_KIND]: { lifetimeSeconds: 864_000 },
      [STATIC_KIND]: { header: 'X-Key', permissionScopes: ['projects', 'account'] },
    }
    const kinds = compareMatrices(supportMatrix, {
      ...supportMatrix,
      tokenKinds: supportMatrix.tokenKinds.map((kind) => ({ ...kind, ...changes[kind.id] })),
    })
    return { ...judgeFlips(kinds, entries, TODAY), flips: kinds.flips }
  }
})
