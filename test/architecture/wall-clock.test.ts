/**
 * Whatever ends by the wall clock is a limit of `sidecar/base/time-limit.ts`: no file compares the clock with
 * a stored time by itself.
 */
import { expect, test } from 'vitest'
import { operationsOf } from '../support/checkout/functions.ts'
import { type Source, sourcesIn } from '../support/checkout/sources.ts'

/**
 * Where what is stored is compared with the wall clock. The other folders know the monotonic clock alone, or
 * both.
 */
const HELD = [
  ...['sidecar/authority/', 'sidecar/directory/', 'sidecar/http/', 'sidecar/proxies/', 'sidecar/usecases/'],
]

const CLOCK = /\b(?:now\(\)|nowMs\b)/
const STORED = /(?:At|[uU]ntil|[eE]nds|[sS]ince|[lL]ast)Ms\b/
const IN_SQL = /\b(?:\w+_)?at_ms\s*[<>]=?\s*:\w+/g
const MONOTONIC = /performance\.now|monotonicMs|elapsedMs/

/** The comparisons of a source, in TypeScript and in SQL. Those of the monotonic clock are not seen. */
function comparisonsOf(source: Pick<Source, 'path' | 'text'>): string[] {
  if (MONOTONIC.test(source.text)) return []
  const written = operationsOf(source, ['<', '<=', '>', '>=', '-'])
  return [
    ...written.filter((text) => CLOCK.test(text) && STORED.test(text)),
    ...(source.text.match(IN_SQL) ?? []),
  ]
}

/** Comparisons that end nothing, or must not end by a clock that was set back; with the reason. */
const OTHERS: readonly (readonly [path: string, comparison: string, reason: string])[] = [
  [
    'authority/throttle.ts',
    'this.#now() - failures.lastMs < lapseMs',
    'failures count on, and lock out none',
  ],
  ['authority/throttle.ts', 'this.#now() - failures.lastMs', 'the same'],
  [
    'authority/control-panel/panel-sessions.ts',
    'this.#parts.now() - session.usedAtMs',
    'how often a use is written',
  ],
  [
    'authority/control-panel/panel-sessions.ts',
    'this.#parts.now() - session.usedAtMs < touchMs',
    'how often a use is written',
  ],
  [
    'authority/control-panel/panel-sessions.ts',
    'nowMs < endsAtMs',
    'the end that it got when it began, beside its limit',
  ],
  ['authority/upstream/token-answer.ts', 'expiresAtMs <= nowMs', 'an answer that is checked when it arrives'],
  ['authority/upstream/token-answer.ts', 'nowMs - expiresAtMs', 'the words of that'],
  ['authority/verified-token.ts', 'nowMs >= expiresAtMs', 'that it has begun is asked beside'],
  ['authority/token-status.ts', 'nowMs < token.expiresAtMs + graceMs', 'that it has begun is asked before'],
  ['directory/audit-trail.ts', 'at_ms >= :since', 'a filter'],
  ['directory/audit-trail.ts', 'at_ms < :until', 'a filter'],
  ['directory/known-addresses.ts', 'ends_at_ms > :now', 'a preview'],
  ['directory/panel-change.ts', 'used_at_ms < :now', 'no use lowers the time of the last one'],
  ['directory/panel-change.ts', 'used_at_ms > :ms', 'ends what a clock that was ahead began'],
  ['directory/panel-change.ts', 'created_at_ms > :ms', 'ends what a clock that was ahead began'],
  ['directory/panel-records.ts', 'used_at_ms > :ms', 'the same'],
  ['directory/removal.ts', 'at_ms > :day_ago', 'one mark a day'],
  ['directory/removal.ts', 'at_ms <= :expired', 'a clock that is ahead revokes tokens, and makes none valid'],
  ['directory/removal.ts', 'deleted_at_ms <= :due', 'the row decides nothing'],
  ['directory/removal.ts', 'revoked_at_ms <= :due', 'the same'],
  ['directory/removal.ts', 'ends_at_ms <= :due', 'the same; answered challenges a day late'],
  ['directory/panel-records.ts', 'created_at_ms > :ms', 'the same'],
  ['proxies/observation.ts', 'now() >= untilMs', 'the same date of an operator as in usecases/callers.ts'],
  ['usecases/callers.ts', 'this.#now() >= expiresAtMs', 'a date that an operator chose has no beginning'],
  ['usecases/check.ts', 'expiresAtMs - nowMs', 'no longer than a caller may keep any answer'],
  ['usecases/control-panel/operator.ts', 'nowMs >= expiresAtMs', 'as in usecases/callers.ts'],
]

test('the clock is compared with stored times in base/time-limit.ts alone, but where no limit is meant', () => {
  const found = sourcesIn(...HELD).flatMap((source) =>
    comparisonsOf(source).map((comparison) => `${source.path}: ${comparison}`),
  )
  const expected = OTHERS.map(([path, comparison]) => `sidecar/${path}: ${comparison}`)
  expect([...new Set(found)].sort()).toEqual(expected.sort())
})

// The rule is no stronger than the search.
test.each([
  'if (nowMs >= session.confirmedAtMs + CONFIRMED_MS) refuse()',
  'const live = this.#parts.now() < session.endsAtMs',
  'const leftMs = link.endsAtMs - nowMs',
  'if (Date.now() - usedAtMs > limits.idleMs) end()',
  "query('DELETE FROM panel_links WHERE ends_at_ms <= :now')",
])('the search finds a comparison in %j', (text) => {
  expect(comparisonsOf({ path: 'example.ts', text })).not.toEqual([])
})

test.each([
  'PROOF_LIMIT.isOverSince(session.confirmedAtMs, nowMs)',
  'const sinceMs = performance.now(); if (nowMs - sinceMs > 5) report()',
  'const endsAtMs = nowMs + LIFETIME_MS',
])('the search finds none in %j', (text) => {
  expect(comparisonsOf({ path: 'example.ts', text })).toEqual([])
})
