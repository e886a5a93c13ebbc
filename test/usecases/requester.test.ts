/** The requester of a call: an operator or a user, by what they present; and their rights at their turn. */
import { describe, expect, test, vi } from 'vitest'
import { compile, type Engine, type TokenKind } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { UNSCOPED_KIND, type VerifiedToken } from '../../sidecar/authority/authority.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import { Intake } from '../../sidecar/usecases/intake.ts'
import {
  authorOf,
  callerAuthor,
  confirmRequester,
  expectLiveSession,
  identify,
  type PresentedCredentials,
  type Requester,
  userByIamToken,
} from '../../sidecar/usecases/requester.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openSessions } from '../support/sidecar/office.ts'
import {
  byCertificate,
  byIamToken,
  byToken,
  CONNECTION,
  callerNamed,
  digestOf,
  openPeople,
  outcomeOf,
  presenting,
} from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const DAY_MS = 86_400_000
const clock = { nowMs: 1_800_000_000_000 }
const people = await openPeople(ACCOUNT, () => clock.nowMs)
const { administration, authority, engine, iamToken, panelToken, staticToken, userNamed, run } = people
const controlPanel = await administration.controlPanel()
const callers = new Callers([])
const services = { ...people, callers, controlPanel }
const CLERK = callerNamed('clerk', { administer: new Set([ACCOUNT]) })
callers.replace([CLERK])

const begin = openSessions(people, () => clock.nowMs)
/** Begins a session of a user, or of the clerk. @returns SHA-256 of its secret */
const sessionOf = (name: string) => begin(name === 'clerk' ? CLERK : name)
const bySession = (session: Buffer) => presenting({ session })
const restrictTo = (...ranges: string[]) => run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })

const [robot, ofProject, unscoped, revoked, owner] = await Promise.all([
  iamToken('robot'),
  iamToken('robot', 'alpha'),
  iamToken('robot', undefined, { ...people.kindFor(), id: UNSCOPED_KIND }),
  iamToken('robot'),
  panelToken('owner'),
])
await administration.directory.change(TESTER, (change) => change.revoke(revoked.token.tokenId, ACCOUNT))

const CREDENTIAL =
  'REQUESTER_NOT_AUTHENTICATED: expected a caller token (`authorization: Bearer …`) or an account-scoped IAM token (`x-auth-token`)'
const SESSION = 'REQUESTER_NOT_AUTHENTICATED: expected a session of the control panel; log in'
const INVALID =
  'CALLER_TOKEN_INVALID: the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`'
const ADDRESS = 'ADDRESS_NOT_ALLOWED: the account restricts client addresses, and this address is not allowed'
const NO_SESSION =
  'CALLER_TOKEN_MISSING: every call of this listener needs a caller token: `authorization: Bearer …`'

const FROM = { from: { protocol: 'grpc', address: '192.0.2.7' }, requestId: 'r-1' }
const CALL = { ...FROM, clientAddress: '192.0.2.7', ownersFromAnywhere: false }
const found = async (credentials: PresentedCredentials, ownersFromAnywhere?: boolean) =>
  outcomeOf(() => identify(services, credentials, ownersFromAnywhere))

describe('the requester of a call', () => {
  test('an operator, by a caller token, a certificate or a session', async () => {
    const identifiedBy = { type: 'token', digest: digestOf('clerk-token') }
    expect(await found(byToken('clerk'))).toEqual({
      type: 'operator',
      caller: { ...CLERK, identifiedBy },
      ...FROM,
    })
    const { certificateNames } = byCertificate('clerk')
    expect(await found(byCertificate('clerk'))).toEqual({
      ...{ type: 'operator', ...FROM },
      caller: { ...CLERK, identifiedBy: { type: 'certificate', names: certificateNames } },
    })
    const hash = await sessionOf('clerk')
    expect(await found(bySession(hash))).toEqual({
      ...{ type: 'operator', caller: { ...CLERK, identifiedBy }, ...FROM },
      session: expect.objectContaining({ hash, holder: 'caller' }),
    })
  })

  test('a user, by an IAM token or a session', async () => {
    const user = await userNamed('robot')
    expect(await found(byIamToken(robot.value))).toEqual({ type: 'user', user, token: robot.token, ...CALL })
    const hash = await sessionOf('owner')
    expect(await found(bySession(hash), true)).toEqual({
      ...{ type: 'user', user: await userNamed('owner'), ...CALL, ownersFromAnywhere: true },
      session: expect.objectContaining({ hash, holder: 'user' }),
    })
  })

  test.each<[claim: string, credentials: PresentedCredentials, refusal: string]>([
    ['nothing', presenting(), CREDENTIAL],
    ['two IAM tokens', byIamToken(robot.value, robot.value), CREDENTIAL],
    ['text', byIamToken('gibberish'), CREDENTIAL],
    ['a forged token', byIamToken(`${robot.value.slice(0, -6)}AAAAAA`), CREDENTIAL],
    ['a revoked token', byIamToken(revoked.value), CREDENTIAL],
    ['a token for a project', byIamToken(ofProject.value), CREDENTIAL],
    ['a token for no scope', byIamToken(unscoped.value), CREDENTIAL],
    ['a static token', byIamToken(staticToken('owner')), CREDENTIAL],
    ['a wrong caller token', byToken('nobody'), INVALID],
    ['an unknown session', bySession(digestOf('none')), SESSION],
  ])('no requester is authenticated by %s', async (_claim, credentials, refusal) => {
    expect(await found(credentials)).toBe(refusal)
  })

  test('a session does not count where there are no logins, or when its caller is withdrawn', async () => {
    const [ofCaller, ofUser] = [await sessionOf('clerk'), await sessionOf('owner')]
    const without = { ...services, controlPanel: undefined }
    expect(await outcomeOf(() => identify(without, bySession(ofUser)))).toBe(SESSION)
    const withdrawn = { ...services, callers: new Callers([]) }
    expect(await outcomeOf(() => identify(withdrawn, bySession(ofCaller)))).toBe(INVALID)
  })

  test('where the account restricts addresses, an owner may call from elsewhere what is for that', async () => {
    const [ofCaller, ofOwner, ofTester] = (await Promise.all(
      ['clerk', 'owner', 'tester'].map(sessionOf),
    )) as [Buffer, Buffer, Buffer]
    const tester = await panelToken('tester')
    const isFound = async (...asked: Parameters<typeof found>) => typeof (await found(...asked)) !== 'string'
    await restrictTo('198.51.100.0/24')
    expect(await isFound(bySession(ofCaller))).toBe(true)
    for (const credentials of [bySession(ofTester), byIamToken(tester.value)])
      for (const anywhere of [undefined, false, true])
        expect(await found(credentials, anywhere)).toBe(ADDRESS)
    for (const credentials of [bySession(ofOwner), byIamToken(owner.value)]) {
      for (const anywhere of [undefined, false]) expect(await found(credentials, anywhere)).toBe(ADDRESS)
      expect(await found(credentials, true)).toMatchObject({
        ownersFromAnywhere: true,
        user: { name: 'owner' },
      })
    }
    await restrictTo('192.0.2.0/24')
    expect(await isFound(byIamToken(tester.value))).toBe(true)
    await restrictTo()
  })
})

describe('the user of an IAM token', () => {
  const about = { ...FROM, clientAddress: '192.0.2.7', connection: CONNECTION } as const
  type About = Parameters<typeof userByIamToken>[1]
  const userOf = (value: string, change: Partial<About> = {}, given: Partial<typeof services> = {}) =>
    outcomeOf(() => userByIamToken({ ...services, ...given }, { ...about, value, ...change } as About))

  test('counts without a scope only where that is accepted', async () => {
    expect(await userOf(unscoped.value)).toBeUndefined()
    expect(await userOf(unscoped.value, { acceptUnscoped: false })).toBeUndefined()
    expect(await userOf(unscoped.value, { acceptUnscoped: true })).toMatchObject({ user: { name: 'robot' } })
    expect(await userOf(robot.value, { acceptUnscoped: true })).toMatchObject({ user: { name: 'robot' } })
  })

  test('is asked for with the address and the connection', async () => {
    const verify = vi.spyOn(authority, 'verify')
    await userOf(robot.value)
    const from = { clientAddress: '192.0.2.7', connection: CONNECTION }
    expect(verify).toHaveBeenCalledWith(robot.value, engine.tokenKinds, from)
    verify.mockClear()
    // A text that cannot be an IAM token is not verified.
    expect(await userOf(staticToken('owner'))).toBeUndefined()
    expect(verify).not.toHaveBeenCalled()
    verify.mockRestore()
  })

  test('is unknown by a token whose kind is not issued, or not there', async () => {
    const kinds = supportMatrix.tokenKinds as readonly TokenKind[]
    const other = (change: object | undefined): Engine =>
      compile<string, string>({
        ...{ title: 'other', apis: [] },
        tokenKinds: kinds.flatMap((kind) =>
          kind.id !== robot.token.kind ? [kind] : change ? [{ ...kind, ...change }] : [],
        ),
      })
    for (const acceptUnscoped of [false, true]) {
      expect(await userOf(robot.value, { acceptUnscoped }, { engine: other(undefined) })).toBeUndefined()
      const copied = { obtained: { by: 'control_panel' } }
      expect(await userOf(robot.value, { acceptUnscoped }, { engine: other(copied) })).toBeUndefined()
    }
  })

  /** The authority as it is, but for what it says of the token. */
  const saying = (change: Partial<VerifiedToken>, reason?: 'ADDRESS_NOT_ALLOWED' | 'CREDENTIAL_EXPIRED') =>
    Object.assign(Object.create(authority) as typeof authority, {
      recognize: () => 'issue' as const,
      verify: () => {
        const token = { ...robot.token, ...change }
        return reason === undefined ? { ok: true, token } : { ok: false, reason, token }
      },
    })
  const credential = { id: 'c', unrestricted: false }

  test.each<[claim: string, limited: boolean, roles: string[]]>([
    ['as many roles', false, ['iam.admin']],
    ['fewer roles', true, []],
  ])('with an application credential of %s than theirs has %j: %j', async (_claim, limited, roles) => {
    const { id } = await userNamed('admin')
    const subject = { id, name: 'admin', type: 'service_user' }
    const given = { authority: saying({ subject, applicationCredential: { ...credential, limited } }) }
    const rights = { roles, owner: false, validator: false }
    expect(await userOf('any', {}, given)).toMatchObject({ user: { name: 'admin', ...rights } })
  })

  test('takes the rights of an owner and of a validator, too', async () => {
    const user = { ...(await userNamed('admin')), owner: true, validator: true }
    const records = { userById: async () => user } as unknown as typeof administration.records
    const given = (limited: boolean) => ({
      administration: { ...administration, records },
      authority: saying({ applicationCredential: { ...credential, limited } }),
    })
    expect(await userOf('any', {}, given(false))).toMatchObject({ user })
    expect(await userOf('any', {}, given(true))).toMatchObject({
      user: { ...user, owner: false, roles: [], validator: false },
    })
  })

  test('is unknown when they are gone, and by an expired token', async () => {
    const records = { userById: async () => undefined } as unknown as typeof administration.records
    const gone = { administration: { ...administration, records } }
    expect(await userOf(robot.value, {}, gone)).toBeUndefined()
    const outside = { ...gone, authority: saying({}, 'ADDRESS_NOT_ALLOWED') }
    expect(await userOf('any', { ownersFromAnywhere: true }, outside)).toBe(ADDRESS)
    const ofOwner = { authority: saying(owner.token, 'ADDRESS_NOT_ALLOWED') }
    expect(await userOf('any', {}, ofOwner)).toBe(ADDRESS)
    expect(await userOf('any', { ownersFromAnywhere: true }, ofOwner)).toMatchObject({
      user: { name: 'owner' },
    })
    const expired = { authority: saying({}, 'CREDENTIAL_EXPIRED') }
    expect(await userOf('any', { ownersFromAnywhere: true }, expired)).toBeUndefined()
  })
})

describe('every call of a listener needs a live session', () => {
  const expected = async (hash: Buffer, given: Partial<typeof services> = {}, anywhere = false) => {
    const intake = new Intake(callers)
    const turn = vi.spyOn(intake, 'turn')
    const call = { clientAddress: '192.0.2.7', ownersFromAnywhere: anywhere, connection: 'c' } as const
    const admitting = { ...services, ...given, intake } as unknown as Parameters<typeof expectLiveSession>[0]
    const outcome = await outcomeOf(() => expectLiveSession(admitting, hash, call))
    expect(turn.mock.calls).toEqual([['c', { session: hash }]])
    return outcome
  }

  test('of a user, or of a caller who is still one', async () => {
    const [ofCaller, ofOwner] = [await sessionOf('clerk'), await sessionOf('owner')]
    expect(await expected(ofCaller)).toBeUndefined()
    expect(await expected(ofOwner)).toBeUndefined()
    expect(await expected(ofOwner, { callers: new Callers([]) })).toBeUndefined()
    expect(await expected(ofCaller, { callers: new Callers([]) })).toBe(INVALID)
    expect(await expected(ofOwner, { controlPanel: undefined as never })).toBe(NO_SESSION)
    expect(await expected(digestOf('none'))).toBe(NO_SESSION)
  })

  test('from an address that counts', async () => {
    const [ofCaller, ofOwner] = [await sessionOf('clerk'), await sessionOf('owner')]
    await restrictTo('198.51.100.0/24')
    expect(await expected(ofCaller)).toBeUndefined()
    expect(await expected(ofOwner)).toBe(ADDRESS)
    expect(await expected(ofOwner, {}, true)).toBeUndefined()
    await restrictTo()
  })
})

describe('when it is the turn of their change', () => {
  /** Inside the transaction of a change. */
  const confirmed = async (requester: Requester, given: Partial<typeof services> = {}) => {
    const all = { ...services, now: () => clock.nowMs, ...given }
    return administration.directory.change(TESTER, ({ records }) =>
      outcomeOf(() => confirmRequester(all, requester, records)),
    )
  }
  const requesterBy = async (credentials: PresentedCredentials, anywhere?: boolean) => {
    const requester = await found(credentials, anywhere)
    if (typeof requester === 'string') throw new TypeError(requester)
    return requester
  }

  test('an operator has the rights that they have now', async () => {
    const requester = await requesterBy(byToken('clerk'))
    const later = callerNamed('clerk', { read: true })
    expect(await confirmed(requester, { callers: new Callers([later]) })).toMatchObject({
      ...{ type: 'operator', caller: { name: 'clerk', rights: later.rights }, ...FROM },
    })
    expect(await confirmed(requester, { callers: new Callers([]) })).toBe(INVALID)
  })

  test('a user has the rights that they have now', async () => {
    const { value } = await iamToken('admin')
    const requester = await requesterBy(byIamToken(value))
    expect(await confirmed(requester)).toEqual(requester)
    await run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'admin', roles: [] })
    expect(await confirmed(requester)).toMatchObject({
      user: { roles: [] },
      token: requester.type === 'user' && requester.token,
    })
    const begin = clock.nowMs
    const at = async (nowMs: number) => confirmed(requester, { now: () => nowMs } as Partial<typeof services>)
    expect(await at(begin + DAY_MS)).toBe(CREDENTIAL)
    expect(await at(begin + DAY_MS - 1)).toMatchObject({ type: 'user' })
    await restrictTo('198.51.100.0/24')
    expect(await confirmed(requester)).toBe(ADDRESS)
    await restrictTo()
    await run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'admin' })
    expect(await confirmed(requester)).toBe(CREDENTIAL)
  })

  test('a session is still theirs', async () => {
    const [ofCaller, ofOwner] = [await sessionOf('clerk'), await sessionOf('owner')]
    const [operator, user] = [
      await requesterBy(bySession(ofCaller)),
      await requesterBy(bySession(ofOwner), true),
    ]
    expect(await confirmed(operator)).toEqual(operator)
    expect(await confirmed(user)).toEqual({ ...user, token: undefined })
    expect(await confirmed(operator, { callers: new Callers([]) })).toBe(INVALID)
    for (const each of [operator, user])
      expect(await confirmed(each, { controlPanel: undefined as never })).toBe(SESSION)
    // A session of another holder does not count.
    expect(await confirmed({ ...operator, session: user.session } as Requester)).toBe(SESSION)
    expect(await confirmed({ ...user, session: operator.session } as Requester)).toBe(SESSION)
    await restrictTo('198.51.100.0/24')
    expect(await confirmed(operator)).toEqual(operator)
    expect(await confirmed(user)).toMatchObject({ user: { name: 'owner' } })
    expect(await confirmed({ ...user, ownersFromAnywhere: false } as Requester)).toBe(ADDRESS)
    await restrictTo()
    clock.nowMs += DAY_MS
    for (const each of [operator, user]) expect(await confirmed(each)).toBe(SESSION)
  })
})

describe('the author of a change', () => {
  test('is an operator by name; the lane of those who may do everything is theirs', async () => {
    const requester = await found(byToken('clerk'))
    if (typeof requester === 'string' || requester.type !== 'operator') throw new TypeError('no operator')
    const author = { name: 'caller clerk', principal: 'caller clerk' }
    const origin = { ...FROM.from, requestId: 'r-1', sessionId: undefined }
    expect(authorOf(requester, 'administrators')).toEqual({ ...author, lane: 'administrators', origin })
    const all = {
      ...requester,
      caller: { ...requester.caller, rights: { ...CLERK.rights, everything: true } },
    }
    expect(callerAuthor(all, 'users')).toEqual({ ...author, lane: 'operators', origin })
    const inSession = await found(bySession(await sessionOf('clerk')))
    if (typeof inSession === 'string' || inSession.type !== 'operator') throw new TypeError('no operator')
    expect(authorOf(inSession, 'users').origin).toEqual({ ...origin, sessionId: inSession.session?.id })
  })

  test('is a user by their id, with the token or the session', async () => {
    const { value, token } = await iamToken('robot')
    const byOwnToken = await found(byIamToken(value))
    const session = await found(bySession(await sessionOf('owner')))
    if (typeof byOwnToken === 'string' || typeof session === 'string') throw new TypeError('no user')
    const [{ id }, { id: ownerId }] = [await userNamed('robot'), await userNamed('owner')]
    const origin = { ...FROM.from, requestId: 'r-1' }
    expect(authorOf(byOwnToken, 'users')).toEqual({
      ...{ name: `service_user ${id} (robot)`, lane: 'users', principal: id },
      origin: { ...origin, tokenId: token.tokenId, account: ACCOUNT },
    })
    expect(authorOf(session, 'revocations')).toEqual({
      ...{ name: `control_panel_user ${ownerId} (owner)`, lane: 'revocations', principal: ownerId },
      origin: { ...origin, sessionId: session.session?.id },
    })
  })
})
