/**
 * A session is confirmed by who has it, with what they logged in with, and by nobody else; and that a caller
 * is looked at again when it is their turn.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Secret } from '../../sidecar/base/secret.ts'
import { confirmSession, type Proof } from '../../sidecar/usecases/control-panel/confirm-session.ts'
import {
  ACCOUNT,
  ADDRESS,
  callOf,
  ELSEWHERE,
  ENDED,
  FAILED,
  loginFailed,
  NO_CALLER,
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
    const response = await panel.answerOf(authenticator, callOf({ session: session.hash }))
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
        return { type: 'passkey', response: await panel.answerOf(authenticator) }
      },
      NO_PASSKEY,
    ],
    [
      'a passkey for a caller',
      'clerk',
      async () => {
        const { session, authenticator } = await panel.withPasskey('tester')
        const response = await panel.answerOf(authenticator, callOf({ session: session.hash }))
        return { type: 'passkey', response }
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
    expect(lines).toEqual(loginFailed(refusal.split(':')[0] ?? '', { ...named }))
    const { confirmedAtMs } = (await controlPanel.sessions.find(session.hash)) ?? {}
    expect(confirmedAtMs).toBe(clock.nowMs - MINUTE_MS)
  })

  test('from an address that the account does not allow it is not, and no code is guessed', async () => {
    const { session } = await panel.withCode('tester')
    await panel.restrictTo(ELSEWHERE)
    const counted = vi.spyOn(controlPanel.failedLogins, 'admit')
    expect(await confirm(services, call, session, byPassword(PASSWORD, '000000'))).toBe(OUTSIDE)
    await panel.restrictTo()
    expect(counted.mock.calls.filter(([{ guesses }]) => guesses === 'code')).toEqual([])
  })

  test('while it ends it is not', async () => {
    const session = await panel.sessionOf('owner')
    const find = controlPanel.sessions.find.bind(controlPanel.sessions)
    vi.spyOn(controlPanel.sessions, 'find').mockImplementationOnce(find).mockResolvedValueOnce(undefined)
    expect(await confirm(services, call, session, byPassword(PASSWORD))).toBe(ENDED)
  })

  test('by a wrong token it is not, which counts as a wrong login', async () => {
    const counted = vi.spyOn(controlPanel.failedLogins, 'admit')
    const session = await panel.sessionOf('clerk')
    await confirm(services, call, session, byToken('wrong'))
    expect(counted.mock.calls).toEqual([[{ account: '', userName: '', source: `address ${ADDRESS}` }]])
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
    expect(await confirm(services, call, session, byToken('clerk-token'))).toBe(ENDED)
  })

  test('as a change, so that nobody does it without end', async () => {
    const spend = vi.spyOn(services.changeRates, 'spend')
    const { session, authenticator } = await panel.withPasskey('tester')
    const response = await panel.answerOf(authenticator, callOf({ session: session.hash }))
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
