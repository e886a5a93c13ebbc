/**
 * Logging in to the control panel: who gets a session by what, what of it is written down, and that a caller
 * is looked at again when it is their turn.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { callError } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import {
  acceptInvitation,
  logInAsOperator,
  logInByLink,
  logInByPasskey,
  logInByPassword,
  lookAtInvitation,
  passkeyChallenge,
} from '../../sidecar/usecases/control-panel/log-in.ts'
import type { PanelCall } from '../../sidecar/usecases/control-panel/panel-call.ts'
import {
  ACCOUNT,
  ADDRESS,
  BY,
  callOf,
  ELSEWHERE,
  FAILED,
  loginFailed,
  NO_CALLER,
  NO_LINK,
  NO_PASSKEY,
  OUTSIDE,
  openPanelServices,
  PASSWORD,
} from '../support/console/panel-services.ts'
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

const began = { level: 'info', msg: 'a session of the control panel began', ...BY, request_id: 'r-1' }

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
      const response = await panel.answerOf((await panel.withPasskey('tester')).authenticator)
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
      return logInByPasskey(
        given,
        call,
        await panel.answerOf(authenticator, callOf({ session: session.hash })),
      )
    },
    NO_PASSKEY,
    undefined,
  ],
  [
    'a passkey that was asked by another page',
    async (given, call) => {
      const response = await panel.answerOf((await panel.withPasskey('owner')).authenticator)
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
  expect(lines).toEqual(loginFailed(refusal.split(':')[0] ?? '', { ...(user && named), ...known }))
})

test('a user who is asked for more has no line: they log in again in a moment', async () => {
  await panel.withCode('tester')
  const asked = () => panel.traced((given) => logInByPassword(given, callOf(), withPassword('tester')))
  const required =
    'SECOND_FACTOR_REQUIRED: the password is right, but this user also needs a second factor; expected'
  expect(await asked()).toEqual({ outcome: `${required} a one-time code`, lines: [] })
  const { session } = await panel.withPasskey('tester')
  expect((await asked()).outcome).toBe(`${required} a passkey`)
  await panel.addCode(session)
  expect((await asked()).outcome).toBe(`${required} a one-time code or a passkey`)
})

describe('from an address that the account does not allow', () => {
  test.each<[what: string, counted: 'admit' | 'hash', prepare: () => Promise<LoggingIn>]>([
    [
      'no code is guessed',
      'admit',
      async () => {
        await panel.withCode('tester')
        return (given, call) => logInByPassword(given, call, withPassword('tester', PASSWORD, '000000'))
      },
    ],
    [
      'no password is hashed',
      'hash',
      async () => {
        const secret = await panel.linkFor('tester')
        return (given, call) => acceptInvitation(given, call, secret, new Secret(PASSWORD))
      },
    ],
  ])('%s', async (_what, counted, prepare) => {
    const logIn = await prepare()
    await panel.restrictTo(ELSEWHERE)
    const [admit, hash] = [
      vi.spyOn(controlPanel.failedLogins, 'admit'),
      vi.spyOn(controlPanel.passwords, 'hash'),
    ]
    expect(await outcomeOf(() => logIn(services, callOf()))).toBe(OUTSIDE)
    await panel.restrictTo()
    const calls = {
      admit: admit.mock.calls.filter(([{ guesses }]) => guesses === 'code'),
      hash: hash.mock.calls,
    }
    expect(calls[counted]).toEqual([])
  })
})

test('a session that ends as it begins is none', async () => {
  const secret = await panel.linkFor('tester', 'login')
  vi.spyOn(controlPanel.sessions, 'find').mockResolvedValueOnce(undefined)
  expect(await outcomeOf(() => logInByLink(services, callOf(), secret))).toBe(FAILED)
})

test('an invitation takes no short password, and says which field has it', async () => {
  const secret = await panel.linkFor('tester')
  expect(await outcomeOf(() => acceptInvitation(services, callOf(), secret, new Secret('short')))).toBe(
    'INVALID_ARGUMENT: password: expected 12 to 1024 characters',
  )
})

describe('a guess of a code', () => {
  const logIn = (code: string | undefined) =>
    outcomeOf(() => logInByPassword(services, callOf(), withPassword('tester', PASSWORD, code)))
  const settled = () => {
    const outcomes: [unknown, unknown][] = []
    vi.spyOn(controlPanel.failedLogins, 'admit').mockImplementation(
      async ({ source, guesses }) =>
        (outcome) => {
          if (guesses === 'code') outcomes.push([source, outcome])
        },
    )
    return outcomes
  }

  test.each<[what: string, code: (next: () => string) => string | undefined, outcome: string | undefined]>([
    ['that is right', (next) => next(), 'succeeded'],
    ['that is wrong', () => '000000', 'failed'],
    ['that is none', () => undefined, undefined],
  ])('%s counts for its user as such', async (_what, code, outcome) => {
    const { next } = await panel.withCode('tester')
    const { id } = await userNamed('tester')
    const outcomes = settled()
    await logIn(code(next))
    expect(outcomes).toEqual(outcome === undefined ? [] : [[`codes of ${id}`, outcome]])
  })

  test('that was not looked at counts as abandoned', async () => {
    const { next } = await panel.withCode('tester')
    const outcomes = settled()
    vi.spyOn(controlPanel.codes, 'stepOf').mockRejectedValueOnce(new RangeError('a defect'))
    await expect(logIn(next())).rejects.toThrow('a defect')
    expect(outcomes).toMatchObject([[expect.any(String), 'abandoned']])
  })

  test.each<[what: string, thrown: Error, outcome: object]>([
    [
      'after too many',
      callError('LOGIN_THROTTLED', { cause: 'x', seconds: '7' }, { metadata: { retry_after_seconds: '7' } }),
      {
        message: expect.stringContaining('too many wrong one-time codes of this user'),
        metadata: { retry_after_seconds: '7' },
      },
    ],
    ['where it cannot be counted', callError('LINK_INVALID', {}), { reason: 'LINK_INVALID' }],
  ])('%s is refused', async (_what, thrown, outcome) => {
    const { next } = await panel.withCode('tester')
    const admit = controlPanel.failedLogins.admit.bind(controlPanel.failedLogins)
    vi.spyOn(controlPanel.failedLogins, 'admit').mockImplementation((attempt) =>
      attempt.guesses === 'code' ? Promise.reject(thrown) : admit(attempt),
    )
    await expect(
      logInByPassword(services, callOf(), withPassword('tester', PASSWORD, next())),
    ).rejects.toMatchObject(outcome)
  })
})

test('an unknown passkey is not looked at', async () => {
  const { authenticator } = await panel.withPasskey('tester')
  const response = { ...(await panel.answerOf(authenticator)), id: 'unknown' }
  const verify = vi.spyOn(controlPanel.passkeys, 'verify')
  expect(await outcomeOf(() => logInByPasskey(services, callOf(), response))).toBe(NO_PASSKEY)
  expect(verify).not.toHaveBeenCalled()
})

test('what fails without a reason of its own is no refusal, and goes on as it is', async () => {
  const logIn = () => Promise.reject(new RangeError('a defect'))
  vi.spyOn(controlPanel.links, 'find').mockImplementationOnce(logIn)
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
  expect([outcome, lines]).toEqual([NO_LINK, loginFailed('LINK_INVALID')])
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
  const response = await panel.answerOf(authenticator, ofCaller)
  expect(await logInByPasskey(services, ofCaller, response)).toMatchObject({ session: { holder: 'user' } })
})

describe('a wrong caller token', () => {
  test('counts where it comes from, and a right one does not', async () => {
    const counted = vi.spyOn(controlPanel.failedLogins, 'admit')
    await logInAsOperator(services, callOf(), new Secret('clerk-token'))
    expect(counted).not.toHaveBeenCalled()
    const settle = vi.fn()
    counted.mockResolvedValueOnce(settle)
    await outcomeOf(() => logInAsOperator(services, callOf(), new Secret('wrong')))
    expect(settle.mock.calls).toEqual([['failed']])
    expect(counted.mock.calls).toEqual([[{ account: '', userName: '', source: `address ${ADDRESS}` }]])
  })

  test('is one of a caller who is withdrawn, also while the login waits', async () => {
    const logIn = () => outcomeOf(() => logInAsOperator(services, callOf(), new Secret('clerk-token')))
    expect(await panel.withoutCallers(logIn)).toBe(NO_CALLER)
    const waiting = logIn()
    expect(await panel.withoutCallers(() => waiting)).toBe(NO_CALLER)
  })
})
