/** Edits in a link: they come back as they were, and nothing else is understood. */
import { deflateRawSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Source } from '../../console/model/playground.ts'
import { packed, unpacked } from '../../console/model/playground-link.ts'
import { EDITS_LENGTH_MAX, FIRST_VIEW, hashOf, viewOf } from '../../console/model/view.ts'
import type { MatrixEdit } from '../../matrix/edits.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { matrixText } from '../../matrix/new-matrix.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const { apis, tokenKinds, statements } = smallMatrix()
const EDITS: readonly MatrixEdit[] = [
  { type: 'title', title: 'Türen “x”' },
  { type: 'add', part: 'apis', row: apis[0] as never },
  { type: 'change', part: 'tokenKinds', row: tokenKinds[0] as never },
  { type: 'change', part: 'statements', row: statements[0] as never },
  { type: 'remove', part: 'statements', id: 'pass-most' },
  { type: 'rename', part: 'apis', id: 'lobby', to: 'hall' },
  { type: 'accept', api: 'hall', kind: 'room_key' },
  { type: 'reject', api: 'hall', kind: 'room_key' },
  { type: 'resolve', conflict: 'x', resolution: 'table', reason: 'y' },
  { type: 'document', matrix: smallMatrix() },
]
const page: Source = { from: 'page', name: 'matrix.json', text: 'not sent' }
const file: Source = { from: 'file', name: 'our house.yaml', text: 'title: x\n' }

test('every edit comes back, and the text of a file with them, but not that of the page', async () => {
  const steps = [EDITS.slice(0, 2), EDITS.slice(2)]
  expect(await unpacked(await packed({ source: page, steps }))).toEqual({ source: undefined, steps })
  expect(await unpacked(await packed({ source: file, steps }))).toEqual({ source: file, steps })
})

test.each(['matrix (1).json', 'Türen.yaml', 'Tu\u0308ren.yaml', 'двери.jsonc', "our + 'own', @2.json"])(
  'a file called `%s` comes back with its name',
  async (name) => {
    const whole = { source: { ...file, name }, steps: [] }
    expect(await unpacked(await packed(whole))).toEqual(whole)
  },
)

test.each([
  ['-x.yaml', 'matrix.yaml'],
  ['.json', 'matrix.json'],
  ['a;b.jsonc', 'matrix.jsonc'],
  ['x\u202enosj.json', 'matrix.json'],
  [`${'x'.repeat(100)}.yml`, 'matrix.yaml'],
  ['?', 'matrix.jsonc'],
])('a link carries a file called `%s` as `%s`', async (name, carried) => {
  const { source } = (await unpacked(await packed({ source: { ...file, name }, steps: [] }))) ?? {}
  expect(source).toEqual({ ...file, name: carried })
})

test('a link has room for a whole matrix of thirty APIs', async () => {
  const whole = { source: { ...file, text: matrixText(supportMatrix) }, steps: EDITS.map((edit) => [edit]) }
  const edits = await packed(whole)
  expect(edits.length).toBeLessThan(EDITS_LENGTH_MAX)
  expect(await unpacked(viewOf(hashOf({ ...FIRST_VIEW, page: 'edit', edits })).edits ?? '')).toEqual(whole)
})

const STRANGE: readonly (readonly [what: string, carried: object])[] = [
  ['another type', { steps: [[{ type: 'drop' }]] }],
  ['another part', { steps: [[{ type: 'remove', part: '__proto__', id: 'x' }]] }],
  ['a row without an id', { steps: [[{ type: 'add', part: 'apis', row: {} }]] }],
  ['a title that is no text', { steps: [[{ type: 'title', title: 1 }]] }],
  ['another resolution', { steps: [[{ ...EDITS[8], resolution: 'both' }]] }],
  ['a matrix without rows', { steps: [[{ type: 'document', matrix: { apis: [] } }]] }],
  [
    'a matrix with a row without an id',
    { steps: [[{ type: 'document', matrix: { ...smallMatrix(), apis: [1] } }]] },
  ],
  ['no list', { steps: {} }],
  ['too many steps', { steps: Array(1_001).fill([]) }],
  ['too many edits in a step', { steps: [Array(11).fill(EDITS[0])] }],
  ['another origin', { source: { ...file, from: 'elsewhere' }, steps: [] }],
  ['a name with markup', { source: { ...file, name: '<b>.json' }, steps: [] }],
  ['a name that is an option', { source: { ...file, name: '--help.json' }, steps: [] }],
  ['a name in another folder', { source: { ...file, name: '../x.json' }, steps: [] }],
  ['a text that is none', { source: { ...file, text: null }, steps: [] }],
  ['a text that is too long', { source: { ...file, text: 'x'.repeat(2 ** 20) }, steps: [] }],
]

/** A link that `packed` never writes. */
const raw = (carried: unknown): string => deflateRawSync(JSON.stringify(carried)).toString('base64url')

test.each(STRANGE)('edits with %s are refused', async (_what, carried) => {
  expect(await unpacked(raw(carried))).toBeUndefined()
})

test('a step has as many edits as a form could ask for', async () => {
  const steps = [Array(10).fill(EDITS[0])]
  expect(await unpacked(raw({ steps }))).toEqual({ source: undefined, steps })
})

test('arbitrary bytes hold no edits', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array(), async (bytes) => {
      expect(await unpacked(Buffer.from(bytes).toString('base64url'))).toBeUndefined()
    }),
    { numRuns: 100 },
  )
})

test('arbitrary JSON does not fail: it is a list of steps, or holds no edits', async () => {
  const almost = fc.record({ source: fc.jsonValue(), steps: fc.array(fc.array(fc.jsonValue())) })
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.jsonValue(), almost), async (value) => {
      const carried = await unpacked(raw(value))
      if (carried !== undefined) expect(carried.steps).toEqual((value as { steps: unknown }).steps)
    }),
    { numRuns: 300 },
  )
})
