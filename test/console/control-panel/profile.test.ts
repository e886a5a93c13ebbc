/** The contents of the pages of the profile: keys, last uses, masks, ways to log in, sessions, squares. */
import * as fc from 'fast-check'
import { encode } from 'uqr'
import { describe, expect, test } from 'vitest'
import { allPages } from '../../../console/panel/model/all-pages.ts'
import { clientOf } from '../../../console/panel/model/client.ts'
import {
  codeOf,
  grouped,
  passkeyAddress,
  passwordFaults,
  waysIn,
} from '../../../console/panel/model/factors.ts'
import {
  type ApiKey,
  fileNameOf,
  keyNameFault,
  lastUseOf,
  masked,
  nameFault,
  noteFault,
  shownKeys,
} from '../../../console/panel/model/keys.ts'
import { type OwnSession, shownSessions } from '../../../console/panel/model/own.ts'
import { QUIET, squaresPath } from '../../../console/panel/model/squares.ts'
import type { Factors } from '../../../console/panel/model/wire.ts'
import { texts } from '../../../console/texts/en/profile.ts'
import { isName } from '../../../sidecar/base/name.ts'

const key = (id: string, change: Partial<ApiKey> = {}): ApiKey => ({
  ...{ id, name: `key ${id}`, lastFour: 'Gk3x', note: '', kind: 'static_token' },
  ...{ createdAtMs: Number(id), revokedAtMs: undefined, lastUsedDay: '' },
  ...change,
})

describe('API keys', () => {
  test('a note may be empty, and else has the characters of a name', () => {
    expect(['', 'for the reports', 'x\u200b'].map(noteFault)).toEqual([
      ...[undefined, undefined, texts.names.invisible],
    ])
  })

  const keys = [key('1'), key('3', { revokedAtMs: 9 }), key('2')]
  const none = () => false

  test.each<[claim: string, revoked: boolean, kept: (id: string) => boolean, ids: string[]]>([
    ['active ones are shown, newest first', false, none, ['2', '1']],
    ['all of them where that is asked for', true, none, ['3', '2', '1']],
    ['one that was revoked on this page stays', false, (id) => id === '3', ['3', '2', '1']],
  ])('%s', (_claim, revoked, kept, ids) => {
    expect(shownKeys(keys, { revoked, kept }).map(({ id }) => id)).toEqual(ids)
  })

  test.each<[name: string, fault: string | undefined]>([
    ['ci', undefined],
    ['key 3', undefined],
    ['<b>markup</b> & "quotes"', undefined],
    ['колобок 🥐', undefined],
    ['', texts.names.empty],
    [' \t', texts.names.empty],
    ['x'.repeat(255), undefined],
    ['x'.repeat(256), texts.names.long],
    ['a\u202eb', texts.names.invisible],
    ['a\nb', texts.names.invisible],
    ['a\u2800b', texts.names.invisible],
    ['a\u00a0b', texts.names.invisible],
    ['ci ', texts.names.blanks],
    ['caf\u0065\u0301', texts.names.composed],
    ['key 1', texts.keys.taken],
  ])('name %j', (name, fault) => {
    expect(keyNameFault(name, keys)).toBe(fault)
  })

  test('is what the sidecar takes for one', () => {
    const character = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 })
    const name = fc.string({ unit: fc.oneof(fc.constantFrom(...' a\u0301\u2800\ufe0f\u00a0é'), character) })
    fc.assert(
      fc.property(name, (text) => {
        expect(nameFault(text) === undefined).toBe(isName(text))
      }),
    )
  })

  test.each<[day: string | null | undefined, use: unknown]>([
    ['2026-11-22', 'today'],
    ['2026-11-21', 'yesterday'],
    ['2026-11-20', { day: '2026-11-20' }],
    ['', 'none'],
    [null, 'none'],
    [undefined, 'none'],
  ])('last use %j', (day, use) => {
    expect(lastUseOf(day, Date.UTC(2026, 10, 22, 0, 5))).toEqual(use)
  })

  test('a file has a name that every system takes', () => {
    const names = ['ci', 'a/b\\c: d', '../../etc/passwd', '🥐', 'x'.repeat(255)].map(fileNameOf)
    expect(names).toEqual(['ci.txt', 'a-b-c-d.txt', 'etc-passwd.txt', 'key.txt', `${'x'.repeat(60)}.txt`])
  })

  test('of a masked secret only the end is seen, and of a short one nothing', () => {
    expect(masked('secret-secret-secret-abcd')).toBe('••••••••••••abcd')
    expect(masked('secret')).toBe('••••••••••••')
  })

  test('every page of the list is asked for', async () => {
    const asked: string[] = []
    const pages: Record<string, { rows: number[]; nextPageToken: string }> = {
      '': { rows: [1, 2], nextPageToken: 'a' },
      a: { rows: [], nextPageToken: 'b' },
      b: { rows: [3], nextPageToken: '' },
    }
    const all = await allPages(async (pageToken) => {
      asked.push(pageToken)
      return pages[pageToken] as (typeof pages)[string]
    })
    expect([all, asked]).toEqual([
      [1, 2, 3],
      ['', 'a', 'b'],
    ])
  })
})

describe('a user’s ways to log in', () => {
  const passkey = { id: 'p', name: 'phone', createdAtMs: 0, lastUsedDay: null }
  const factors = (password: boolean, code: boolean, passkeys: number): Factors => ({
    password: password ? { changedAtMs: 0 } : null,
    code: code ? { createdAtMs: 0 } : null,
    passkeys: Array.from({ length: passkeys }, () => passkey),
  })

  test.each<[has: Factors, ways: string]>([
    [factors(false, false, 0), ''],
    [factors(true, false, 0), 'password'],
    [factors(true, true, 0), 'code'],
    [factors(true, false, 1), 'passkey'],
    [factors(true, true, 2), 'passkey code'],
    [factors(false, false, 1), 'passkey'],
    [factors(false, true, 0), ''],
  ])('%j', (has, ways) => {
    expect(waysIn(has).join(' ')).toBe(ways)
    expect(texts.security.ways).toHaveProperty([ways === '' ? 'none' : ways])
  })

  test.each([
    ['123456', '123456'],
    [' 123 456 ', '123456'],
    ['123-456', '123456'],
    ['12345', undefined],
    ['1234567', undefined],
    ['12345a', undefined],
  ])('code %j', (typed, code) => {
    expect(codeOf(typed)).toBe(code)
  })

  test('a secret is shown in groups of four', () => {
    expect([grouped('ABCDEFGHIJ'), grouped('ABCD'), grouped('')]).toEqual(['ABCD EFGH IJ', 'ABCD', ''])
  })

  test.each([
    ['http://127.0.0.1:8180/console/#/profile/security', 'http://localhost:8180/console/#/profile/security'],
    ['http://[::1]:8180/console/#/x', 'http://localhost:8180/console/#/x'],
    ['https://127.0.0.1/console/', 'https://localhost/console/'],
    // Another machine: `localhost` would be the reader's own.
    ['https://203.0.113.7/console/', undefined],
    ['https://127.0.0.1.example/console/', undefined],
  ])('passkeys for %s', (address, localhost) => {
    expect(passkeyAddress(new URL(address))).toBe(localhost)
  })

  const holder = { account: '123456', user: 'anna' }
  const GOOD = 'nine green bottles'
  test.each<[current: string, password: string, again: string, isNew: boolean, wrong: string[]]>([
    ['old', GOOD, GOOD, false, []],
    ['', GOOD, GOOD, true, []],
    ['', GOOD, GOOD, false, ['current']],
    [GOOD, GOOD, GOOD, false, ['password']],
    ['old', 'short', 'short', false, ['password']],
    ['old', 'a password of anna', 'a password of anna', false, ['password']],
    ['old', GOOD, `${GOOD}!`, false, ['again']],
  ])('password %j → %j (%j)', (current, password, again, isNew, wrong) => {
    const faults = Object.entries(passwordFaults({ current, password, again }, holder, isNew))
    expect(faults.filter(([, fault]) => fault !== undefined).map(([field]) => field)).toEqual(wrong)
  })
})

describe('sessions', () => {
  const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  test.each([
    [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Linux'],
    [
      `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
      'Edge on Windows',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari on iPhone',
    ],
    [
      `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15`,
      'Safari on macOS',
    ],
    ['<script>alert(1)</script>', 'Unknown browser'],
    ['', 'Unknown browser'],
  ])('%s', (userAgent, name) => {
    expect(clientOf(userAgent)).toBe(name)
  })

  test('this one comes first, then those that were used last', () => {
    const session = (id: string, lastUsedAtMs: number): OwnSession => ({
      ...{ id, lastUsedAtMs, address: '', client: '' },
      ...{ createdAtMs: undefined, endsAtMs: undefined },
    })
    const all = [session('old', 1), session('here', 2), session('new', 3)]
    expect(shownSessions(all, 'here').map(({ id }) => id)).toEqual(['here', 'new', 'old'])
  })
})

describe('a QR code', () => {
  test('neighbours are one rectangle, behind the quiet zone', () => {
    expect(
      squaresPath([
        [true, true, false, true],
        [false, false, false, false],
        [false, true, false, false],
      ]),
    ).toBe('M4 4h2v1h-2zM7 4h1v1h-1zM5 6h1v1h-1z')
  })

  test('every black square of a code is in the path, and no other', () => {
    const { data } = encode('otpauth://totp/Portcullis:anna?secret=JBSWY3DPEHPK3PXP', { border: 0 })
    const drawn = data.map((row) => row.map(() => false))
    for (const [, x, y, length] of squaresPath(data).matchAll(/M(\d+) (\d+)h(\d+)/g))
      for (let step = 0; step < Number(length); step++)
        (drawn[Number(y) - QUIET] as boolean[])[Number(x) - QUIET + step] = true
    expect(drawn).toEqual(data)
  })
})
