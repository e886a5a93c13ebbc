/** The elements of the control panel's pages: links, menus, passwords, lists and dates. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PANEL_PAGES, type PanelPage, routeOf, secretOf } from '../../../console/model/link.ts'
import { hashOfRoute } from '../../../console/model/routes.ts'
import { viewOf } from '../../../console/model/view.ts'
import { dayOf, distanceOf, momentOf } from '../../../console/panel/model/dates.ts'
import { ApiError } from '../../../console/panel/model/errors.ts'
import { accountOf, menuOf } from '../../../console/panel/model/pages.ts'
import {
  arrived,
  failed,
  loading,
  NOTHING_YET,
  wantsMore,
  withFirst,
} from '../../../console/panel/model/paging.ts'
import { faultOf, strengthOf } from '../../../console/panel/model/passwords.ts'
import type { CallerRights, Who } from '../../../console/panel/model/wire.ts'
import { ANNA } from '../../support/console/panel.ts'

describe('links', () => {
  test.each<[hash: string, page: PanelPage, given: Record<string, string>]>([
    ['#/overview', 'overview', {}],
    ['#/iam/service-users?user=ci%20one', 'iam/service-users', { user: 'ci one' }],
    ['#/audit?actor=anna&since=2026-11-01', 'audit', { actor: 'anna', since: '2026-11-01' }],
  ])('%s', (hash, page, given) => {
    expect(routeOf(hash)).toEqual({ page, given })
    expect(hashOfRoute({ page, given })).toBe(hash)
  })

  test.each(['', '#/matrix', '#/try?api=cdn', '#/elsewhere', '#/overview/', '#/iam'])(
    '`%s` is not a link of the control panel',
    (hash) => {
      expect(routeOf(hash)).toBe(undefined)
    },
  )

  test.each(PANEL_PAGES)('%s is not a view of the explorer', (page) => {
    expect(viewOf(`#/${page}`)).toEqual(viewOf(''))
  })

  test('a secret is in no link that the page makes or keeps', () => {
    const hash = '#/invitation?secret=s3cret'
    expect(secretOf(hash)).toEqual({ secret: 's3cret', without: '#/invitation' })
    expect(routeOf(hash)).toEqual({ page: 'invitation', given: {} })
    expect(hashOfRoute({ page: 'link', given: { secret: 's3cret' } })).toBe('#/link')
    for (const other of ['#/overview?secret=a', '#/link', '#/link?secret=', '#/matrix?secret=a'])
      expect(secretOf(other), other).toBe(undefined)
  })

  test('a link leads back to its page, and any text is understood', () => {
    const values = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,8}$/).filter((name) => name !== 'secret'),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(fc.constantFrom(...PANEL_PAGES), values, (page, given) => {
        expect(routeOf(hashOfRoute({ page, given }))).toEqual({ page, given })
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const route = routeOf(`#/audit?${text}`)
        expect(route && routeOf(hashOfRoute(route))).toEqual(route)
      }),
    )
  })
})

describe('menus', () => {
  const operator = (rights: Partial<CallerRights>): Who => ({
    type: 'operator',
    name: 'ops',
    rights: { everything: false, read: false, revoke: false, administer: [], ...rights },
  })
  const user = (administrator: boolean): Who => ({ ...ANNA, owner: false, administrator }) as Who
  const OWN = [
    'overview',
    'profile/access/keys',
    'profile/access/tokens',
    'profile/security',
    'profile/sessions',
  ]
  const IAM = ['iam/service-users', 'iam/users']
  const ACCOUNT = ['overview', 'projects', 'access-limits', 'audit']
  const OPERATOR = ['accounts', 'callers', 'keys', 'decisions', 'matrix'].map((each) => `operator/${each}`)

  test.each<[who: string, seen: Who, account: string | undefined, pages: string[]]>([
    ['a user', user(false), '123456', OWN],
    ['the owner or iam.admin', user(true), '123456', [...ACCOUNT, ...OWN.slice(1), ...IAM]],
    ['an operator', operator({ everything: true }), undefined, ['overview', ...OPERATOR]],
    ['an operator with an account', operator({ read: true }), '1', [...ACCOUNT, ...IAM, ...OPERATOR]],
    ['who administers it', operator({ administer: ['1'] }), '1', [...ACCOUNT, ...IAM, 'operator/accounts']],
    ['who administers another', operator({ administer: ['2'] }), '1', ['overview', 'operator/accounts']],
    ['who may only revoke', operator({ revoke: true }), '1', ['overview', 'operator/accounts']],
  ])('%s', (_, who, account, pages) => {
    expect(menuOf(who, account, PANEL_PAGES).flatMap((group) => group.pages)).toEqual(pages)
  })

  test('only pages that exist, and no empty group', () => {
    expect(menuOf(ANNA, '123456', ['iam/users'])).toEqual([{ group: 'iam', pages: ['iam/users'] }])
  })

  test('a user has their own account, whatever the link says', () => {
    const route = { page: 'projects', given: { account: '9' } } as const
    expect([accountOf(ANNA, route), accountOf(operator({}), route)]).toEqual(['123456', '9'])
  })
})

describe('passwords', () => {
  const holder = { account: '123456', user: 'Anna' }
  test.each<[password: string, fault: string | undefined]>([
    ['short', 'short'],
    ['elevenchars', 'short'],
    ['twelve chars', undefined],
    ['a'.repeat(20), 'repeated'],
    ['my number is 123456', 'account'],
    ['i am ANNA of the house', 'name'],
    [`${'x'.repeat(1_023)}ab`, 'long'],
    // Characters, and not what a computer counts them in.
    ['🙂'.repeat(11), 'short'],
  ])('%j: %s', (password, fault) => {
    expect(faultOf(password, holder)).toBe(fault)
  })

  test.each([
    ['aaaaaaaaaaab', 'weak'],
    ['horse battery', 'fair'],
    ['correct horse battery staple', 'good'],
  ])('%j is %s', (password, strength) => {
    expect(strengthOf(password)).toBe(strength)
  })
})

test('a list asks for the next page when its end comes near, once, and not after a fault', () => {
  expect(wantsMore(NOTHING_YET, 0)).toBe(true)
  expect(wantsMore(loading(NOTHING_YET), 0)).toBe(false)
  const one = arrived(
    NOTHING_YET,
    { rows: Array.from({ length: 200 }, (_, row) => row), nextPageToken: 'n' },
    String,
  )
  expect([wantsMore(one, 20), wantsMore(one, 180)]).toEqual([false, true])
  expect(wantsMore(failed(one, new ApiError('R', '')), 200)).toBe(false)
  const two = arrived(loading(one), { rows: [200], nextPageToken: '' }, String)
  expect([two.rows.length, two.next, wantsMore(two, 200)]).toEqual([201, undefined, false])
})

test('a row that was put in front is not brought once more by the page that has it', () => {
  const loaded = arrived(NOTHING_YET, { rows: ['a', 'b'], nextPageToken: 'n' }, String)
  const added = withFirst(loading(loaded), 'c')
  const page = { rows: ['c', 'd'], nextPageToken: '' }
  expect(arrived(added, page, String).rows).toEqual(['c', 'a', 'b', 'd'])
})

test('dates', () => {
  const words = { language: 'en', now: 'just now' }
  const nowMs = Date.UTC(2026, 10, 22, 12)
  const at = (ms: number) => distanceOf(nowMs + ms, nowMs, words)
  expect([at(0), at(-59_000), at(-300_000), at(3 * 3_600_000), at(-86_400_000)]).toEqual([
    ...['just now', 'just now', '5 minutes ago', 'in 3 hours', 'yesterday'],
  ])
  expect(momentOf(nowMs, 'en-GB', 'UTC')).toBe('22 Nov 2026, 12:00')
  expect(dayOf('2026-11-22', 'en-GB')).toBe('22 Nov 2026')
})
