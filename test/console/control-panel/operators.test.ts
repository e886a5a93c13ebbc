/**
 * The operators' views in the page, without a browser: details of a decision, the way to its cell, and the
 * accounts that are asked for.
 */
import { expect, test } from 'vitest'
import { viewOf } from '../../../console/model/view.ts'
import { fetchAccounts } from '../../../console/panel/model/accounts.ts'
import { accountOf, callerOf, cellOf, membersOf, timeOf } from '../../../console/panel/model/decisions.ts'
import { ApiError } from '../../../console/panel/model/errors.ts'
import type { Decision } from '../../../console/panel/model/tail.ts'
import type { OperatorWho } from '../../../console/panel/model/wire.ts'
import { texts } from '../../../console/texts/en/operators.ts'

const DECISION: Decision = {
  ...{ time: '2026-11-22T09:44:34.123Z', protocol: 'grpc', caller: {}, api: 'cdn', kind: 'static_token' },
  ...{ allowed: false, reason: 'TOKEN_KIND_NOT_ACCEPTED', strict: false, matrix: 'sha256:0', conflicts: [] },
  ...{ asked: 'claims', latency_us: 1_234 },
}

test.each<[claim: string, more: object, opened: object, mode: string]>([
  ['a cell', {}, { api: 'cdn', kind: 'static_token' }, 'resolved'],
  ['a cell of strict mode', { strict: true }, { api: 'cdn', kind: 'static_token' }, 'strict'],
  ['an API, where the kind is not known', { kind: undefined }, { api: 'cdn', kind: undefined }, 'resolved'],
  [
    'an id with what links are made of',
    { api: 'a&b=#?' },
    { api: 'a&b=#?', kind: 'static_token' },
    'resolved',
  ],
  ['half a character', { api: 'a\ud800' }, { api: 'a\ufffd', kind: 'static_token' }, 'resolved'],
])('the link of a decision leads the explorer to %s', (_claim, more, opened, mode) => {
  const decision = { ...DECISION, ...more } as Decision
  expect(viewOf(cellOf(decision))).toMatchObject({ page: 'matrix', opened, mode })
})

test('the details have what the line has, in words', () => {
  expect(membersOf(DECISION).map(([name]) => name)).toEqual([
    ...['Time', 'Reason', 'API', 'Kind of token', 'Asked over', 'Caller', 'Mode', 'Matrix', 'Took'],
  ])
  const all = membersOf({
    ...DECISION,
    ...{
      caller: { name: 'edge', address: '192.0.2.1' },
      conflicts: ['a', 'b'],
      strict: true,
      dropped: 1_000,
    },
    ...{ scope: { account: '1', project: 'web' }, target: { account: '2' }, sample_percent: 10 },
    subject: { id: 'u', type: 'service_user', account: '1' },
  })
  expect(Object.fromEntries(all)).toMatchObject({
    ...{ Caller: 'edge, 192.0.2.1', Conflicts: 'a, b', Mode: 'strict', Took: '1,234 µs' },
    ...{ 'Token bound to': '1, project web', Target: '2', User: 'service_user u' },
    ...{ 'Stands for': '10 of 100 like it have a line', 'Without a line before it': '1,000' },
  })
  expect([callerOf(DECISION), accountOf(DECISION)]).toEqual(['not identified', ''])
  expect(accountOf({ ...DECISION, target: { account: '2' } })).toBe('2')
  expect(timeOf(DECISION)).toMatch(/^\d\d:44:34\.123$/)
})

test('the page of accounts says what is left of deletions', () => {
  const none = { users: 0, projects: 0 }
  const nothing = { unmarked: none, due: none, kept: none }
  const { left } = texts.accounts
  expect(left(nothing)).toBeUndefined()
  expect(left({ ...nothing, kept: { users: 1, projects: 0 } })).toBe(
    'Left of deletions: 1 user and 0 projects kept for now.',
  )
  expect(left({ ...nothing, unmarked: { users: 5_201, projects: 1 }, due: { users: 2, projects: 3 } })).toBe(
    'Left of deletions: 5,201 users and 1 project to mark; 2 users and 3 projects to remove.',
  )
})

function who(rights: Partial<OperatorWho['rights']>): OperatorWho {
  const none = { everything: false, read: false, revoke: false, administer: [] }
  return { type: 'operator', name: 'ops', rights: { ...none, ...rights } }
}

const PAGE = { pageToken: 'next', pageSize: 200, signal: new AbortController().signal }

/** A directory with two accounts, which notes what is asked. */
function newDirectory() {
  const asked: unknown[] = []
  const directory = {
    listAccounts: async (request: unknown) => {
      asked.push(request)
      return { accounts: [{ account: '1' }, { account: '2' }], nextPageToken: 'more' }
    },
    getAccount: async ({ account }: { account: string }) => {
      asked.push(account)
      if (account === 'gone') throw new ApiError('NOT_FOUND', '')
      if (account === 'away') throw new ApiError('UNREACHABLE', '')
      return { account: { account } }
    },
  } as unknown as Parameters<typeof fetchAccounts>[0]
  return { directory, asked }
}

test.each([{ everything: true }, { read: true }])(
  'a caller with %j sees a page of all accounts',
  async (rights) => {
    const { directory, asked } = newDirectory()
    const { rows, nextPageToken } = await fetchAccounts(directory, who(rights), PAGE)
    expect([rows.map(({ account }) => account), nextPageToken]).toEqual([['1', '2'], 'more'])
    expect(asked).toEqual([{ pageToken: 'next', pageSize: 200 }])
  },
)

test('a caller with `administer` sees those accounts that are there, and asks for no list', async () => {
  const { directory, asked } = newDirectory()
  const { rows, nextPageToken } = await fetchAccounts(directory, who({ administer: ['1', 'gone'] }), PAGE)
  expect([rows.map(({ account }) => account), nextPageToken]).toEqual([['1'], ''])
  expect(asked).toEqual(['1', 'gone'])
  await expect(fetchAccounts(directory, who({ administer: ['away'] }), PAGE)).rejects.toThrow(ApiError)
})
