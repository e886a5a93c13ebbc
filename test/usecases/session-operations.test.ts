/** Sessions and invitations of control panel users: what is listed, what ends, and who may invite whom. */
import { beforeEach, describe, expect, test } from 'vitest'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byIamToken, byToken } from '../support/sidecar/services.ts'

const account = '4711'
/** Soon the time has one digit more: then sessions are in their order, too. */
const clock = { nowMs: 9_999_999_999_997 }
const { administration, ask, logIn, panelToken, userNamed, run } = await openOffice(
  account,
  () => clock.nowMs,
)
const root = byToken('root')

beforeEach(() => {
  clock.nowMs++
})

const NOT_OWNER = 'NOT_OWNER: only an owner of the account may do this'
const EXCEPT_ONESELF =
  'NOT_ADMINISTRATOR: only another administrator of the account (you change your own password under Profile, Security) may do this'

const sessionsOf = async (userName: string) =>
  (await administration.controlPanel()).sessions.list(await userNamed(userName))
const sessions = async (userName: string, pageSize = 0, pageToken = '') => {
  const listed = await ask(root, 'listSessions', { account, userName, pageSize, pageToken })
  if (typeof listed === 'string') throw new TypeError(listed)
  return listed
}

test('sessions are listed newest first, also page by page', async () => {
  for (let index = 0; index < 5; index++) {
    await logIn('tester')
    clock.nowMs += index % 2
  }
  const all = (await sessions('tester')).items
  expect(all.map(({ createdAtMs }) => createdAtMs)).toEqual([
    ...[10_000_000_000_000, 9_999_999_999_999, 9_999_999_999_999],
    ...[9_999_999_999_998, 9_999_999_999_998],
  ])
  expect(all).toEqual(await sessionsOf('tester'))
  for (const size of [1, 2]) {
    const found: (typeof all)[number][] = []
    let pageToken = ''
    do {
      const { items, nextPageToken } = await sessions('tester', size, pageToken)
      expect(items.length).toBe(Math.min(size, 5 - found.length))
      found.push(...items)
      pageToken = nextPageToken
    } while (pageToken !== '' && found.length < 20)
    expect(found).toEqual(all)
  }
})

describe('a session ends', () => {
  const end = async (who: Parameters<typeof ask>[0], userName: string) => {
    const [first] = await sessionsOf(userName)
    const outcome = await ask(who, 'endSession', { account, userName, id: first?.id ?? '' })
    return { outcome, left: (await sessionsOf(userName)).includes(first as never), first }
  }

  test('and no other one of its user', async () => {
    for (const _session of [1, 2]) await logIn('owner')
    const before = await sessionsOf('owner')
    const { outcome, first } = await end(byIamToken((await panelToken('owner')).value), 'owner')
    expect(outcome).toBeUndefined()
    expect(await sessionsOf('owner')).toEqual(before.filter(({ id }) => id !== first?.id))
  })

  test('of an owner for owners alone', async () => {
    await logIn('owner')
    const name = 'adam'
    await run(TESTER, 'createControlPanelUser', { account, name, roles: ['iam.admin'] })
    const { value } = await run(TESTER, 'reissueControlPanelUserToken', { account, name })
    const before = await sessionsOf('owner')
    expect((await end(byIamToken(value.reveal()), 'owner')).outcome).toBe(NOT_OWNER)
    expect(await sessionsOf('owner')).toEqual(before)
  })
})

describe('an invitation', () => {
  const invite = async (who: Parameters<typeof ask>[0], userName: string) => {
    const invited = await ask(who, 'createInvitation', { account, userName })
    if (typeof invited === 'string') return invited
    const { links } = await administration.controlPanel()
    const { user } = await links.find(invited.secret.reveal(), 'invitation')
    expect(Object.keys(invited)).toEqual(['secret', 'endsAtMs'])
    return user.name
  }

  test('is for the user whom an operator or an owner names', async () => {
    expect(await invite(root, 'owner')).toBe('owner')
    expect(await invite(root, 'tester')).toBe('tester')
    expect(await invite(await logIn('owner'), 'tester')).toBe('tester')
  })

  test('is for nobody by themselves', async () => {
    expect(await invite(await logIn('owner'), 'owner')).toBe(EXCEPT_ONESELF)
  })

  test('of an owner is for owners alone', async () => {
    await run(TESTER, 'updateControlPanelUser', { account, name: 'tester', roles: ['iam.admin'] })
    expect(await invite(await logIn('tester'), 'owner')).toBe(NOT_OWNER)
    expect(await invite(await logIn('tester'), 'adam')).toBe('adam')
  })
})
