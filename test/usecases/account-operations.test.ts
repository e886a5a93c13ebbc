/** The effects and answers of each operation on accounts, their projects and their addresses. */

import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { THIS_MACHINE } from '../../sidecar/base/ip-address.ts'
import { ChangeWriter } from '../../sidecar/directory/change-writer.ts'
import type { PresentedCredentials } from '../../sidecar/usecases/requester.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byIamToken, byToken } from '../support/sidecar/services.ts'

const HOME = '4711'
const NOW_MS = 1_800_000_000_000
const { ask, done, listed, administration, panelToken, run } = await openOffice(HOME, () => NOW_MS)
const root = byToken('root')

/** A new account for each test. */
let account = ''
let count = 0
beforeEach(async () => {
  account = `account-${++count}`
  await run(TESTER, 'createAccount', { account })
})

const actionsIn = async (of = account) =>
  (await administration.records.audit(of, { after: '0', size: 100 })).map(({ action }) => action)
const missing = (asked: Promise<unknown>) => expect(asked).rejects.toMatchObject({ reason: 'NOT_FOUND' })

describe('accounts', () => {
  test('are created, read, listed and deleted', async () => {
    const other = `${account}-other`
    const created = await done('createAccount', { account: other })
    expect(created).toEqual(await run(TESTER, 'getAccount', { account: other }))
    expect(await done('getAccount', { account: other })).toEqual(created)
    const all = await listed('listAccounts', {})
    expect(all).toEqual(await administration.records.accounts({ after: '', size: 100 }))
    expect(all).toHaveLength(count + 2)
    await run(TESTER, 'createProject', { account: other, name: 'alpha' })
    expect(await done('deleteAccount', { account: other })).toEqual({ projects: 1, users: 0 })
    await missing(run(TESTER, 'getAccount', { account: other }))
  })

  test('are enabled and disabled, or stay as they are', async () => {
    const record = await run(TESTER, 'getAccount', { account })
    for (const enabled of [false, true]) {
      expect(await done('updateAccount', { account, enabled })).toEqual({ ...record, enabled })
      expect(await done('updateAccount', { account, enabled: undefined })).toEqual({ ...record, enabled })
      expect(await run(TESTER, 'getAccount', { account })).toEqual({ ...record, enabled })
    }
    expect(await actionsIn()).toEqual(['account.create', 'account.disable', 'account.enable'])
  })
})

describe('projects', () => {
  test('are created, read, listed and deleted', async () => {
    const created = await done('createProject', { account, name: 'beta' })
    expect(created).toEqual(await run(TESTER, 'getProject', { account, name: 'beta' }))
    expect(await done('getProject', { account, name: 'beta' })).toEqual(created)
    await run(TESTER, 'createProject', { account, name: 'alpha' })
    expect(await listed('listProjects', { account })).toEqual([
      await run(TESTER, 'getProject', { account, name: 'alpha' }),
      created,
    ])
    expect(await done('deleteProject', { account, name: 'beta' })).toBeUndefined()
    await missing(run(TESTER, 'getProject', { account, name: 'beta' }))
  })

  test('are enabled and disabled, or stay as they are', async () => {
    const [name, record] = ['alpha', await run(TESTER, 'createProject', { account, name: 'alpha' })]
    for (const enabled of [false, true]) {
      expect(await done('updateProject', { account, name, enabled })).toEqual({ ...record, enabled })
      expect(await done('updateProject', { account, name, enabled: undefined })).toEqual({
        ...record,
        enabled,
      })
      expect(await run(TESTER, 'getProject', { account, name })).toEqual({
        ...record,
        enabled,
      })
    }
    expect(await actionsIn()).toEqual([
      ...['account.create', 'project.create', 'project.disable', 'project.enable'],
    ])
  })
})

describe('address restrictions', () => {
  const HERE = { clientAddress: '192.0.2.7' } as const
  const [INSIDE, OUTSIDE] = [['192.0.2.0/24'], ['198.51.100.0/24']]
  let owner: (change?: Partial<PresentedCredentials>) => PresentedCredentials
  beforeAll(async () => {
    const { value } = await panelToken('owner')
    owner = (change) => ({ ...byIamToken(value), ...HERE, ...change })
  })
  beforeEach(() => run(TESTER, 'setAddressRestriction', { account: HOME, ranges: [] }))

  const set = (
    credentials: PresentedCredentials,
    ranges: readonly string[],
    allowExcludingRequester = false,
  ) => ask(credentials, 'setAddressRestriction', { account: HOME, ranges, allowExcludingRequester })
  const excluded = (address: string) =>
    `REQUESTER_EXCLUDED: the ranges exclude the address of the requester, ${address}; set \`allow_excluding_requester\` if that is intended`

  test('are set and read', async () => {
    expect(await set(owner(), ['192.0.2.9/24'])).toEqual({ ranges: INSIDE })
    expect(await done('getAddressRestriction', { account: HOME })).toEqual({ ranges: INSIDE })
  })

  test('exclude the requester only where that is meant; an operator is never excluded', async () => {
    expect(await set(owner(), OUTSIDE)).toBe(excluded('192.0.2.7'))
    expect(await set(owner({ clientAddress: undefined }), OUTSIDE)).toBe(excluded('which is unknown'))
    expect(await done('getAddressRestriction', { account: HOME })).toEqual({ ranges: [] })
    expect(await set(owner(), OUTSIDE, true)).toEqual({ ranges: OUTSIDE })
    expect(await set(root, ['203.0.113.0/24'])).toEqual({ ranges: ['203.0.113.0/24'] })
  })

  test('are read from text as a whole: a text that is not a range is named by its place', async () => {
    const expected = 'expected an IPv4 or IPv6 address or range, for example 10.0.0.0/8'
    const refusal = `INVALID_ARGUMENT: ranges[1]: ${expected}; ranges[2]: ${expected}`
    const request = { account: HOME, ranges: ['10.0.0.1', '10.0.0.0/33', 'host.example'] }
    expect(await set(root, request.ranges)).toBe(refusal)
    expect(await ask(root, 'previewAddressRestriction', request)).toBe(refusal)
    const [most, tooMany] = [1_000, 1_001].map((count) => Array<string>(count).fill('10.0.0.0/8'))
    expect(await ask(root, 'previewAddressRestriction', { ...request, ranges: most ?? [] })).toMatchObject({
      requester: { allowed: true },
    })
    expect(await set(root, tooMany ?? [])).toBe(
      'INVALID_ARGUMENT: ranges: expected at most 1000 ranges, not 1001',
    )
    expect(await done('getAddressRestriction', { account: HOME })).toEqual({ ranges: [] })
  })

  test('are looked at before, for those whom the trail of the account knows', async () => {
    await run(TESTER, 'updateControlPanelUser', { account: HOME, name: 'tester', roles: ['iam.admin'] })
    const tester = { ...byIamToken((await panelToken('tester')).value), ...HERE }
    await ask(tester, 'createProject', { account: HOME, name: 'seen' })
    const preview = (given: PresentedCredentials) =>
      ask(given, 'previewAddressRestriction', { account: HOME, ranges: OUTSIDE })
    const others = [{ who: 'tester', address: '192.0.2.7', lastSeenMs: NOW_MS, allowed: false }]
    expect(await preview(owner())).toMatchObject({ requester: { allowed: false }, others, truncated: false })
    await run(TESTER, 'setAddressRestriction', { account: HOME, ranges: OUTSIDE })
    // An owner asks from any address.
    expect(await preview(owner())).toMatchObject({ others })
    expect(await preview(tester)).toMatch(/^ADDRESS_NOT_ALLOWED/)
    expect(await ask(root, 'previewAddressRestriction', { account: 'none', ranges: OUTSIDE })).toMatch(
      /^NOT_FOUND/,
    )
  })

  /** Users of the account who came from somewhere. */
  const KNOWN = [
    ['owner', '192.0.2.7'],
    ['owner', '198.51.100.1'],
    ['tester', '192.0.2.7'],
    ['tester', '198.51.100.2'],
  ] as const
  const others = (ranges: readonly string[], known: readonly (readonly [string, string])[] = KNOWN) =>
    known.map(([who, address]) => {
      const allowed = ranges === INSIDE ? address.startsWith('192.') : address.startsWith('198.')
      return { who, address, lastSeenMs: NOW_MS, allowed }
    })
  /** @param known of how many the directory knows */
  const preview = async (
    credentials: PresentedCredentials,
    ranges: readonly string[],
    known: readonly (readonly [string, string])[] = KNOWN,
  ) => {
    const seen = known.map(([userName, address]) => ({ userName, address, lastSeenMs: NOW_MS }))
    const knowing = vi
      .spyOn(administration.records, 'knownAddresses')
      .mockResolvedValue({ known: seen, truncated: true })
    const outcome = await ask(credentials, 'previewAddressRestriction', { account: HOME, ranges })
    expect(knowing).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ account: HOME }), NOW_MS)
    knowing.mockRestore()
    return outcome
  }

  test('are looked at before: the requester, and all others', async () => {
    const [, ...rest] = KNOWN
    for (const ranges of [INSIDE, OUTSIDE]) {
      expect(await preview(owner(), ranges)).toEqual({
        requester: { address: '192.0.2.7', allowed: ranges === INSIDE },
        ...{ others: others(ranges, rest), truncated: true },
      })
      const from = { protocol: 'grpc', address: '::ffff:192.0.2.7' } as const
      expect(await preview({ ...root, from }, ranges)).toEqual({
        requester: { address: '192.0.2.7', allowed: true },
        ...{ others: others(ranges), truncated: true },
      })
    }
    expect(await done('getAddressRestriction', { account: HOME })).toEqual({ ranges: [] })
  })

  test('are looked at where the address of the requester is not known, or written otherwise', async () => {
    expect(await preview(owner({ clientAddress: undefined }), INSIDE)).toEqual({
      requester: { address: '', allowed: false },
      ...{ others: others(INSIDE), truncated: true },
    })
    expect(await preview(owner({ clientAddress: '::ffff:192.0.2.7' }), INSIDE)).toMatchObject({
      requester: { address: '192.0.2.7', allowed: true },
      others: others(INSIDE).slice(1),
    })
  })

  test('name each user at each address once, and skip what is not an address', async () => {
    const seen = [
      ...([
        ['tester', 'unix socket'],
        ['tester', '::ffff:192.0.2.7'],
        ['tester', '192.0.2.7'],
      ] as const),
      ...([
        ['owner', 'somewhere'],
        ['pia', '192.0.2.7'],
      ] as const),
    ]
    expect(await preview(root, OUTSIDE, seen)).toMatchObject({
      others: [
        { who: 'tester', address: THIS_MACHINE },
        { who: 'tester', address: '192.0.2.7' },
        { who: 'pia', address: '192.0.2.7' },
      ],
    })
  })

  test('a program of this process is at no address, and may look and set', async () => {
    const request = { account: HOME, ranges: OUTSIDE }
    expect(await run(TESTER, 'previewAddressRestriction', request)).toMatchObject({
      requester: { address: '', allowed: true },
    })
    expect(await run(TESTER, 'setAddressRestriction', request)).toEqual({ ranges: OUTSIDE })
  })

  test('others have their turn after every twenty addresses', async () => {
    const many = Array.from({ length: 100 }, (_, index) => ['tester', `198.51.100.${index}`] as const)
    let [turns, over] = [0, false]
    const count = () => {
      turns++
      if (!over) setImmediate(count)
    }
    setImmediate(count)
    expect(await preview(root, OUTSIDE, many)).toMatchObject({ others: others(OUTSIDE, many) })
    over = true
    expect(turns).toBeGreaterThanOrEqual(5)
    expect(turns).toBeLessThan(20)
  })
})

test.each<[what: string, operation: 'createAccount' | 'createProject', request: object, outcome: string]>([
  ['an account without a number', 'createAccount', { account: '' }, 'INVALID_ARGUMENT: account: expected '],
  ['a project without a name', 'createProject', { name: '' }, 'INVALID_ARGUMENT: name: expected '],
])('%s is refused', async (_what, operation, request, outcome) => {
  const asked = { account, ...request } as never
  expect(await ask(root, operation, asked)).toEqual(expect.stringContaining(outcome))
})

test('an account and a project that are there already are named', async () => {
  expect(await ask(root, 'createAccount', { account })).toBe(
    `ALREADY_EXISTS: account \`${account}\` already exists`,
  )
  await done('createProject', { account, name: 'alpha' })
  expect(await ask(root, 'createProject', { account, name: 'alpha' })).toBe(
    'ALREADY_EXISTS: project `alpha` already exists',
  )
})

test('an account and a project that are enabled already are not enabled again', async () => {
  await done('createProject', { account, name: 'alpha' })
  const before = await actionsIn()
  const repeated = vi.spyOn(ChangeWriter.prototype, 'repeat')
  const { id } = await run(TESTER, 'getAccount', { account })
  await done('updateAccount', { account, enabled: true })
  await done('updateProject', { account, name: 'alpha', enabled: true })
  expect(await actionsIn()).toEqual(before)
  // Another host may not have heard of it yet.
  expect(repeated.mock.calls).toMatchObject([
    ['account.enable', { account, name: account, id }],
    ['project.enable', { account, name: 'alpha' }],
  ])
  repeated.mockRestore()
})
