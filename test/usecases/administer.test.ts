/**
 * What every operation of administration goes through: who asks, their right, before the work and again when
 * it is the turn of the change, and how much they may change.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  administer,
  type OperationName,
  type OperationRequest,
  requesterOf,
} from '../../sidecar/usecases/administration/administer.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'
import type { PresentedCredentials } from '../../sidecar/usecases/requester.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { openOffice } from '../support/sidecar/office.ts'
import { byIamToken, byToken, outcomeOf } from '../support/sidecar/services.ts'

const account = '4711'
const MINUTE_MS = 60_000
const clock = { nowMs: 1_800_000_000_000 }
const { services, ask, logIn, administration, panelToken, userNamed, run } = await openOffice(
  account,
  () => clock.nowMs,
)
const [root, clerk, reader] = [byToken('root'), byToken('clerk'), byToken('reader')]
const tokenOf = async (name: string) => byIamToken((await panelToken(name)).value)

const NOT_OWNER = 'NOT_OWNER: only an owner of the account may do this'
const administratorsOnly = (...others: string[]) =>
  `NOT_ADMINISTRATOR: only ${[...others, 'the account owner or a user with the role iam.admin'].join(', ')} may do this`
const OPERATORS_ONLY = 'NOT_ADMINISTRATOR: only an operator may do this'
const noRight = (caller: string, right: string) =>
  `CALLER_RIGHT_MISSING: caller \`${caller}\` may not do this in the directory: it needs the right \`${right}\``
const CONFIRM =
  'REAUTHENTICATION_REQUIRED: confirm your password, passkey or caller token: the last confirmation is more than ten minutes old'

let count = 0
const newName = () => `name-${++count}`
/** A new user with `iam.admin`. */
async function newAdministrator(owner = false): Promise<string> {
  const name = newName()
  await run(TESTER, 'createControlPanelUser', { account, name, owner, roles: ['iam.admin'] })
  return name
}
const tokenOfNew = async (name: string) =>
  byIamToken((await run(TESTER, 'reissueControlPanelUserToken', { account, name })).value.reveal())
const trail = () => administration.records.audit(account, { after: '0', size: 1_000 })
const succeeds = (outcome: unknown) => (typeof outcome === 'string' ? outcome : 'done')

beforeEach(() => {
  clock.nowMs += 60 * MINUTE_MS
})

describe('who asks', () => {
  test('is who the change was made by', async () => {
    const { value, token } = await panelToken('owner')
    const name = newName()
    expect(await ask(byIamToken(value), 'createProject', { account, name })).toEqual(
      await run(TESTER, 'getProject', { account, name }),
    )
    expect((await trail()).at(-1)).toMatchObject({
      ...{ action: 'project.create', subject: name },
      actor: `control_panel_user ${token.subject.id} (owner)`,
      details: { by: { token_id: token.tokenId } },
    })
  })

  test('and cannot, changes nothing', async () => {
    const before = await trail()
    const request = { account, name: newName() }
    const refused = await ask(await tokenOf('tester'), 'createProject', request)
    expect(refused).toBe(administratorsOnly())
    expect(await ask(reader, 'createProject', request)).toBe(noRight('reader', 'administer'))
    expect((await trail()).filter(({ action }) => action === 'project.create')).toEqual(
      before.filter(({ action }) => action === 'project.create'),
    )
  })

  test('may be an owner at any address only where the operation is for that', async () => {
    const owner = await tokenOf('owner')
    const ranges = ['198.51.100.0/24']
    await run(TESTER, 'setAddressRestriction', { account, ranges })
    const ADDRESS =
      'ADDRESS_NOT_ALLOWED: the account restricts client addresses, and this address is not allowed'
    expect(await ask(owner, 'getAccount', { account })).toBe(ADDRESS)
    expect(await ask(owner, 'getAddressRestriction', { account })).toEqual({ ranges })
    const lifted = { account, ranges: [], allowExcludingRequester: false }
    expect(await ask(owner, 'setAddressRestriction', lifted)).toEqual({ ranges: [] })
  })
})

describe('what is for owners', () => {
  test('by the request', async () => {
    const [owner, admin] = [await tokenOf('owner'), await tokenOfNew(await newAdministrator())]
    const create = (owner: boolean) => ({ account, name: newName(), owner, roles: [] })
    expect(await ask(admin, 'createControlPanelUser', create(true))).toBe(NOT_OWNER)
    expect(succeeds(await ask(admin, 'createControlPanelUser', create(false)))).toBe('done')
    expect(succeeds(await ask(owner, 'createControlPanelUser', create(true)))).toBe('done')
    expect(succeeds(await ask(clerk, 'createControlPanelUser', create(true)))).toBe('done')
  })

  test('by whom it is about', async () => {
    const [owner, admin] = [await tokenOf('owner'), await tokenOfNew(await newAdministrator())]
    const [ofOwner, ofOther] = [await newAdministrator(true), await newAdministrator()]
    expect(await ask(admin, 'deleteControlPanelUser', { account, name: ofOwner })).toBe(NOT_OWNER)
    expect(await ask(admin, 'deleteControlPanelUser', { account, name: ofOther })).toBeUndefined()
    expect(await ask(owner, 'deleteControlPanelUser', { account, name: ofOwner })).toBeUndefined()
  })
})

test('what is for operators by whom it is about', async () => {
  const owner = await tokenOf('owner')
  const name = newName()
  await run(TESTER, 'createServiceUser', { account, name, permissions: [] })
  const replace = (credentials: PresentedCredentials) =>
    ask(credentials, 'replaceServiceUserPassword', { account, name })
  expect(succeeds(await replace(owner))).toBe('done')
  await run(TESTER, 'setServiceUserValidator', { account, name, validator: true })
  expect(await replace(owner)).toBe(OPERATORS_ONLY)
  expect(await replace(clerk)).toBe(noRight('clerk', 'everything'))
  expect(succeeds(await replace(root))).toBe('done')
})

describe('a session that was not confirmed for ten minutes', () => {
  const outcomes = async (credentials: PresentedCredentials) => {
    const update = { account, name: 'tester', enabled: true, owner: undefined }
    const refusals = [
      await ask(credentials, 'createProject', { account, name: newName() }),
      await ask(credentials, 'updateControlPanelUser', { ...update, roles: ['member'] }),
      await ask(credentials, 'createStaticToken', { account, userName: 'owner', name: newName(), note: '' }),
      await ask(credentials, 'createControlPanelUser', {
        ...{ account, name: newName(), owner: true, roles: [] },
      }),
    ]
    return refusals.map(succeeds)
  }

  test('gives out no secret, and makes nobody an administrator', async () => {
    const session = await logIn('owner')
    expect(await outcomes(session)).toEqual(['done', 'done', 'done', 'done'])
    clock.nowMs += 11 * MINUTE_MS
    expect(await outcomes(session)).toEqual(['done', 'done', CONFIRM, CONFIRM])
    // A token is no session.
    expect(await outcomes(await tokenOf('owner'))).toEqual(['done', 'done', 'done', 'done'])
  })

  test('counts at the time when it is the turn of the change', async () => {
    const requester = await requesterOf(services, 'createStaticToken', await logIn('owner'))
    const request = { account, userName: 'owner', name: newName(), note: '' }
    let asked = 0
    // The second look is inside the transaction.
    const now = () => clock.nowMs + (asked++ === 0 ? 0 : 11 * MINUTE_MS)
    const late = { ...services, now }
    const operation = 'createStaticToken'
    expect(await outcomeOf(() => administer(late, { requester, operation, request }))).toBe(CONFIRM)
  })
})

describe('who has lost a right since they were authenticated', () => {
  /** Asks as who had the right, after they have lost it. */
  async function afterLosing<Name extends OperationName>(
    name: string,
    lost: { readonly owner?: boolean; readonly roles?: readonly string[] },
    operation: Name,
    request: OperationRequest<Name>,
  ) {
    const requester = await requesterOf(services, operation, await tokenOfNew(name))
    await run(TESTER, 'updateControlPanelUser', { account, name, ...lost })
    return outcomeOf(() => administer(services, { requester, operation, request }))
  }

  test('changes nothing, and is answered what they asked for', async () => {
    const project = { account, name: newName() }
    const none = { roles: [] }
    expect(await afterLosing(await newAdministrator(), none, 'createProject', project)).toBe(
      administratorsOnly(),
    )
    expect(await outcomeOf(() => run(TESTER, 'getProject', { account, name: project.name }))).toMatch(
      /NOT_FOUND/,
    )
    expect(succeeds(await afterLosing(await newAdministrator(), none, 'getAccount', { account }))).toBe(
      'done',
    )
  })

  test('is no owner any more, for what is for owners', async () => {
    const noOwner = { owner: false }
    const create = { account, name: newName(), owner: true, roles: [] }
    expect(await afterLosing(await newAdministrator(true), noOwner, 'createControlPanelUser', create)).toBe(
      NOT_OWNER,
    )
    const remove = { account, name: 'owner' }
    expect(await afterLosing(await newAdministrator(true), noOwner, 'deleteControlPanelUser', remove)).toBe(
      NOT_OWNER,
    )
    expect(await userNamed('owner')).toMatchObject({ enabled: true })
  })
})

test('users and administrators have a rate each for their changes; reading and taking rights away have none', async () => {
  const limits = { burst: 1, administratorPerMinute: 60, userPerMinute: 6 }
  const changeRates = new ChangeRates(limits, () => 0)
  const throttled = (seconds: number) =>
    `CHANGES_THROTTLED: too many changes by this user or caller; try again in ${seconds} s`
  const asking = async <Name extends OperationName>(
    credentials: PresentedCredentials,
    operation: Name,
    request: OperationRequest<Name>,
  ) => succeeds(await ask(credentials, operation, request, { changeRates }))
  const owner = await tokenOf('owner')
  const create = (credentials: PresentedCredentials, name = newName()) =>
    asking(credentials, 'createProject', { account, name })
  const [first, second] = [newName(), newName()]
  await run(TESTER, 'createProject', { account, name: second })
  const outcomes: string[] = []
  for (const outcome of [
    () => create(owner, first),
    () => create(owner),
    () => asking(owner, 'createStaticToken', { account, userName: 'owner', name: newName(), note: '' }),
    () => asking(owner, 'createStaticToken', { account, userName: 'owner', name: newName(), note: '' }),
    () => create(clerk),
    () => create(clerk),
    () => create(root),
    () => create(root),
    () => asking(owner, 'getAccount', { account }),
    () => asking(owner, 'getAccount', { account }),
    () => asking(owner, 'deleteProject', { account, name: first }),
    () => asking(owner, 'deleteProject', { account, name: second }),
  ])
    outcomes.push(await outcome())
  expect(outcomes).toEqual([
    ...['done', throttled(1), 'done', throttled(10)],
    ...['done', throttled(1), 'done', 'done'],
    ...['done', 'done', 'done', 'done'],
  ])
})

test('who has no right is refused before their change is counted', async () => {
  const changeRates = new ChangeRates({ burst: 1, administratorPerMinute: 1, userPerMinute: 1 }, () => 0)
  const tester = await tokenOf('tester')
  for (let index = 0; index < 3; index++)
    expect(await ask(tester, 'createProject', { account, name: newName() }, { changeRates })).toBe(
      administratorsOnly(),
    )
})
