/**
 * Logging in to the control panel and confirming a session: who gets one by what, what of it is written down,
 * and that a caller is looked at again when it is their turn.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Secret } from '../../sidecar/base/secret.ts'
import type { PanelCall } from '../../sidecar/usecases/control-panel/call.ts'
import {
  acceptInvitation,
  confirmSession,
  logInAsOperator,
  logInByLink,
  logInByPasskey,
  logInByPassword,
  lookAtInvitation,
  type Proof,
  passkeyChallenge,
} from '../../sidecar/usecases/control-panel/log-in.ts'
import {
  ACCOUNT,
  ADDRESS,
  callOf,
  ELSEWHERE,
  openPanelServices,
  PAGE,
  PASSWORD,
} from '../support/console/panel-services.ts'
import type { Authenticator } from '../support/identity/authenticator.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

const MINUTE_MS = 60_000
const panel = await openPanelServices()
afterEach(() => void vi.restoreAllMocks())
const { services, clock, controlPanel, userNamed } = panel
type Services = typeof services
type LoggingIn = (services: Services, call: PanelCall) => ReturnType<typeof logInByLink>

const withPassword = (userName: string, password = PASSWORD, code?: string) => ({
  ...{ account: ACCOUNT, userName, password: new Secret(password), code },
})
const answerOf = async (authenticator: Authenticator, call = callOf()) =>
  authenticator.get(await passkeyChallenge(services, call), PAGE)

const BY = { protocol: 'http', address: ADDRESS }
const began = { level: 'info', msg: 'a session of the control panel began', ...BY, request_id: 'r-1' }
const refused = (reason: string, more: object = {}) => [
  {
    ...{ level: 'warn', msg: 'a login failed', reason, ...BY, source: `address ${ADDRESS}` },
    ...{ caller: undefined, profile: undefined, request_id: 'r-1', ...more },
  },
]

/** Each way to log in: who does, how the trail names it, and how it is done, as soon as it is prepared. */
const WAYS: readonly [way: string, name: string, prepare: () => Promise<LoggingIn>][] = [
  [
    'password',
    'owner',
    async () => {
      await panel.sessionOf('owner')
      return (given, call) => logInByPassword(given, call, withPassword('owner'))
    },
  ],
  [
    'password',
    'tester',
    async () => {
      const { next } = await panel.withCode('tester')
      return (given, call) => logInByPassword(given, call, withPassword('tester', PASSWORD, next()))
    },
  ],
  [
    'link',
    'tester',
    async () => {
      const secret = await panel.linkFor('tester', 'login')
      return (given, call) => logInByLink(given, call, secret)
    },
  ],
  [
    'invitation',
    'tester',
    async () => {
      const secret = await panel.linkFor('tester')
      return (given, call) => acceptInvitation(given, call, secret, new Secret(PASSWORD))
    },
  ],
  [
    'passkey',
    'tester',
    async () => {
      const response = await answerOf((await panel.withPasskey('tester')).authenticator)
      return (given, call) => logInByPasskey(given, call, response)
    },
  ],
  [
    'caller token',
    'clerk',
    async () => (given, call) => logInAsOperator(given, call, new Secret('clerk-token')),
  ],
]

describe.each(WAYS)('by %s, %s', (way, name, prepare) => {
  const isCaller = name === 'clerk'

  test('gets a session in place of that of the browser; the trail and the log have it', async () => {
    const logIn = await prepare()
    const replaced = await panel.sessionOf('root')
    const call = callOf({ session: replaced.hash })
    const { outcome, lines } = await panel.traced((given) => logIn(given, call))
    if (typeof outcome === 'string') throw new TypeError(outcome)
    const { secret, session } = outcome
    expect(secret).toBeInstanceOf(Secret)
    const user = isCaller ? undefined : await userNamed(name)
    expect(session).toMatchObject({
      ...{ address: ADDRESS, client: 'Browser/1.0', createdAtMs: clock.nowMs },
      ...(user === undefined ? { holder: 'caller' } : { holder: 'user', user: { id: user.id } }),
    })
    expect(await controlPanel.sessions.find(replaced.hash)).toBeUndefined()
    const who = user && { user: user.id, user_name: name, account: ACCOUNT }
    expect(lines).toEqual([{ ...began, ...who, session_id: session.id }])
    expect(await panel.lastRecord(isCaller ? '' : ACCOUNT)).toMatchObject({
      action: `${isCaller ? 'caller' : 'control_panel_user'}.log_in`,
      actor: isCaller ? 'caller clerk' : `control_panel_user ${user?.id} (${name})`,
      details: { session_id: session.id, way, by: { ...BY, request_id: 'r-1' } },
    })
  })

  test('counts as a change, and is none where there are too many', async () => {
    const logIn = await prepare()
    const spend = vi.spyOn(services.changeRates, 'spend').mockImplementationOnce(() => {
      throw new RangeError('too many changes')
    })
    await expect(logIn(services, callOf())).rejects.toThrow('too many changes')
    const principal = isCaller ? 'caller clerk' : (await userNamed(name)).id
    expect(spend.mock.calls).toEqual([
      [expect.objectContaining({ lane: isCaller ? 'administrators' : 'users', principal })],
    ])
  })
})

test('ten sessions a minute that begin by one source have lines of their own', async () => {
  const { lines } = await panel.traced(async (given) => {
    for (let session = 0; session < 11; session++)
      await logInAsOperator(given, callOf(), new Secret('clerk-token'))
  })
  expect(lines).toHaveLength(10)
})

const FAILED = 'LOGIN_FAILED: the name of the user or the password is wrong'
const NO_LINK = 'LINK_INVALID: the link is unknown, already used or expired; ask for a new one'
const NO_PASSKEY =
  'PASSKEY_REFUSED: the passkey was not accepted; expected a passkey of a user who may log in here'
const NO_CALLER =
  'CALLER_TOKEN_INVALID: the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`'
const SESSION = 'REQUESTER_NOT_AUTHENTICATED: expected a session of the control panel; log in'
const OUTSIDE = 'ADDRESS_NOT_ALLOWED: the account restricts client addresses, and this address is not allowed'

test.each<[what: string, logIn: LoggingIn, refusal: string, user: string | undefined]>([
  [
    'a wrong password',
    (given, call) => logInByPassword(given, call, withPassword('owner', 'ten green bottles')),
    FAILED,
    'owner',
  ],
  [
    'the name of nobody',
    (given, call) => logInByPassword(given, call, withPassword('nobody')),
    FAILED,
    'unknown',
  ],
  [
    'the name of a service user',
    (given, call) => logInByPassword(given, call, withPassword('robot')),
    FAILED,
    'unknown',
  ],
  ['an unknown link', (given, call) => logInByLink(given, call, 'A'.repeat(43)), NO_LINK, undefined],
  [
    'an invitation as a link',
    async (given, call) => logInByLink(given, call, await panel.linkFor('owner')),
    NO_LINK,
    undefined,
  ],
  [
    'a link as an invitation',
    async (given, call) =>
      acceptInvitation(given, call, await panel.linkFor('owner', 'login'), new Secret(PASSWORD)),
    NO_LINK,
    undefined,
  ],
  [
    'a passkey that was asked to confirm a session',
    async (given, call) => {
      const { authenticator, session } = await panel.withPasskey('owner')
      return logInByPasskey(given, call, await answerOf(authenticator, callOf({ session: session.hash })))
    },
    NO_PASSKEY,
    undefined,
  ],
  [
    'a passkey that was asked by another page',
    async (given, call) => {
      const response = await answerOf((await panel.withPasskey('owner')).authenticator)
      return logInByPasskey(given, { ...call, page: 'https://elsewhere.example' }, response)
    },
    NO_PASSKEY,
    undefined,
  ],
  [
    'an unknown caller token',
    (given, call) => logInAsOperator(given, call, new Secret('nobody-token')),
    NO_CALLER,
    undefined,
  ],
])('%s gives no session, and the log says so', async (_what, logIn, refusal, user) => {
  const { outcome, lines } = await panel.traced((given) => logIn(given, callOf()))
  expect(outcome).toBe(refusal)
  const named = { user: user === 'owner' ? (await userNamed('owner')).id : user }
  const known = user === 'owner' && { user_name: 'owner', account: ACCOUNT }
  expect(lines).toEqual(refused(refusal.split(':')[0] ?? '', { ...(user && named), ...known }))
})

test('who is asked for more has no line: they log in again in a moment', async () => {
  await panel.withCode('tester')
  const { outcome, lines } = await panel.traced((given) =>
    logInByPassword(given, callOf(), withPassword('tester')),
  )
  expect(outcome).toMatch(/^SECOND_FACTOR_REQUIRED/)
  expect(lines).toEqual([])
})

test('what fails without a reason of its own is no refusal, and goes on as it is', async () => {
  const logIn = () => Promise.reject(new RangeError('a defect'))
  vi.spyOn(controlPanel.logIn, 'byLink').mockImplementationOnce(logIn)
  const { lines } = await panel.traced((given) =>
    expect(logInByLink(given, callOf(), 'any')).rejects.toThrow('a defect'),
  )
  expect(lines).toEqual([])
})

test('an invitation is looked at without being used up, and a wrong one has a line in the log', async () => {
  const secret = await panel.linkFor('tester')
  for (const _time of [1, 2])
    expect(await lookAtInvitation(services, callOf(), secret)).toEqual({
      ...{ account: ACCOUNT, user: 'tester', endsAtMs: clock.nowMs + 24 * 60 * MINUTE_MS },
    })
  const { outcome, lines } = await panel.traced((given) => lookAtInvitation(given, callOf(), 'x'))
  expect([outcome, lines]).toEqual([NO_LINK, refused('LINK_INVALID')])
})

test('a passkey is asked to confirm the session of a user, and to log in otherwise', async () => {
  const { authenticator, session } = await panel.withPasskey('tester')
  const asked = async (session?: Buffer) => {
    const { allowCredentials } = await passkeyChallenge(services, callOf({ session }))
    return allowCredentials?.map(({ id }) => id)
  }
  expect(await asked(session.hash)).toEqual([authenticator.id])
  const ofCaller = callOf({ session: (await panel.sessionOf('clerk')).hash })
  expect([await asked(), await asked(ofCaller.session)]).toEqual([undefined, undefined])
  const response = await answerOf(authenticator, ofCaller)
  expect(await logInByPasskey(services, ofCaller, response)).toMatchObject({ session: { holder: 'user' } })
})

describe('a wrong caller token', () => {
  test('counts where it comes from, and a right one does not', async () => {
    const counted = vi.spyOn(controlPanel.logIn, 'refuseCaller')
    await logInAsOperator(services, callOf(), new Secret('clerk-token'))
    expect(counted).not.toHaveBeenCalled()
    await outcomeOf(() => logInAsOperator(services, callOf(), new Secret('wrong')))
    const from = { source: { type: 'address', address: ADDRESS }, connection: 'connection 1' }
    expect(counted.mock.calls).toEqual([[from]])
  })

  test('is one of a caller who is withdrawn, also while the login waits', async () => {
    const logIn = () => outcomeOf(() => logInAsOperator(services, callOf(), new Secret('clerk-token')))
    expect(await panel.withoutCallers(logIn)).toBe(NO_CALLER)
    const waiting = logIn()
    expect(await panel.withoutCallers(() => waiting)).toBe(NO_CALLER)
  })
})

describe('a session is confirmed', () => {
  const confirm = (...asked: Parameters<typeof confirmSession>) => outcomeOf(() => confirmSession(...asked))
  const byPassword = (password: string, code?: string): Proof => ({
    ...{ type: 'password', password: new Secret(password), code },
  })
  const byToken = (token: string): Proof => ({ type: 'token', token: new Secret(token) })
  const call = callOf()

  test('by the password of the user, and the code where they have one', async () => {
    const session = await panel.sessionOf('owner')
    clock.nowMs += MINUTE_MS
    expect(await confirm(services, call, session, byPassword(PASSWORD))).toMatchObject({
      ...{ id: session.id, confirmedAtMs: clock.nowMs },
    })
    const { session: another, next } = await panel.withCode('tester')
    expect(await confirm(services, call, another, byPassword(PASSWORD, next()))).toMatchObject({
      ...{ id: another.id, confirmedAtMs: clock.nowMs },
    })
  })

  test('by a passkey of the user', async () => {
    const { session, authenticator } = await panel.withPasskey('tester')
    clock.nowMs += MINUTE_MS
    const response = await answerOf(authenticator, callOf({ session: session.hash }))
    expect(await confirm(services, call, session, { type: 'passkey', response })).toMatchObject({
      ...{ id: session.id, confirmedAtMs: clock.nowMs },
    })
  })

  test('by the token of the caller', async () => {
    const session = await panel.sessionOf('clerk')
    clock.nowMs += MINUTE_MS
    expect(await confirm(services, call, session, byToken('clerk-token'))).toMatchObject({
      ...{ id: session.id, confirmedAtMs: clock.nowMs },
    })
  })

  test.each<[what: string, name: string, proof: (name: string) => Promise<Proof>, refusal: string]>([
    ['a wrong password', 'owner', async () => byPassword('ten green bottles'), FAILED],
    ['a caller token for a user', 'owner', async () => byToken('clerk-token'), NO_CALLER],
    ['the token of another caller', 'clerk', async () => byToken('root-token'), NO_CALLER],
    ['a password for a caller', 'clerk', async () => byPassword('clerk-token'), NO_CALLER],
    [
      'a passkey that was asked to log in',
      'tester',
      async (name) => {
        const { authenticator } = await panel.withPasskey(name)
        return { type: 'passkey', response: await answerOf(authenticator) }
      },
      NO_PASSKEY,
    ],
  ])('never by %s, and the log says so', async (_what, name, proof, refusal) => {
    const given = await proof(name)
    const session = await panel.sessionOf(name)
    clock.nowMs += MINUTE_MS
    const { outcome, lines } = await panel.traced((traced) => confirmSession(traced, call, session, given))
    expect(outcome).toBe(refusal)
    const user = given.type === 'password' && name === 'owner' && (await userNamed(name))
    const named = user && { user: user.id, user_name: name, account: ACCOUNT }
    expect(lines).toEqual(refused(refusal.split(':')[0] ?? '', { ...named }))
    const { confirmedAtMs } = (await controlPanel.sessions.find(session.hash)) ?? {}
    expect(confirmedAtMs).toBe(clock.nowMs - MINUTE_MS)
  })

  test('by a wrong token it is not, which counts as a wrong login', async () => {
    const counted = vi.spyOn(controlPanel.logIn, 'refuseCaller')
    const session = await panel.sessionOf('clerk')
    await confirm(services, call, session, byToken('wrong'))
    const from = { source: { type: 'address', address: ADDRESS }, connection: 'connection 1' }
    expect(counted.mock.calls).toEqual([[from]])
    counted.mockClear()
    await confirm(services, call, session, byToken('clerk-token'))
    expect(counted).not.toHaveBeenCalled()
  })

  test('for a caller who is withdrawn it is not, also while it waits', async () => {
    const session = await panel.sessionOf('clerk')
    const asking = () => confirm(services, call, session, byToken('clerk-token'))
    expect(await panel.withoutCallers(asking)).toBe(NO_CALLER)
    const waiting = asking()
    expect(await panel.withoutCallers(() => waiting)).toBe(NO_CALLER)
  })

  test('where it has ended it is not', async () => {
    const session = await panel.sessionOf('clerk')
    clock.nowMs += 24 * 60 * MINUTE_MS
    expect(await confirm(services, call, session, byToken('clerk-token'))).toBe(SESSION)
  })

  test('as a change, so that nobody does it without end', async () => {
    const spend = vi.spyOn(services.changeRates, 'spend')
    const { session, authenticator } = await panel.withPasskey('tester')
    const response = await answerOf(authenticator, callOf({ session: session.hash }))
    const [owner, clerk] = [await panel.sessionOf('owner'), await panel.sessionOf('clerk')]
    const ids = { owner: (await userNamed('owner')).id, tester: (await userNamed('tester')).id }
    for (const [known, proof, lane, principal] of [
      [session, { type: 'passkey', response }, 'users', ids.tester],
      [owner, byPassword(PASSWORD), 'users', ids.owner],
      [clerk, byToken('clerk-token'), 'administrators', 'caller clerk'],
    ] as const) {
      spend.mockClear()
      await confirmSession(services, call, known, proof)
      expect(spend.mock.calls).toEqual([[expect.objectContaining({ lane, principal })]])
    }
  })

  test('from an address that the account allows, or by an owner', async () => {
    const [owner, tester] = [await panel.sessionOf('owner'), await panel.sessionOf('tester')]
    await panel.restrictTo(ELSEWHERE)
    expect(await confirm(services, call, tester, byPassword(PASSWORD))).toBe(OUTSIDE)
    expect(await confirm(services, call, owner, byPassword(PASSWORD))).toMatchObject({ id: owner.id })
    await panel.restrictTo()
  })
})
