/** Links: each view has one, it leads back to the view, and nothing else is understood. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { EDITS_LENGTH_MAX, FIRST_VIEW, hashOf, PAGES, type View, viewOf } from '../../console/model/view.ts'

test.each<[hash: string, view: Partial<View>]>([
  ['#/matrix', {}],
  ['#/matrix?q=dns%20hosting', { search: 'dns hosting' }],
  [
    '#/matrix?kinds=one,two&header=X-Token&contested',
    { kinds: ['one', 'two'], header: 'X-Token', contested: true },
  ],
  [
    '#/matrix?mode=strict&cell=cdn~static_token',
    { mode: 'strict', opened: { api: 'cdn', kind: 'static_token' } },
  ],
  ['#/matrix?cell=cdn', { opened: { api: 'cdn', kind: undefined } }],
  ['#/try?api=cdn', { page: 'try', api: 'cdn' }],
  ['#/plan?apis=cdn,iam', { page: 'plan', apis: ['cdn', 'iam'] }],
  ['#/compare', { page: 'compare' }],
  [
    '#/edit?edits=q1YqLkktKFayio7VUSouSc1Ns1KqBQA',
    { page: 'edit', edits: 'q1YqLkktKFayio7VUSouSc1Ns1KqBQA' },
  ],
  [
    '#/matrix?cell=cdn&matrix=50bafc5426a4',
    { opened: { api: 'cdn', kind: undefined }, matrix: '50bafc5426a4' },
  ],
])('%s', (hash, view) => {
  expect(viewOf(hash)).toEqual({ ...FIRST_VIEW, ...view })
  expect(hashOf({ ...FIRST_VIEW, ...view })).toBe(hash)
})

test.each([
  '',
  '#',
  '#/',
  '#/elsewhere',
  '#/matrix/more',
  '#javascript:alert(1)',
  '#/matrix?mode=other&q=',
  '#/matrix?matrix=50bafc',
  '#/matrix?matrix=<b>50bafc5426',
  '#/matrix?edits=<b>',
  `#/matrix?edits=${'a'.repeat(EDITS_LENGTH_MAX + 1)}`,
])('`%s` is the first view', (hash) => {
  expect(viewOf(hash)).toEqual(FIRST_VIEW)
})

const ids = fc.stringMatching(/^[a-z][a-z0-9]*([-_.:/][a-z0-9]+)*$/)

test('a link leads back to its view', () => {
  const views = fc.record<View>({
    page: fc.constantFrom(...PAGES),
    search: fc.string({ unit: 'grapheme', maxLength: 50 }),
    kinds: fc.uniqueArray(ids),
    header: fc.option(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), { nil: undefined }),
    contested: fc.boolean(),
    mode: fc.constantFrom('strict', 'resolved', undefined),
    opened: fc.option(fc.record({ api: ids, kind: fc.option(ids, { nil: undefined }) }), { nil: undefined }),
    api: fc.option(ids, { nil: undefined }),
    apis: fc.uniqueArray(ids),
    matrix: fc.option(fc.stringMatching(/^[0-9a-f]{12}$/), { nil: undefined }),
    edits: fc.option(fc.stringMatching(/^[\w-]{1,100}$/), { nil: undefined }),
  })
  fc.assert(
    fc.property(views, (view) => {
      // Edits are in no link but that of their own page.
      const edits = view.page === 'edit' ? view.edits : undefined
      expect(viewOf(hashOf(view))).toEqual({ ...view, edits })
    }),
  )
})

test('any text whatever is understood as some view', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const view = viewOf(`#/matrix?${text}`)
      expect(viewOf(hashOf(view))).toEqual(view)
    }),
  )
})
