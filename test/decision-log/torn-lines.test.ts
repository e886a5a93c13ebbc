/** The line of another process behind one that was torn: a search finds it, whatever the torn one says. */
import { expect, test } from 'vitest'
import { Matcher, newTally } from '../../sidecar/signals/decision-log/matcher.ts'
import type { DecisionQuery } from '../../sidecar/usecases/decision-search.ts'

const BASE_MS = Date.UTC(2026, 10, 20)
const at = (second: number) => BASE_MS + second * 1_000

const line = (second: number, api = 'lobby') =>
  Buffer.from(
    `${JSON.stringify({
      ...{ time: new Date(at(second)).toISOString(), protocol: 'grpc', caller: { address: '127.0.0.1' } },
      ...{ api, kind: 'day_pass', allowed: true, reason: 'ALLOWED', matrix: 'sha256:0', strict: false },
    })}\n`,
  )

const foundBehind = (torn: Buffer, next: Buffer, query: DecisionQuery) =>
  new Matcher(query).find({ bytes: Buffer.concat([torn, next]), offset: 100, tooLong: false }, newTally())

test.each<[what: string, torn: number, next: number, query: DecisionQuery]>([
  ['too early', 0, 10, { sinceMs: at(10) }],
  ['too late', 10, 9, { untilMs: at(10) }],
])('of one that is %s', (_what, torn, next, query) => {
  const cut = line(torn)
  for (let length = 10; length < cut.length - 1; length++) {
    const found = foundBehind(cut.subarray(0, length), line(next), query)
    expect([length, found.map(({ offset }) => offset)]).toEqual([length, [100 + length]])
  }
})

test('of one that is cut within a character', () => {
  const cut = line(1, 'é')
  const torn = cut.subarray(0, cut.indexOf('é') + 1)
  expect(foundBehind(torn, line(2), {})).toMatchObject([{ offset: 100 + torn.length }])
})
