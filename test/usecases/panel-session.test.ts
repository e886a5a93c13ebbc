/** The session of a request of the page: whose it is, until when, and how it is used and ended. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { run } from '../../sidecar/usecases/administration/run.ts'
import type { PanelCall } from '../../sidecar/usecases/control-panel/panel-call.ts'
import {
  expectSession,
  logOut,
  sessionOf,
  useSession,
  viewOf,
} from '../../sidecar/usecases/control-panel/session.ts'
import {
  ACCOUNT,
  ADDRESS,
  BY,
  CLERK,
  callOf,
  ELSEWHERE,
  ENDED,
  OUTSIDE,
  openPanelServices,
} from '../support/console/panel-services.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { digestOf, outcomeOf } from '../support/sidecar/services.ts'

const MINUTE_MS = 60_000
const panel = await openPanelServices()
afterEach(() => void vi.restoreAllMocks())
const { services, clock, controlPanel, userNamed } = panel

/** A call in a new session. */
const callBy = async (name: string) => callOf({ session: (await panel.sessionOf(name)).hash })

describe('a call has the session', () => {
  test('of a user', async () => {
    const call = await callBy('owner')
    const session = await controlPanel.sessions.find(call.session as Buffer)
    const requester = { type: 'user', user: await userNamed('owner'), session, from: BY, requestId: 'r-1' }
    const known = { session, requester: { ...requester, clientAddress: ADDRESS, ownersFromAnywhere: true } }
    for (const found of [sessionOf, expectSession, useSession])
      expect(await found(services, call)).toEqual(known)
  })

  test('of a caller, until they are withdrawn', async () => {
    const call = await callBy('clerk')
    const session = await controlPanel.sessions.find(call.session as Buffer)
    const caller = { ...CLERK, identifiedBy: { type: 'token', digest: digestOf('clerk-token') } }
    const requester = { type: 'operator', caller, session, from: BY, requestId: 'r-1' }
    for (const found of [sessionOf, expectSession, useSession])
      expect(await found(services, call)).toEqual({ session, requester })
    await panel.withoutCallers(async () => {
      expect(await sessionOf(services, call)).toBeUndefined()
      for (const found of [expectSession, useSession])
        expect(await outcomeOf(() => found(services, call))).toBe(ENDED)
    })
  })

  test.each<[what: string, call: PanelCall]>([
    ['without a cookie', callOf()],
    ['with an unknown one', callOf({ session: digestOf('none') })],
  ])('of nobody, %s', async (_what, call) => {
    expect(await sessionOf(services, call)).toBeUndefined()
    for (const found of [expectSession, useSession])
      expect(await outcomeOf(() => found(services, call))).toBe(ENDED)
    await logOut(services, call)
  })
})

test('a session ends later when it is used, and not when it is looked at', async () => {
  const call = await callBy('tester')
  const idleUntilMs = async () => viewOf(services, await expectSession(services, call)).idleUntilMs
  const until = await idleUntilMs()
  clock.nowMs += MINUTE_MS
  expect(await idleUntilMs()).toBe(until)
  await useSession(services, call)
  expect(await idleUntilMs()).toBe(until + MINUTE_MS)
})

test('a session is used at an address that the account allows, or by an owner', async () => {
  const [owner, tester, clerk] = [await callBy('owner'), await callBy('tester'), await callBy('clerk')]
  const used = (call: PanelCall) => outcomeOf(() => useSession(services, call))
  await panel.restrictTo(ELSEWHERE)
  expect(await used(tester)).toBe(OUTSIDE)
  for (const call of [owner, clerk, { ...tester, clientAddress: '198.51.100.7' as const }])
    expect(typeof (await used(call))).toBe('object')
  await panel.restrictTo()
})

describe('the page sees of a session', () => {
  const viewed = async (call: PanelCall) => viewOf(services, await expectSession(services, call))

  test.each([
    ['owner', { owner: true, administrator: true, roles: [] }],
    ['tester', { owner: false, administrator: false, roles: [] }],
    ['tester', { owner: false, administrator: true, roles: ['iam.admin'] }],
  ])('who %s is, and until when', async (name, rights) => {
    const { roles } = rights
    await run(services.administration, TESTER, 'updateControlPanelUser', { account: ACCOUNT, name, roles })
    const call = await callBy(name)
    const session = await controlPanel.sessions.find(call.session as Buffer)
    const begunAtMs = clock.nowMs
    clock.nowMs += 1_000
    expect(await viewed({ ...call, clientAddress: '192.0.2.8' })).toEqual({
      ...{ id: session?.id, who: { type: 'user', account: ACCOUNT, name, ...rights } },
      ...{ address: '192.0.2.8', createdAtMs: begunAtMs, nowMs: clock.nowMs },
      ...{ confirmedUntilMs: begunAtMs + 10 * MINUTE_MS, endsAtMs: session?.endsAtMs },
      idleUntilMs: session && controlPanel.sessions.idleUntilMs(session),
    })
  })

  test('the name and the rights of an operator', async () => {
    const { name, rights } = CLERK
    expect(await viewed(await callBy('clerk'))).toMatchObject({ who: { type: 'operator', name, rights } })
  })
})

describe('logging out ends the session, and the trail has who did it', () => {
  const logOutAs = async (name: string) => {
    const call = await callBy(name)
    const session = await controlPanel.sessions.find(call.session as Buffer)
    return { session, logOut: () => logOut(services, call), call }
  }
  const by = (id: string | undefined) => ({ by: { ...BY, request_id: 'r-1', session_id: id } })

  test('a user', async () => {
    const { session, logOut, call } = await logOutAs('tester')
    await logOut()
    expect(await sessionOf(services, call)).toBeUndefined()
    expect(await panel.lastRecord()).toMatchObject({
      ...{ action: 'control_panel_user.log_out', subject: 'tester' },
      actor: `control_panel_user ${(await userNamed('tester')).id} (tester)`,
      details: { session_id: session?.id, ...by(session?.id) },
    })
  })

  test('a caller', async () => {
    const { session, logOut, call } = await logOutAs('clerk')
    await logOut()
    expect(await sessionOf(services, call)).toBeUndefined()
    expect(await panel.lastRecord('')).toMatchObject({
      ...{ action: 'caller.log_out', actor: 'caller clerk', subject: 'clerk' },
      details: { session_id: session?.id, ...by(session?.id) },
    })
  })

  test('a caller who was withdrawn, by the session alone', async () => {
    const { session, logOut } = await logOutAs('clerk')
    await panel.withoutCallers(logOut)
    expect(await controlPanel.sessions.find(session?.hash as Buffer)).toBeUndefined()
    expect(await panel.lastRecord('')).toMatchObject({
      ...{ action: 'caller.log_out', actor: `session ${session?.id}`, subject: '' },
      details: { session_id: session?.id },
    })
  })

  test('with the first changes, and in turns with other sessions', async () => {
    const [user, caller, withdrawn] = [
      await logOutAs('tester'),
      await logOutAs('clerk'),
      await logOutAs('clerk'),
    ]
    const ended = vi.spyOn(controlPanel, 'change')
    await user.logOut()
    await caller.logOut()
    await panel.withoutCallers(withdrawn.logOut)
    expect(ended.mock.calls.map(([{ lane, principal }]) => [lane, principal])).toEqual([
      ['revocations', (await userNamed('tester')).id],
      ['revocations', 'caller clerk'],
      ['revocations', withdrawn.session?.id],
    ])
  })
})
