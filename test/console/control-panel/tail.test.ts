/**
 * The live tail of decisions in the page: what is kept of what arrives, what filters show, and what a pause
 * keeps still.
 */
import { expect, test } from 'vitest'
import {
  type Decision,
  type Entry,
  KEPT_MAX,
  Lines,
  NO_FILTER,
  pauseBefore,
  Tail,
  type TailFilter,
  toldBy,
} from '../../../console/panel/model/tail.ts'

function decision(api: string, more: Partial<Decision> = {}): Decision {
  return {
    ...{ time: '2026-11-22T09:44:34.123Z', protocol: 'grpc', caller: {}, api, allowed: true },
    ...{ reason: 'ALLOWED', strict: false, matrix: `sha256:${'0'.repeat(64)}`, conflicts: [] },
    ...{ asked: 'claims', latency_us: 0, ...more },
  }
}

const apisOf = (entries: readonly Entry[]) =>
  entries.map((entry) => ('decision' in entry ? entry.decision.api : `missed ${entry.missed}`))

test.each<[line: string, type: string | undefined]>([
  [JSON.stringify(decision('balance')), 'decision'],
  ['{"listening":{"samplePercent":10,"workers":2}}', 'listening'],
  ['{"missed":3}', 'missed'],
  ['{"alive":true}', 'alive'],
  ['{"ended":"STOPPING"}', 'ended'],
  ['{"later":1}', undefined],
  ['', undefined],
  ['null', undefined],
  ['{"api":', undefined],
])('a line of the answer is understood: %s', (line, type) => {
  expect(toldBy(line)?.type).toBe(type)
})

test('lines are whole wherever their bytes were cut', () => {
  const text = 'one\ntwo\n\nthree\nfour'
  for (let at = 0; at <= text.length; at++) {
    const lines = new Lines()
    expect([...lines.add(text.slice(0, at)), ...lines.add(text.slice(at))]).toEqual([
      'one',
      'two',
      '',
      'three',
    ])
    expect(lines.add('\n')).toEqual(['four'])
  }
})

test('the newest are shown first, once they are looked at, up to a bound', () => {
  const tail = new Tail()
  for (const api of ['one', 'two']) tail.add(decision(api))
  expect(tail.shown).toEqual([])
  expect([tail.show(), tail.show()]).toEqual([true, false])
  tail.missed(7)
  tail.show()
  expect(apisOf(tail.shown)).toEqual(['missed 7', 'two', 'one'])
  for (let index = 0; index < 5 * KEPT_MAX; index++) tail.add(decision(`api ${index}`))
  tail.show()
  expect(tail.shown).toHaveLength(KEPT_MAX)
  expect(apisOf(tail.shown)[0]).toBe(`api ${5 * KEPT_MAX - 1}`)
  expect(new Set(tail.shown.map(({ id }) => id)).size).toBe(KEPT_MAX)
  expect(tail.received).toBe(2 + 5 * KEPT_MAX)
  expect(tail.apis.size).toBeLessThanOrEqual(200)
})

test('a pause keeps what is shown, counts what comes, and what came is shown after it', () => {
  const tail = new Tail()
  tail.add(decision('one'))
  tail.show()
  tail.pause()
  for (let index = 0; index < 3 * KEPT_MAX; index++) tail.add(decision('other'))
  expect([tail.show(), apisOf(tail.shown), tail.waiting]).toEqual([false, ['one'], 3 * KEPT_MAX])
  tail.resume()
  expect([tail.shown.length, tail.waiting]).toEqual([KEPT_MAX, 0])
})

const DENIED = decision('Balance', {
  ...{ allowed: false, reason: 'WRONG_HEADER', kind: 'static_token', protocol: 'authorize' },
  ...{ caller: { name: 'edge', address: '192.0.2.1' }, scope: { account: '787613', project: 'web' } },
  ...{ token: 'abc123', subject: { id: 'user-1', type: 'service_user', account: '787613' } },
})

test.each<[claim: string, filter: Partial<TailFilter>, passes: boolean]>([
  ['no filter', {}, true],
  ['denied', { verdict: 'denied' }, true],
  ['allowed', { verdict: 'allowed' }, false],
  ['its reason', { reason: 'WRONG_HEADER' }, true],
  ['another reason', { reason: 'ALLOWED' }, false],
  ['its API', { api: 'Balance' }, true],
  ['a part of its API', { api: 'Bal' }, false],
  ['a text of the API in another case', { text: ' bALa ' }, true],
  ['the caller', { text: 'edge' }, true],
  ['the address', { text: '192.0.2' }, true],
  ['the project', { text: 'web' }, true],
  ['the fingerprint', { text: 'ABC123' }, true],
  ['the user', { text: 'user-1' }, true],
  ['a name of a member', { text: 'latency' }, false],
  ['all of them at once', { text: 'edge', verdict: 'denied', reason: 'WRONG_HEADER', api: 'Balance' }, true],
  ['all but one', { text: 'edge', verdict: 'denied', reason: 'WRONG_HEADER', api: 'cdn' }, false],
])('a filter for %s', (_claim, filter, expected) => {
  const tail = new Tail()
  tail.filter({ ...NO_FILTER, ...filter })
  tail.add(DENIED)
  tail.show()
  expect(tail.shown).toHaveLength(expected ? 1 : 0)
  // It is the same for what is there already.
  tail.filter(NO_FILTER)
  expect(tail.shown).toHaveLength(1)
  tail.filter({ ...NO_FILTER, ...filter })
  expect(tail.shown).toHaveLength(expected ? 1 : 0)
})

test('a rare decision is kept although many others come, and a gap is always shown', () => {
  const tail = new Tail()
  tail.filter({ ...NO_FILTER, verdict: 'denied' })
  tail.add(DENIED)
  tail.missed(2)
  for (let index = 0; index < 10 * KEPT_MAX; index++) tail.add(decision('often'))
  tail.show()
  expect(apisOf(tail.shown)).toEqual(['missed 2', 'Balance'])
  tail.filter({ ...NO_FILTER, text: 'edge' })
  expect(apisOf(tail.shown)).toEqual(['missed 2', 'Balance'])
  tail.clear()
  tail.filter(NO_FILTER)
  expect(tail.shown).toEqual([])
})

test('after failures it waits longer and longer, up to a bound', () => {
  expect([0, 1, 2, 3, 5, 6, 100].map(pauseBefore)).toEqual([
    ...[1_000, 1_000, 2_000, 4_000, 16_000, 30_000, 30_000],
  ])
})
