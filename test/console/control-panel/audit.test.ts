/** The audit trail as a link, a request and a file. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { routeOf } from '../../../console/model/link.ts'
import { hashOfRoute } from '../../../console/model/routes.ts'
import {
  type AuditFilters,
  auditRequest,
  filtersOf,
  isFiltered,
  nameOfActor,
} from '../../../console/panel/model/audit.ts'
import { CSV_HEAD, csvCell, exported } from '../../../console/panel/model/export.ts'
import type { AuditRecord } from '../../../console/panel/model/iam-records.ts'

const NONE: AuditFilters = { who: '', what: '', subject: '', from: '', to: '' }

describe('filters', () => {
  test.each<[given: Record<string, string>, filters: Partial<AuditFilters>]>([
    [{}, {}],
    [
      { who: 'anna', what: 'token.', subject: '100%_' },
      { who: 'anna', what: 'token.', subject: '100%_' },
    ],
    [
      { from: '2026-11-22', to: '2026-11-23' },
      { from: '2026-11-22', to: '2026-11-23' },
    ],
    [{ from: 'yesterday', to: '2026-02-31', other: 'x' }, {}],
  ])('%j', (given, filters) => {
    expect(filtersOf(given)).toEqual({ ...NONE, ...filters })
    expect(isFiltered(filtersOf(given))).toBe(Object.keys(filters).length > 0)
  })

  test('a link leads back to its filters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 100 }),
        fc.string({ maxLength: 100 }),
        (who, what) => {
          const filters = filtersOf({ who: who.toWellFormed(), what })
          const route = routeOf(hashOfRoute({ page: 'audit', given: { ...filters } }))
          expect(filtersOf(route?.given ?? {})).toEqual(filters)
        },
      ),
    )
  })

  test('both days are inside, newest first, in the time zone of the reader', () => {
    const { since, until, ...rest } = auditRequest('234567', {
      ...NONE,
      who: 'anna',
      from: '2026-03-29',
      to: '2026-03-29',
    })
    expect(rest).toEqual({ account: '234567', actor: 'anna', action: '', subject: '', newestFirst: true })
    expect(Number(since?.seconds) * 1_000).toBe(new Date(2026, 2, 29).getTime())
    expect(Number(until?.seconds) * 1_000).toBe(new Date(2026, 2, 30).getTime())
    expect(auditRequest('234567', NONE)).not.toHaveProperty('since')
  })
})

describe('CSV', () => {
  test.each([
    ['plain', 'plain'],
    ['with, comma', '"with, comma"'],
    ['with "quotes"', '"with ""quotes"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', `"'=1+1"`],
    ['+49', `"'+49"`],
    ['-2', `"'-2"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['  =cmd', `"'  =cmd"`],
    ['\t=cmd', `"'\t=cmd"`],
    ['＝cmd', `"'＝cmd"`],
    ['a=b', 'a=b'],
    ['', ''],
  ])('%j is written %s', (text, cell) => {
    expect(csvCell(text)).toBe(cell)
  })

  test('whatever a name is, no cell begins as a formula, and the text is found again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const cell = csvCell(text)
        const inside = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
        expect(inside).not.toMatch(/^\s*[=+\-@]/)
        expect([text, `'${text}`]).toContain(inside)
      }),
    )
  })
})

const record = (sequence: number, subject = 'ci'): AuditRecord =>
  ({
    ...{
      sequence: BigInt(sequence),
      actor: '=anna',
      action: 'service_user.set_roles',
      account: '234567',
      subject,
    },
    at: { seconds: 1_700_000_000n, nanos: 5_000_000 },
    details: { roles: ['iam.admin'] },
  }) as unknown as AuditRecord

describe('the export', () => {
  const twoPages = async (pageToken: string) =>
    pageToken === ''
      ? { records: [record(2)], nextPageToken: 'next' }
      : { records: [record(1, 'a,b')], nextPageToken: '' }

  test('has every page, and says how far it is', async () => {
    const counts: number[] = []
    const parts = await exported(twoPages, 'csv', (count) => counts.push(count), new AbortController().signal)
    expect(counts).toEqual([1, 2])
    expect(parts.join('')).toBe(
      `${CSV_HEAD}2,2023-11-14T22:13:20.005Z,"'=anna",service_user.set_roles,234567,ci,"{""roles"":[""iam.admin""]}"\r\n` +
        `1,2023-11-14T22:13:20.005Z,"'=anna",service_user.set_roles,234567,"a,b","{""roles"":[""iam.admin""]}"\r\n`,
    )
  })

  test('as lines of JSON changes nothing', async () => {
    const parts = await exported(twoPages, 'jsonl', () => {}, new AbortController().signal)
    const lines = parts.join('').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).subject)).toEqual(['ci', 'a,b'])
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ actor: '=anna', details: { roles: ['iam.admin'] } })
  })

  test('stops when it is cancelled', async () => {
    const controller = new AbortController()
    const run = exported(twoPages, 'csv', () => controller.abort(), controller.signal)
    await expect(run).rejects.toThrow()
  })
})

test.each([
  ['control_panel_user 17764986fd64972e (olga)', 'olga'],
  ['service_user 5e3d (ci (old)\n)', 'ci (old)\n'],
  ['caller prometheus', 'caller prometheus'],
  ['command line (root)', 'command line (root)'],
  ['service_user 5e3d', 'service_user 5e3d'],
])('%j is called %j in the list', (actor, name) => {
  expect(nameOfActor(actor)).toBe(name)
})
