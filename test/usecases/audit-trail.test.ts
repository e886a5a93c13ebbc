/** The audit trail as it is asked for: which records, in which direction, and for whom. */
import { beforeAll, describe, expect, test } from 'vitest'
import { trusted } from '../../sidecar/authority/actor.ts'
import type { OperationRequest } from '../../sidecar/usecases/administration/administer.ts'
import { keyIn, tokenOf } from '../../sidecar/usecases/administration/paging.ts'
import type { PresentedCredentials } from '../../sidecar/usecases/requester.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byIamToken, byToken } from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const clock = { nowMs: 1_800_000_000_000 }
const { ask, run } = await openOffice(ACCOUNT, () => clock.nowMs)
const [root, reader, clerk] = [byToken('root'), byToken('reader'), byToken('clerk')]

type Request = OperationRequest<'listAuditRecords'>

const ALL: Request = {
  ...{ account: ACCOUNT, actor: '', action: '', subject: '', sinceMs: undefined, untilMs: undefined },
  ...{ newestFirst: false, pageSize: 0, pageToken: '' },
}
const asked = (change: Partial<Request>, who = root) => ask(who, 'listAuditRecords', { ...ALL, ...change })

async function page(change: Partial<Request>, who?: PresentedCredentials) {
  const outcome = await asked(change, who)
  if (typeof outcome === 'string') throw new TypeError(outcome)
  return outcome
}
const tell = ({ action, subject }: { readonly action: string; readonly subject: string }) =>
  `${action} ${subject}`
const told = async (...about: Parameters<typeof page>) => (await page(...about)).items.map(tell)

let owner: PresentedCredentials
beforeAll(async () => {
  // An account of the same number, which another customer had before.
  await run(TESTER, 'deleteAccount', { account: ACCOUNT })
  await run(TESTER, 'createAccount', { account: ACCOUNT })
  await run(TESTER, 'createControlPanelUser', { account: ACCOUNT, name: 'olga', owner: true })
  const { value } = await run(TESTER, 'reissueControlPanelUserToken', { account: ACCOUNT, name: 'olga' })
  owner = byIamToken(value.reveal())
  for (const [actor, name] of [
    ['alice', 'alpha'],
    ['bob', 'beta'],
    ['alice', 'gamma'],
  ] as const) {
    clock.nowMs += 1_000
    await run(trusted(actor), 'createProject', { account: ACCOUNT, name })
  }
})

const CREATED = ['project.create alpha', 'project.create beta', 'project.create gamma']
const OWN = [
  ...[`account.create ${ACCOUNT}`, 'control_panel_user.create olga'],
  ...['control_panel_user.reissue_token olga', ...CREATED],
]

test('records from before the account are for operators who see everything, and for this process', async () => {
  const { items } = await run(TESTER, 'listAuditRecords', ALL)
  expect(items.map(tell)).toContain(`account.delete ${ACCOUNT}`)
  for (const who of [root, reader]) {
    const earlier = await told({}, who)
    expect(earlier.slice(-OWN.length)).toEqual(OWN)
    expect(earlier.slice(0, -OWN.length)).toContain(`account.delete ${ACCOUNT}`)
  }
  for (const who of [clerk, owner]) expect(await told({}, who)).toEqual(OWN)
})

test('records of every account are for operators who see everything', async () => {
  await run(TESTER, 'createAccount', { account: '4712' })
  for (const who of [root, reader]) {
    const all = await told({ account: undefined }, who)
    expect(all).toEqual(expect.arrayContaining([...OWN, 'account.create 4712']))
  }
  expect(await asked({ account: undefined }, clerk)).toMatch(/^CALLER_RIGHT_MISSING/)
  expect(await asked({ account: undefined }, owner)).toMatch(/^NOT_ADMINISTRATOR/)
})

test.each<[filter: Partial<Request>, found: readonly string[]]>([
  [{ actor: 'alice' }, ['project.create alpha', 'project.create gamma']],
  [{ action: 'project' }, CREATED],
  [{ subject: 'eta' }, ['project.create beta']],
  [{ sinceMs: 1_800_000_002_000 }, CREATED.slice(1)],
  [{ untilMs: 1_800_000_002_000, action: 'project' }, ['project.create alpha']],
  [{ untilMs: 1_800_000_002_000 }, OWN.slice(0, 4)],
  [{ actor: 'alice', subject: 'gam' }, ['project.create gamma']],
  [{ action: 'nothing' }, []],
])('of %j: %j', async (filter, found) => {
  expect(await told(filter, owner)).toEqual(found)
  expect(await told({ ...filter, newestFirst: true }, owner)).toEqual(found.toReversed())
})

test.each([false, true])('pages lead on in their direction; newest first: %s', async (newestFirst) => {
  const found: string[] = []
  let pageToken = ''
  do {
    const { items, nextPageToken } = await page({ newestFirst, pageSize: 1, pageToken }, owner)
    expect(items).toHaveLength(1)
    found.push(...items.map(tell))
    const after = items[0]?.sequence
    if (nextPageToken !== '') expect(keyIn(nextPageToken)).toBe(newestFirst ? `before ${after}` : `${after}`)
    pageToken = nextPageToken
  } while (pageToken !== '' && found.length < 20)
  expect(found).toEqual(newestFirst ? OWN.toReversed() : OWN)
})

const TEXT = 'at most 500 characters without NUL'
const TIME = 'a time between the years 1970 and 9999'
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')
const LATER = 'until: expected a time after `since`'

describe('a request', () => {
  test.each<[request: Partial<Request>, refusal: string]>([
    ...(['actor', 'action', 'subject'] as const).flatMap((field): [Partial<Request>, string][] => [
      [{ [field]: 'x'.repeat(501) }, `${field}: expected ${TEXT}`],
      [{ [field]: 'a\u0000b' }, `${field}: expected ${TEXT}`],
    ]),
    [{ sinceMs: -1 }, `since: expected ${TIME}`],
    [{ sinceMs: LAST_MS + 1 }, `since: expected ${TIME}`],
    [{ sinceMs: Number.NaN }, `since: expected ${TIME}`],
    [{ untilMs: -1 }, `until: expected ${TIME}`],
    [{ untilMs: LAST_MS + 1 }, `until: expected ${TIME}`],
    [{ sinceMs: 1000, untilMs: 1000 }, LATER],
    [{ sinceMs: 1000, untilMs: 999 }, LATER],
    [
      { actor: '\u0000', sinceMs: -1, untilMs: -2 },
      `actor: expected ${TEXT}; since: expected ${TIME}; until: expected ${TIME}; ${LATER}`,
    ],
    [{ pageSize: 1001 }, 'page_size: expected 0 (the default) to 1000'],
  ])('with %j is refused', async (request, refusal) => {
    expect(await asked(request)).toBe(`INVALID_ARGUMENT: ${refusal}`)
  })

  test.each<Partial<Request>>([
    ...(['actor', 'action', 'subject'] as const).map((field) => ({ [field]: 'x'.repeat(500) })),
    ...[{ sinceMs: 0 }, { sinceMs: LAST_MS }, { untilMs: 0 }, { untilMs: LAST_MS }],
    { sinceMs: 999, untilMs: 1000 },
  ])('with %j is answered', async (request) => {
    expect((await page(request)).nextPageToken).toBe('')
  })

  const NONE = 'page_token: expected the next_page_token of the previous response'
  const other = (newestFirst: boolean) =>
    `page_token: expected a token of the same direction; this one is of a list with newest_first ${newestFirst}`
  test.each<[key: string, newestFirst: boolean, refusal: string]>([
    ['before 1', false, other(true)],
    ['1', true, other(false)],
    ['1234567890123456', false, NONE],
    ['x1', false, NONE],
    ['1x', false, NONE],
    ['', false, ''],
    ['before ', true, NONE],
    ['xbefore 1', true, NONE],
    ['before x', true, NONE],
  ])('with the token of %j, newest first: %s', async (key, newestFirst, refusal) => {
    const outcome = await asked({ pageToken: tokenOf(key), newestFirst })
    if (refusal === '') expect(outcome).toBeTypeOf('object')
    else expect(outcome).toBe(`INVALID_ARGUMENT: ${refusal}`)
  })

  test('with the longest token is answered', async () => {
    expect(await told({ pageToken: tokenOf('9'.repeat(15)) })).toEqual([])
    const before = { pageToken: tokenOf(`before ${'9'.repeat(15)}`), newestFirst: true }
    expect((await told(before))[0]).toBe('project.create gamma')
  })
})
