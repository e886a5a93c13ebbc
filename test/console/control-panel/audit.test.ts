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
  namedActor,
  namedSubject,
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
    expect([since, until]).toEqual([new Date(2026, 2, 29), new Date(2026, 2, 30)])
    expect(auditRequest('234567', NONE)).not.toHaveProperty('since')
  })
})

/** A formula that a spreadsheet runs, or would run once it is typed on a keyboard of full width. */
const FORMULA = /^[\s"]*[=+\-@\u2212\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]|^[\t\r\n]/u

const SEPARATORS = [',', ';', '\t', '|'] as const

/**
 * The cells as a spreadsheet reads them that splits at `separator`. A quote opens a cell at its beginning
 * alone; behind the one that closes it, and elsewhere, it is a character like others.
 *
 * @param quotes whether the spreadsheet knows quotes at all
 */
function cellsOf(text: string, separator: string, quotes = true): string[] {
  const cells: string[] = []
  let at = 0
  while (at <= text.length) {
    let cell = ''
    if (quotes && text[at] === '"') {
      at += 1
      while (at < text.length && (text[at] !== '"' || text[at + 1] === '"')) {
        cell += text[at]
        at += text[at] === '"' ? 2 : 1
      }
      at += 1
    }
    while (at < text.length && text[at] !== separator && !/[\r\n]/.test(text[at] as string)) {
      cell += text[at]
      at += 1
    }
    cells.push(cell)
    at += text.startsWith('\r\n', at) ? 2 : 1
  }
  return cells
}

/** Texts of what matters to a spreadsheet, in any order. */
const hostile = fc.string({
  unit: fc.constantFrom(...',;|\t\r\n"\'=+-@＝＋－＠﹦− a1\u00a0\u200b\u2800{}[]:'),
  maxLength: 12,
})

describe('CSV', () => {
  test.each([
    ['plain', '"plain"'],
    ['with, comma', '"with, comma"'],
    ['with "quotes"', '"with ""quotes"""'],
    ['two\nlines', '"two\nlines"'],
    ['=1+1', `"'=1+1"`],
    ['+49', `"'+49"`],
    ['-2', `"'-2"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['  =cmd', `"'  =cmd"`],
    ['\t=cmd', `"'\t'=cmd"`],
    ['＝cmd', `"'＝cmd"`],
    ['a;=cmd', `"a;'=cmd"`],
    ['a;"=cmd"', `"a;'""=cmd"""`],
    ['a\n=cmd', `"a\n'=cmd"`],
    ['ends;', `"ends;'"`],
    ['a=b', '"a=b"'],
    ['', '""'],
  ])('%j is written %s', (text, cell) => {
    expect(csvCell(text)).toBe(cell)
  })

  test.each(SEPARATORS)('no name makes a cell a formula to a reader that splits at %j', async (separator) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(hostile, hostile, hostile), { maxLength: 3 }), async (names) => {
        const records = names.map(([actor, subject, detail], index) => ({
          ...record(index, subject),
          ...{ actor, details: { note: detail, [detail]: [detail, -1] } },
        }))
        const page = async () => ({ records: records as unknown as AuditRecord[], nextPageToken: '' })
        const parts = await exported(page, 'csv', () => {}, new AbortController().signal)
        const text = parts.join('').replace(/^\ufeff/, '')
        for (const quotes of [true, false])
          expect(cellsOf(text, separator, quotes).filter((cell) => FORMULA.test(cell))).toEqual([])
      }),
      { numRuns: 2_000 },
    )
  })

  test('a text is found again behind its apostrophes', () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: 'binary' })), (text) => {
        const [cell = '', ...others] = cellsOf(csvCell(text), ',')
        expect(others).toEqual([])
        expect(cell.replaceAll("'", '')).toBe(text.replaceAll("'", ''))
      }),
    )
  })
})

const record = (sequence: number, subject = 'ci'): AuditRecord =>
  ({
    ...{
      sequence,
      actor: '=anna',
      action: 'service_user.set_roles',
      account: '234567',
      subject,
      subjectId: '5e3d',
    },
    at: new Date(1_700_000_000_005),
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
      `${CSV_HEAD}"2","2023-11-14T22:13:20.005Z","'=anna","service_user.set_roles","234567","ci","5e3d","{""roles"":[""iam.admin""]}"\r\n` +
        `"1","2023-11-14T22:13:20.005Z","'=anna","service_user.set_roles","234567","a,b","5e3d","{""roles"":[""iam.admin""]}"\r\n`,
    )
  })

  test('as lines of JSON changes nothing', async () => {
    const parts = await exported(twoPages, 'jsonl', () => {}, new AbortController().signal)
    const lines = parts.join('').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).subject)).toEqual(['ci', 'a,b'])
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      actor: '=anna',
      subject_id: '5e3d',
      details: { roles: ['iam.admin'] },
    })
  })

  test('stops when it is cancelled', async () => {
    const controller = new AbortController()
    const run = exported(twoPages, 'csv', () => controller.abort(), controller.signal)
    await expect(run).rejects.toThrow()
  })
})

test.each([
  ['control_panel_user 17764986fd64972e (olga)', 'olga', '17764986fd64972e'],
  ['service_user 5e3d (ci (old)\n)', 'ci (old)\n', '5e3d'],
  ['caller prometheus', 'caller prometheus', ''],
  ['command line (root)', 'command line (root)', ''],
  ['service_user 5e3d', 'service_user 5e3d', ''],
])('%j is called %j in the list', (actor, name, id) => {
  expect(namedActor(actor)).toEqual({ name, id })
})

test.each<[what: string, record: Partial<AuditRecord>, name: string, id: string]>([
  ['a user', { subject: 'ci', subjectId: '5e3d' }, 'ci', '5e3d'],
  ['a user of an earlier version', { subject: 'ci', subjectId: '' }, 'ci', ''],
  [
    'a key',
    { action: 'static_token.create', subject: 'k', subjectId: 'T', details: { user: 'olga' } },
    ...(['k of olga', 'T'] as const),
  ],
  [
    'a key that is revoked',
    { action: 'token.revoke', subject: 'k', subjectId: 'T', details: { user: 'olga', user_id: 'O' } },
    ...(['k of olga', 'T'] as const),
  ],
  [
    'another token',
    { action: 'token.revoke', subject: 'T', subjectId: 'T', details: { user: 'ci' } },
    ...(['Token of ci', 'T'] as const),
  ],
  [
    'another token of an unknown user',
    { action: 'token.revoke', subject: 'T', subjectId: 'T', details: {} },
    ...(['T', 'T'] as const),
  ],
  [
    'a key of an earlier version',
    { action: 'static_token.create', subject: 'T', subjectId: '', details: { user: 'olga', name: 'k' } },
    ...(['k of olga', 'T'] as const),
  ],
  [
    'a revocation of an earlier version',
    { action: 'token.revoke', subject: 'T', subjectId: '' },
    ...(['T', 'T'] as const),
  ],
])('%s is named, with its id', (_what, given, name, id) => {
  expect(namedSubject({ action: 'service_user.delete', ...given } as AuditRecord)).toEqual({ name, id })
})
