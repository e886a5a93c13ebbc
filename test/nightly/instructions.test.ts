/** Counts of instructions: noise does not move them, and a small defect of the hot path does. */
import { describe, expect, test } from 'vitest'
import { countInstructions, valgrindVersion } from '../../bench/instructions/callgrind.ts'
import { compare, judged, type Kept } from '../../bench/instructions/kept.ts'

const valgrind = await valgrindVersion()
if (valgrind === undefined)
  process.stderr.write('interop: the counts of instructions are skipped: valgrind is not installed\n')

/** The API is looked up twice in each decision by name. */
const TWICE = `
import { registerHooks } from 'node:module'
const CODE = 'const column = columnOf(table, question.kind)'
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith('/engine/decide.ts')) return loaded
    const source = String(loaded.source)
    if (source.split(CODE).length !== 2) throw new Error('expected the code once')
    return { ...loaded, source: source.replace(CODE, 'if (!table.rows.has(question.api)) return unknownApi(table);' + CODE) }
  },
})`
const PLANTED = [`--import=data:text/javascript,${encodeURIComponent(TWICE)}`]

const BY_NAME = [
  ...['decide-allowed', 'decide-denied', 'decide-allowed-strict', 'decide-denied-strict'],
  'decide-target',
]

describe.skipIf(valgrind === undefined)('under callgrind', () => {
  test('code that did not change passes, beside other programs too, and one look-up more in each decision does not', {
    timeout: 0,
  }, async () => {
    const [before, again, planted] = await Promise.all([
      countInstructions('engine', 'full'),
      countInstructions('engine', 'full'),
      countInstructions('engine', 'full', PLANTED),
    ])
    const kept: Kept = { node: '', processor: '', valgrind: '', operations: before }
    expect(judged(compare(kept, again))).toMatchObject({ fails: false })
    const found = compare(kept, planted)
    expect(found.filter(({ verdict }) => verdict === 'more').map(({ id }) => id)).toEqual(
      expect.arrayContaining(BY_NAME),
    )
    const { text, fails } = judged(found)
    expect(fails).toBe(true)
    expect(text).toMatch(/^decide-allowed \(decide: allowed\) takes \d+\.\d\d % more: /m)
    expect(text).toContain('keep the new counts: `npm run instructions -- --keep')
  })
})
