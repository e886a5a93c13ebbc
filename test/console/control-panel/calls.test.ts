/** How the control panel asks: what it sends along, when it asks again, and when it asks a person. */
import { describe, expect, test } from 'vitest'
import { apiOver } from '../../../console/panel/model/api.ts'
import { apiErrorOf, errorOf, violationsOf } from '../../../console/panel/model/errors.ts'
import { messageOf } from '../../../console/panel/model/messages.ts'
import { jsonOf, type Panel } from '../../../console/panel/model/panel.ts'
import { ANNA, type Answer, fakePanel, sessionOf } from '../../support/console/panel.ts'

const NO_SESSION: Answer = [401, { reason: 'REQUESTER_NOT_AUTHENTICATED', message: 'expected a session' }]
const CONFIRM: Answer = [400, { reason: 'REAUTHENTICATION_REQUIRED', message: 'confirm that it is you' }]
const READ = { reads: true }
const WRITE = { reads: false }

/** Waits for an event that no promise reports. */
const settled = () => new Promise((resolve) => setImmediate(resolve))
const answered = async (call: Promise<Response>) => (await call).status
const reasonOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error) => apiErrorOf(error).reason,
  )

async function openedBy(answer: Parameters<typeof fakePanel>[0]) {
  const fake = fakePanel((path, before, asked) =>
    path === '/console/session' && before === 0 ? [200, sessionOf()] : answer(path, before, asked),
  )
  await fake.panel.open()
  return fake
}

test('every request has the header that no other page can send', async () => {
  const { panel, asked } = await openedBy(() => [200, {}])
  await panel.ask('/console/factors', {}, READ)
  await apiOver(panel.ask).directory.listProjects({ account: '1' })
  expect(asked.map(({ headers }) => headers.get('x-portcullis-console'))).toEqual(['1', '1', '1'])
  expect(asked[2]).toMatchObject({
    path: '/portcullis.v1.DirectoryService/ListProjects',
    method: 'POST',
    body: { account: '1' },
  })
  expect(asked[2]?.headers.get('content-type')).toBe('application/json')
})

describe('browsers send no more than 64 KiB at once that goes on after its page', () => {
  test.each<[what: string, typed: string, how: { reads: boolean }, keepalive: boolean]>([
    ['a change', 'x'.repeat(50_000), WRITE, true],
    ['a read', '', READ, false],
    ['a large change', 'x'.repeat(70_000), WRITE, false],
    ['few letters of many bytes', '🚪'.repeat(16_000), WRITE, false],
  ])('%s', async (_, typed, how, keepalive) => {
    const { panel, asked } = await openedBy(() => [200, {}])
    await panel.ask('/x', jsonOf({ typed }), how)
    expect(asked.at(-1)).toMatchObject({ path: '/x', keepalive })
  })

  test('of the contract', async () => {
    const { panel, asked } = await openedBy(() => [200, {}])
    const { directory } = apiOver(panel.ask)
    for (const length of [10, 70_000])
      await directory.createServiceUser({ account: '1', name: 'x'.repeat(length) })
    expect(asked.slice(1).map(({ keepalive }) => keepalive)).toEqual([true, false])
  })

  test('changes at the same time share it', async () => {
    const { panel, asked } = await openedBy(() => [200, {}])
    const large = jsonOf({ typed: 'x'.repeat(40_000) })
    await Promise.all([panel.ask('/x', large, WRITE), panel.ask('/x', large, WRITE)])
    await panel.ask('/x', large, WRITE)
    expect(asked.slice(1).map(({ keepalive }) => keepalive)).toEqual([true, false, true])
  })
})

test.each([
  ['a change', WRITE, /^The sidecar does not answer\. Check whether the change was made/],
  ['a login', { reads: false, plain: true }, 'The sidecar does not answer. Try again in a moment.'],
])('%s without an answer says what to do', async (_, how, text) => {
  const { panel } = await openedBy((path) => (path === '/x' ? 'unreachable' : [200, sessionOf()]))
  const error = await panel.ask('/x', jsonOf({}), how).catch(apiErrorOf)
  expect(messageOf(error as ReturnType<typeof apiErrorOf>)).toMatch(text)
})

describe('a sidecar that has too much to do', () => {
  test.each<[status: number, how: { reads: boolean }, times: number]>([
    [429, READ, 2],
    [503, READ, 2],
    [429, WRITE, 2],
    // It is unknown whether it was made.
    [503, WRITE, 1],
  ])('status %i, %j: asked %i times', async (status, how, times) => {
    const { panel, asked, waited } = await openedBy((_, before) =>
      before === 0 ? [status, { reason: 'DIRECTORY_EXHAUSTED', message: '' }, 2] : [200, {}],
    )
    await panel.ask('/x', jsonOf({}), how).catch(() => {})
    expect(asked.filter(({ path }) => path === '/x')).toHaveLength(times)
    expect(waited).toEqual(times === 2 ? [2_000] : [])
  })

  test('it is not asked forever, and not after a long time', async () => {
    const { panel, asked } = await openedBy((path) => [429, { reason: 'R' }, path === '/long' ? 60 : 1])
    expect(await reasonOf(panel.ask('/x', {}, READ))).toBe('R')
    expect(asked.filter(({ path }) => path === '/x')).toHaveLength(5)
    expect(await reasonOf(panel.ask('/long', {}, READ))).toBe('R')
    expect(asked.filter(({ path }) => path === '/long')).toHaveLength(1)
  })
})

test('while no sidecar answers, reads wait for it together and go on; a write says so', async () => {
  let down = true
  const { panel, asked, waited } = await openedBy((path) => {
    if (path === '/console/session' && waited.length === 3) down = false
    return down ? 'unreachable' : [200, {}]
  })
  const seen: boolean[] = []
  panel.subscribe(() => seen.push(panel.state().reachable))
  const calls = [panel.ask('/a', {}, READ), panel.ask('/b', {}, READ)]
  expect(await reasonOf(panel.ask('/c', jsonOf({}), WRITE))).toBe('UNREACHABLE')
  expect(await Promise.all(calls.map(answered))).toEqual([200, 200])
  expect(asked.filter(({ path }) => path === '/console/session')).toHaveLength(4)
  expect(asked.filter(({ path }) => path === '/c')).toHaveLength(1)
  expect(waited).toEqual([500, 1_000, 2_000])
  expect(seen).toEqual([false, true])
})

describe('a session that ends midway', () => {
  /** The session has ended until a user logs in. */
  async function ended() {
    let over = true
    const fake = await openedBy((path) => {
      if (path === '/console/session') return [200, over ? { signedIn: false, passkeys: true } : sessionOf()]
      return over ? NO_SESSION : [200, { done: path }]
    })
    const logIn = (panel: Panel, session = sessionOf()) => {
      over = false
      panel.accept(session)
    }
    return { ...fake, logIn }
  }

  test('one dialog for all calls, and then each is made again as it was', async () => {
    const { panel, asked, logIn } = await ended()
    const calls = [panel.ask('/a', jsonOf({ typed: 'a' }), WRITE), panel.ask('/b', {}, READ)]
    await settled()
    expect(panel.state().dialog).toBe('login')
    logIn(panel)
    expect(await Promise.all(calls.map(answered))).toEqual([200, 200])
    expect(panel.state().dialog).toBe('none')
    const sent = asked.filter(({ path }) => path === '/a').map(({ body }) => body)
    expect(sent).toEqual([{ typed: 'a' }, { typed: 'a' }])
  })

  test('another user who logs in does not send what was typed', async () => {
    const { panel, asked, logIn } = await ended()
    const call = reasonOf(panel.ask('/a', jsonOf({}), WRITE))
    await settled()
    logIn(panel, sessionOf({ ...ANNA, name: 'ben' } as typeof ANNA))
    expect(await call).toBe('GIVEN_UP')
    expect(asked.filter(({ path }) => path === '/a')).toHaveLength(1)
    expect(panel.state().session).toMatchObject({ who: { name: 'ben' } })
  })

  test('a user who closes the dialog is logged out', async () => {
    const { panel } = await ended()
    const call = reasonOf(panel.ask('/a', jsonOf({}), WRITE))
    await settled()
    panel.giveUp()
    expect(await call).toBe('GIVEN_UP')
    expect(panel.state()).toMatchObject({ dialog: 'none', session: { signedIn: false, passkeys: true } })
  })

  test('another tab that logged in meanwhile is enough', async () => {
    const { panel, logIn } = await ended()
    const call = panel.ask('/a', {}, READ)
    await settled()
    logIn({ ...panel, accept: () => {} })
    await panel.heard('in')
    expect([await answered(call), panel.state().dialog]).toEqual([200, 'none'])
  })

  test('a call that is refused although a user is logged in is not made forever', async () => {
    const { panel, asked } = await openedBy((path) =>
      path === '/console/session' ? [200, sessionOf()] : NO_SESSION,
    )
    expect(await reasonOf(panel.ask('/a', {}, READ))).toBe('REQUESTER_NOT_AUTHENTICATED')
    expect(asked.filter(({ path }) => path === '/a')).toHaveLength(5)
  })
})

describe('before a secret is shown', () => {
  test('the password is asked for once, and the call is made again', async () => {
    let confirmed = false
    const { panel } = await openedBy(() => (confirmed ? [200, {}] : CONFIRM))
    const calls = [panel.ask('/a', jsonOf({}), WRITE), panel.ask('/b', jsonOf({}), WRITE)]
    await settled()
    expect(panel.state().dialog).toBe('confirm')
    confirmed = true
    panel.accept(sessionOf())
    expect(await Promise.all(calls.map(answered))).toEqual([200, 200])
  })

  /** The session ends while the dialog is open. */
  async function endedMeanwhile() {
    let over = false
    let confirmed = false
    const fake = await openedBy((path) => {
      if (path === '/console/session') return [200, over ? { signedIn: false, passkeys: true } : sessionOf()]
      if (over) return NO_SESSION
      return confirmed ? [200, {}] : CONFIRM
    })
    const call = fake.panel.ask('/a', jsonOf({ typed: 'a' }), WRITE)
    await settled()
    over = true
    const logIn = () => {
      over = false
      confirmed = true
      fake.panel.accept(sessionOf())
    }
    return { ...fake, call, logIn }
  }

  test('where the session has ended meanwhile, they log in, and the call is made again', async () => {
    const { panel, call, logIn } = await endedMeanwhile()
    const { session } = apiOver(panel.ask)
    await panel.confirm(() => session.confirm({ password: 'right' }))
    expect(panel.state()).toMatchObject({ dialog: 'login', session: { signedIn: true } })
    logIn()
    expect([await answered(call), panel.state().dialog]).toEqual([200, 'none'])
  })

  test('another call that needs a login does not end the first one', async () => {
    const { panel, call, logIn } = await endedMeanwhile()
    const other = panel.ask('/b', {}, READ)
    await settled()
    expect(panel.state().dialog).toBe('login')
    logIn()
    expect(await Promise.all([call, other].map(answered))).toEqual([200, 200])
  })

  test('a wrong password is for the form', async () => {
    const { panel } = await openedBy((path) =>
      path.endsWith('/confirm') ? [401, { reason: 'LOGIN_FAILED', message: 'm' }] : CONFIRM,
    )
    const call = reasonOf(panel.ask('/a', jsonOf({}), WRITE))
    await settled()
    const { session } = apiOver(panel.ask)
    const work = panel.confirm(() => session.confirm({ password: 'wrong' }))
    expect([await reasonOf(work), panel.state().dialog]).toEqual(['LOGIN_FAILED', 'confirm'])
    panel.giveUp()
    expect(await call).toBe('GIVEN_UP')
  })

  test('a user who closes the dialog stays logged in', async () => {
    const { panel } = await openedBy(() => CONFIRM)
    const call = reasonOf(panel.ask('/a', jsonOf({}), WRITE))
    await settled()
    panel.giveUp()
    expect(await call).toBe('GIVEN_UP')
    expect(panel.state()).toMatchObject({ dialog: 'none', session: { signedIn: true } })
  })
})

test.each([
  ...['LOGIN_FAILED', 'SECOND_FACTOR_REQUIRED', 'CODE_WRONG'],
  ...['LINK_INVALID', 'PASSKEY_REFUSED', 'CALLER_TOKEN_INVALID'],
])('%s is about what was sent, and no end of a session', async (reason) => {
  const { panel } = await openedBy((path) =>
    path === '/console/session'
      ? [200, { signedIn: false, passkeys: true }]
      : [401, { reason, message: 'm', metadata: { ways: 'code' } }],
  )
  const call = panel.ask('/console/factors/password', jsonOf({}), WRITE).catch(apiErrorOf)
  await settled()
  expect(panel.state().dialog).toBe('none')
  expect(await call).toMatchObject({ reason, message: 'm', metadata: { ways: 'code' }, status: 401 })
})

describe('errors', () => {
  test('of Connect', async () => {
    const debug = { reason: 'LOGIN_THROTTLED', domain: 'portcullis', metadata: { seconds: '90' } }
    const body = {
      code: 'resource_exhausted',
      message: 'too many',
      details: [{ type: 'google.rpc.ErrorInfo', value: '', debug }],
    }
    const { panel } = await openedBy(() => [429, body])
    const { directory } = apiOver(panel.ask)
    const error = await directory.listProjects({ account: '1' }).then(() => undefined, apiErrorOf)
    expect(error).toMatchObject({
      ...{ reason: 'LOGIN_THROTTLED', message: 'too many', metadata: { seconds: '90' } },
      ...{ status: 429, retryAfterMs: 90_000 },
    })
  })

  test.each<[body: unknown]>([
    [undefined],
    ['text'],
    [[]],
    [{ details: {} }],
    [{ details: [null, { type: 'google.rpc.ErrorInfo', debug: 5 }] }],
    [{ reason: 5 }],
  ])('an error in an unknown form has the reason INTERNAL: %j', (body) => {
    expect(errorOf(500, body, null)).toMatchObject({ reason: 'INTERNAL', status: 500 })
  })

  test.each<[message: string, fields: object, rest: string]>([
    ['password: expected 12 to 1,024 characters', { password: 'expected 12 to 1,024 characters' }, ''],
    ['user_name: expected a; account: expected b', { userName: 'expected a' }, 'account: expected b'],
    ['ranges[3]: expected a range', { ranges: 'expected a range' }, ''],
    ['expected less', {}, 'expected less'],
  ])('fields of %j', (message, fields, rest) => {
    const error = errorOf(400, { reason: 'INVALID_ARGUMENT', message }, null)
    expect(violationsOf(error, ['password', 'userName', 'ranges'])).toEqual({ fields, rest })
  })
})
