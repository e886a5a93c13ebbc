/**
 * The requesters who revoke each token, in whose name, and that their right is checked again at their turn.
 * `test/contract/revoke.test.ts` asks over the wire.
 */
import { describe, expect, test, vi } from 'vitest'
import { UNSCOPED_KIND, type Verifier } from '../../sidecar/authority/authority.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import type { PresentedCredentials } from '../../sidecar/usecases/requester.ts'
import { type Revoked, type RevokeRequest, type Revoking, revoke } from '../../sidecar/usecases/revoke.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import {
  byCertificate,
  byIamToken,
  byToken,
  CONNECTION,
  callerNamed,
  openPeople,
  outcomeOf,
  presenting,
} from '../support/sidecar/services.ts'

const [ACCOUNT, ELSEWHERE] = ['4711', '4712']
const NOW_MS = 1_800_000_000_000
const people = await openPeople(ACCOUNT, () => NOW_MS)
const { administration, authority, iamToken, panelToken, staticToken, userNamed, run } = people
const revoking = vi.spyOn(administration.directory, 'change')

const CALLERS = [
  callerNamed('operator', { everything: true }),
  callerNamed('clerk', { revoke: true }),
  callerNamed('here', { administer: new Set([ACCOUNT]) }),
  callerNamed('elsewhere', { administer: new Set([ELSEWHERE]) }),
  callerNamed('reader', { read: true, follow: true }),
]

/** The directory, and two upstreams that accept each text that begins with their name: `cloud-ACCOUNT`. */
function world() {
  const looked: unknown[] = []
  const ended: unknown[][] = []
  const callers = new Callers(CALLERS)
  const during: { lookUp?: () => unknown } = {}
  const verifier: Verifier = {
    recognize: (...asked) => authority.recognize(...asked),
    verify: async (value, kinds, from) => {
      looked.push([value, kinds, from])
      const [upstream = '', account = ''] = value.split('-')
      if (!['cloud', 'other'].includes(upstream)) {
        const verification = await authority.verify(value, kinds, from)
        if (from?.lookedUp) await during.lookUp?.()
        return verification
      }
      const subject = { id: `${upstream}-user`, name: 'user', type: 'user' }
      const kind = people.kindFor().id
      const ends = { tokenId: `${upstream}:${account}`, issuedAtMs: 1, expiresAtMs: undefined }
      return { ok: true, token: { kind, scope: { account }, subject, authority: upstream, ...ends } }
    },
  }
  const upstreams = {
    revoke: async (upstream: string, value: Secret, by: Secret | undefined) =>
      void ended.push([upstream, value.reveal(), by?.reveal()]),
  }
  const services: Revoking = { ...people, verifier, upstreams, callers }
  const ask = (request: RevokeRequest, credentials: PresentedCredentials) =>
    outcomeOf(() => revoke(services, request, credentials))
  const byValue = (value: string, credentials: PresentedCredentials) =>
    ask({ type: 'value', value: new Secret(value) }, credentials)
  return { services, callers, looked, ended, during, ask, byValue }
}

const INVALID = 'CREDENTIAL_INVALID: the token is unknown or not genuine, so there is nothing to revoke'
const CREDENTIAL =
  'REQUESTER_NOT_AUTHENTICATED: expected a caller token (`authorization: Bearer …`), or an IAM token of the holder or of an administrator of the account (`x-auth-token`)'
const NOT_HOLDER =
  'NOT_HOLDER_NOR_ADMINISTRATOR: only the holder of the token, the owner of its account and users with the role `iam.admin` may ask about it or revoke it; a validator may ask about it'
const SCOPE = "ACCOUNT_SCOPE_REQUIRED: revoking another user's token needs an account-scoped token"
const NOT_OWNER = 'NOT_OWNER: only an owner of the account may do this'
const WITHDRAWN =
  'CALLER_TOKEN_INVALID: the caller token is unknown, expired or withdrawn; expected one `authorization: Bearer …`'
const noRight = (caller: string, action: string) =>
  `CALLER_RIGHT_MISSING: caller \`${caller}\` may not ${action}: it needs the right \`revoke\``
const [A_TOKEN, THIS_TOKEN] = ['revoke a token', 'revoke this token']

/** Revoked when it was asked for; else the refusal. */
const told = (outcome: Revoked | string) =>
  typeof outcome === 'string' ? outcome : outcome.revokedAtMs === NOW_MS ? 'revoked' : outcome

const lastRecord = async () =>
  (await administration.records.audit(ACCOUNT, { after: '0', size: 1_000 })).at(-1)
const isActive = async (value: string) => (await authority.verify(value, people.engine.tokenKinds)).ok
const [robot, robotOfProject, admin, adminOfProject, owner, revokedUser, unscoped] = await Promise.all([
  iamToken('robot'),
  iamToken('robot', 'alpha'),
  iamToken('admin'),
  iamToken('admin', 'alpha'),
  panelToken('owner'),
  iamToken('robot'),
  iamToken('robot', undefined, { ...people.kindFor(), id: UNSCOPED_KIND }),
])
await administration.directory.change(TESTER, (change) => change.revoke(revokedUser.token.tokenId, ACCOUNT))
const ofTester = { ...(await panelToken('tester')), static: staticToken('tester') }

describe('by its id', () => {
  test.each<[credentials: PresentedCredentials, outcome: string]>([
    [byToken('operator'), 'revoked'],
    [byToken('clerk'), 'revoked'],
    [byCertificate('clerk'), 'revoked'],
    [byToken('here'), noRight('here', 'revoke by token id')],
    [byToken('reader'), noRight('reader', 'revoke by token id')],
    [
      presenting(),
      'CALLER_TOKEN_MISSING: revoking by token id needs a caller token: `authorization: Bearer …`',
    ],
    [
      byIamToken(admin.value),
      'CALLER_TOKEN_MISSING: revoking by token id needs a caller token: `authorization: Bearer …`',
    ],
  ])('%#: only a caller with the right', async (credentials, outcome) => {
    const { value, token } = await iamToken('robot')
    const { tokenId } = token
    const revoked = await world().ask({ type: 'token_id', tokenId }, credentials)
    expect(told(revoked)).toBe(outcome)
    expect(await isActive(value)).toBe(outcome !== 'revoked')
    if (outcome === 'revoked') expect(revoked).toEqual({ tokenId, revokedAtMs: NOW_MS })
  })

  test('the account is for the directory to say', async () => {
    const key = { account: ACCOUNT, userName: 'tester', name: 'by its id' }
    const { token } = await run(TESTER, 'createStaticToken', key)
    await world().ask({ type: 'token_id', tokenId: token.id }, byToken('clerk'))
    const { id: user_id } = await userNamed('tester')
    expect(await lastRecord()).toMatchObject({
      ...{ action: 'token.revoke', subject: 'by its id', subjectId: token.id },
      details: { user: 'tester', user_id },
    })
  })
})

/** The requesters of the rows below. */
const REQUESTERS = {
  ...{ nobody: presenting(), 'a wrong caller token': byToken('stranger') },
  ...{ operator: byToken('operator'), clerk: byToken('clerk'), here: byToken('here') },
  ...{ elsewhere: byToken('elsewhere'), reader: byToken('reader') },
  'certificate of clerk': byCertificate('clerk'),
  'certificate of here': byCertificate('here'),
  'certificate of elsewhere': byCertificate('elsewhere'),
  'certificate of reader': byCertificate('reader'),
  ...{ text: byIamToken('gibberish'), 'two tokens': byIamToken(admin.value, admin.value) },
  'a revoked token': byIamToken(revokedUser.value),
  'a token for no scope': byIamToken(unscoped.value),
  ...{ robot: byIamToken(robot.value), admin: byIamToken(admin.value), owner: byIamToken(owner.value) },
  'robot for a project': byIamToken(robotOfProject.value),
  'admin for a project': byIamToken(adminOfProject.value),
  ...{ 'cloud user': byIamToken(`cloud-${ACCOUNT}`), 'other user': byIamToken(`other-${ACCOUNT}`) },
} as const
type RequesterName = keyof typeof REQUESTERS

const ALL_WITH_RIGHT = ['operator', 'clerk', 'certificate of clerk', 'here', 'certificate of here'] as const
const UNKNOWN_USERS = ['text', 'two tokens', 'a revoked token', 'a token for no scope'] as const

/** The answer to each requester; all who are not named: the last. */
type Outcomes = readonly (readonly [requesters: readonly RequesterName[], outcome: string])[]
function expectedOf(requester: RequesterName, outcomes: Outcomes): string {
  const row = outcomes.find(([requesters]) => requesters.includes(requester))
  if (row === undefined) throw new TypeError(`no row has ${requester}`)
  return row[1]
}

const IN_ANY_CASE: Outcomes = [
  [['a wrong caller token'], WITHDRAWN],
  [['reader'], noRight('reader', A_TOKEN)],
  [UNKNOWN_USERS, CREDENTIAL],
]

describe.each<[what: string, value: () => Promise<string>, outcomes: Outcomes]>([
  [
    'an IAM token of a service user',
    async () => (await iamToken('robot')).value,
    [
      ...IN_ANY_CASE,
      [['elsewhere'], noRight('elsewhere', THIS_TOKEN)],
      [['cloud user', 'other user'], NOT_HOLDER],
      [['admin for a project'], SCOPE],
      [
        [
          ...ALL_WITH_RIGHT,
          'nobody',
          'certificate of elsewhere',
          'certificate of reader',
          'robot',
          'robot for a project',
          'admin',
          'owner',
        ],
        'revoked',
      ],
    ],
  ],
  [
    'a static token',
    async () => ofTester.static,
    [
      ...IN_ANY_CASE,
      [['nobody', 'certificate of reader', 'cloud user', 'other user'], CREDENTIAL],
      [['elsewhere', 'certificate of elsewhere'], ''],
      [['robot', 'robot for a project'], NOT_HOLDER],
      [['admin for a project'], SCOPE],
      [[...ALL_WITH_RIGHT, 'admin', 'owner'], 'revoked'],
    ],
  ],
  [
    'what is no token',
    async () => 'gibberish',
    [...IN_ANY_CASE, [Object.keys(REQUESTERS) as RequesterName[], INVALID]],
  ],
  [
    'a token of an upstream',
    async () => `cloud-${ACCOUNT}`,
    [
      ...IN_ANY_CASE,
      [['elsewhere'], noRight('elsewhere', THIS_TOKEN)],
      [['robot', 'robot for a project', 'admin', 'owner', 'admin for a project', 'other user'], NOT_HOLDER],
      [
        [...ALL_WITH_RIGHT, 'nobody', 'certificate of elsewhere', 'certificate of reader', 'cloud user'],
        'revoked',
      ],
    ],
  ],
])('%s', (_what, value, outcomes) => {
  test.each(Object.keys(REQUESTERS) as RequesterName[])('by %s', async (requester) => {
    const { byValue, ended } = world()
    const asked = await value()
    let expected = expectedOf(requester, outcomes)
    revoking.mockClear()
    if (expected === '') expected = noRight('elsewhere', THIS_TOKEN)
    const outcome = await byValue(asked, REQUESTERS[requester])
    expect(told(outcome)).toBe(expected)
    const isOfUpstream = asked.startsWith('cloud')
    expect(ended.map(([upstream, ended_]) => [upstream, ended_])).toEqual(
      isOfUpstream && expected === 'revoked' ? [['cloud', asked]] : [],
    )
    // A refused requester takes no turn among the changes.
    expect(revoking).toHaveBeenCalledTimes(expected === 'revoked' && !isOfUpstream ? 1 : 0)
    if (asked.startsWith('ey')) expect(await isActive(asked)).toBe(expected !== 'revoked')
  })
})

test.each<[requester: RequesterName, by: string | undefined]>([
  // The token that the sidecar validates with.
  ['clerk', undefined],
  ['certificate of here', undefined],
  ['cloud user', 'cloud-another'],
  ['nobody', `cloud-${ACCOUNT}`],
  ['certificate of elsewhere', `cloud-${ACCOUNT}`],
])('an upstream is asked by %s with the token %s', async (requester, by) => {
  const { byValue, ended } = world()
  const credentials = requester === 'cloud user' ? byIamToken('cloud-another') : REQUESTERS[requester]
  expect(await byValue(`cloud-${ACCOUNT}`, credentials)).toEqual({
    tokenId: `cloud:${ACCOUNT}`,
    revokedAtMs: NOW_MS,
  })
  expect(ended).toEqual([['cloud', `cloud-${ACCOUNT}`, by]])
})

test('the token is only looked up, and each credential is verified for its connection', async () => {
  const { byValue, looked } = world()
  const { value } = await iamToken('robot')
  await byValue(value, byIamToken(admin.value))
  const connection = CONNECTION
  const { tokenKinds } = people.engine
  // An upstream may have bound the token to what no kind of the matrix is for.
  const ofNoMatrix = ['account', 'project'].map((scopeLevel) => {
    const words = { title: 'token of no kind', family: '', issuedTo: '', header: '', section: '' }
    const id = `none.${scopeLevel}`
    const issued = { obtained: { by: 'issue' }, permissionScopes: [], lifetimeSeconds: null }
    return [id, { ...words, id, scopeLevel, ...issued }] as const
  })
  expect(looked).toEqual([
    [admin.value, tokenKinds, { connection }],
    [value, new Map([...tokenKinds, ...ofNoMatrix] as never), { connection, lookedUp: true }],
  ])
})

test('nothing is asked about a static token if no requester may revoke one', async () => {
  const { byValue, looked } = world()
  await byValue(ofTester.static, REQUESTERS['cloud user'])
  await byValue(ofTester.static, REQUESTERS.nobody)
  await byValue(ofTester.static, REQUESTERS.reader)
  // A finder does not learn whether it is valid.
  const wrong = `${ofTester.static.slice(0, -1)}${ofTester.static.endsWith('0') ? '1' : '0'}`
  expect(await byValue(wrong, REQUESTERS.nobody)).toBe(CREDENTIAL)
  expect(looked).toEqual([])
})

describe('in the name of', () => {
  const origin = { protocol: 'grpc', address: '192.0.2.7', requestId: 'r-1' }
  const ofCaller = (name: string, lane: string) => ({
    ...{ name: `caller ${name}`, principal: `caller ${name}`, lane },
    origin: { ...origin, sessionId: undefined },
  })
  test.each<[requester: RequesterName, actor: () => Promise<object>]>([
    ['operator', async () => ofCaller('operator', 'operators')],
    ['clerk', async () => ofCaller('clerk', 'operators')],
    ['here', async () => ofCaller('here', 'revocations')],
    [
      'nobody',
      async () => {
        const { id } = await userNamed('robot')
        return {
          name: `the holder of the token of service_user ${id}`,
          principal: id,
          lane: 'revocations',
          origin: { ...origin, account: ACCOUNT, tokenId: expect.any(String) },
        }
      },
    ],
    [
      'admin',
      async () => {
        const { id } = await userNamed('admin')
        const { tokenId } = admin.token
        return {
          name: `service_user ${id} (admin)`,
          principal: id,
          lane: 'revocations',
          origin: { ...origin, account: ACCOUNT, tokenId },
        }
      },
    ],
  ])('%s', async (requester, actor) => {
    const { value, token } = await iamToken('robot')
    revoking.mockClear()
    await world().byValue(value, REQUESTERS[requester])
    const [by] = revoking.mock.calls[0] ?? []
    expect(by).toMatchObject(await actor())
    const { id: user_id } = await userNamed('robot')
    expect(await lastRecord()).toMatchObject({
      ...{ action: 'token.revoke', subjectId: token.tokenId },
      details: { user: 'robot', user_id, ...(requester === 'nobody' && { by: { token_id: token.tokenId } }) },
    })
  })
})

describe('when it is the turn of the change', () => {
  const update = (name: string, change: { owner?: boolean; roles?: string[] }) =>
    run(TESTER, 'updateControlPanelUser', { account: ACCOUNT, name, ...change })

  test.each<[claim: string, lose: (callers: Callers) => unknown, requester: RequesterName, outcome: string]>([
    ['who lost nothing', () => {}, 'clerk', 'revoked'],
    ['who was withdrawn', (callers) => callers.replace([]), 'clerk', WITHDRAWN],
    [
      'whose right was taken away',
      (callers) => callers.replace([callerNamed('clerk', { read: true })]),
      ...(['clerk', noRight('clerk', THIS_TOKEN)] as const),
    ],
    [
      'who administers another account now',
      (callers) => callers.replace([callerNamed('here', { administer: new Set([ELSEWHERE]) })]),
      ...(['here', noRight('here', THIS_TOKEN)] as const),
    ],
    [
      'who may do it otherwise now',
      (callers) => callers.replace([callerNamed('here', { revoke: true })]),
      ...(['here', 'revoked'] as const),
    ],
  ])('a caller %s', async (_claim, lose, requester, outcome) => {
    const { byValue, callers, during } = world()
    during.lookUp = () => lose(callers)
    const { value } = await iamToken('robot')
    expect(told(await byValue(value, REQUESTERS[requester]))).toBe(outcome)
    expect(await isActive(value)).toBe(outcome !== 'revoked')
  })

  test('a user who lost the role, or whose token was revoked', async () => {
    const { byValue, during } = world()
    const { value } = await iamToken('robot')
    const administrator = async () => {
      await update('tester', { roles: ['iam.admin'] })
      return panelToken('tester')
    }
    const demoted = await administrator()
    during.lookUp = () => update('tester', { roles: [] })
    expect(await byValue(value, byIamToken(demoted.value))).toBe(NOT_HOLDER)
    const { value: ended, token } = await administrator()
    during.lookUp = () =>
      administration.directory.change(TESTER, (change) => change.revoke(token.tokenId, ACCOUNT))
    expect(await byValue(value, byIamToken(ended))).toBe(CREDENTIAL)
    expect(await isActive(value)).toBe(true)
  })

  test('a token of a user who is deleted', async () => {
    const { byValue } = world()
    const name = 'deleted'
    await run(TESTER, 'createControlPanelUser', { account: ACCOUNT, name })
    const { value } = await panelToken(name)
    await run(TESTER, 'deleteControlPanelUser', { account: ACCOUNT, name })
    expect(told(await byValue(value, byIamToken(admin.value)))).toBe('revoked')
  })

  test('a token of an owner is for owners, and for themselves', async () => {
    const { byValue, during } = world()
    const ofOwner = (await panelToken('owner')).value
    expect(await byValue(ofOwner, byIamToken(admin.value))).toBe(NOT_OWNER)
    expect(await isActive(ofOwner)).toBe(true)
    // An owner who ceases to be one and administers as others do.
    await update('tester', { owner: true, roles: ['iam.admin'] })
    const { value: byTester } = await panelToken('tester')
    during.lookUp = () => update('tester', { owner: false })
    expect(await byValue(ofOwner, byIamToken(byTester))).toBe(NOT_OWNER)
    delete during.lookUp
    expect(told(await byValue(byTester, byIamToken(byTester)))).toBe('revoked')
    expect(told(await byValue(ofOwner, byIamToken(ofOwner)))).toBe('revoked')
    const again = (await panelToken('owner')).value
    expect(told(await byValue(again, byToken('here')))).toBe('revoked')
  })
})
