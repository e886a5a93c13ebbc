/**
 * Who makes, sees and deletes application credentials, when something changes while they ask.
 * `test/identity` speaks to the endpoint.
 */
import { describe, expect, test, vi } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { UNSCOPED_KIND } from '../../sidecar/authority/authority.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'
import {
  type CredentialServices,
  type CredentialWish,
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
} from '../../sidecar/usecases/identity/own-application-credentials.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { CONNECTION, openPeople, outcomeOf } from '../support/sidecar/services.ts'

const ACCOUNT = '4711'
const people = await openPeople(ACCOUNT)
const { administration, authority, iamToken, kindFor, userNamed, run } = people
const servicesWith = (burst = 1_000): CredentialServices => ({
  ...people,
  settings: {
    roles: { account: ['member'], projects: ['member'], byRole: new Map() },
    ...{ unscopedLogin: true, tokenMethod: 'any', applicationCredentials: true },
  },
  changeRates: new ChangeRates({ burst, administratorPerMinute: 1, userPerMinute: 1 }, () => 0),
})
const services = servicesWith()
const { value: strangersPassword } = await (async () => {
  await applyFile(administration, TESTER, { accounts: [{ account: '4712', projects: ['alpha'] }] })
  const { user, password } = await run(TESTER, 'createServiceUser', {
    account: '4712',
    ...{ name: 'stranger', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
  })
  return { user, value: password }
})()
const ids = Object.fromEntries(
  await Promise.all(
    ['robot', 'admin', 'owner', 'tester'].map(async (name) => [name, (await userNamed(name)).id] as const),
  ),
) as Record<'robot' | 'admin' | 'owner' | 'tester', string>

const robot = await iamToken('robot', 'alpha')
const admin = await iamToken('admin')
const unscoped = await iamToken('robot', undefined, { ...kindFor(), id: UNSCOPED_KIND })

const about = (value: string, userId: string = ids.robot) => ({
  headers: [['X-Auth-Token', value]] as [string, string][],
  ...{ clientAddress: '192.0.2.7' as const, connection: CONNECTION, requestId: 'r-1', userId },
})
const wishFor = (name: string, wish: Partial<CredentialWish> = {}): CredentialWish => ({
  ...{ name, description: '', secret: undefined, unrestricted: false, expiresAt: undefined },
  roles: undefined,
  ...wish,
})
let count = 0
/** A credential of the robot, made with its own token. */
async function made(wish: Partial<CredentialWish> = {}) {
  const { credential } = await createCredential(services, about(robot.value), () =>
    wishFor(`job ${++count}`, wish),
  )
  return credential
}
const namesOf = async (value = robot.value, userId = ids.robot) =>
  (await listCredentials(services, about(value, userId))).found.map(({ name }) => name)

const MAKER = 'NOT_ADMINISTRATOR: only the user themself, with a token for a project, may do this'
const SEER = 'NOT_ADMINISTRATOR: only that user, or one with the role iam.admin, may do this'
const UNRESTRICTED =
  'NOT_ADMINISTRATOR: only a token that was not obtained by an application credential, or by an unrestricted one, may do this'
const NOBODY = 'NOT_FOUND: there is no such service user in the account'
const CREDENTIAL = 'REQUESTER_NOT_AUTHENTICATED: expected one active IAM token, in the header that carries it'
const SCOPE = 'SCOPE_REQUIRED: the token is unscoped; expected one for an account or a project'

describe('making one', () => {
  /** The answer, and whether the wish was read. */
  const making = async (value: string, userId: string, given = services) => {
    const read = vi.fn(() => wishFor(`job ${++count}`))
    const outcome = await outcomeOf(() => createCredential(given, about(value, userId), read))
    return [typeof outcome === 'string' ? outcome : outcome.credential.name, read.mock.calls]
  }

  test('is for its user, with a token for a project, before anything else is looked at', async () => {
    const ofOwner = await run(TESTER, 'reissueControlPanelUserToken', {
      account: ACCOUNT,
      name: 'owner',
      project: 'alpha',
    })
    expect(await making(robot.value, ids.robot)).toEqual([`job ${count}`, [[['member']]]])
    expect(await making(robot.value, ids.admin)).toEqual([MAKER, []])
    expect(await making(admin.value, ids.admin)).toEqual([MAKER, []])
    expect(await making(ofOwner.value.reveal(), ids.owner)).toEqual([MAKER, []])
    expect(await making(unscoped.value, ids.robot)).toEqual([SCOPE, []])
  })

  test('is not for a token of a restricted one', async () => {
    const read = vi.fn()
    const { credential, secret } = await createCredential(services, about(robot.value), () =>
      wishFor(`job ${++count}`),
    )
    const { value } = await authority.issueByCredential(
      { key: { id: credential.id }, secret },
      kindFor('alpha'),
    )
    const asking = () => createCredential(services, about(value.reveal()), read)
    expect(await outcomeOf(asking)).toBe(UNRESTRICTED)
    expect(read).not.toHaveBeenCalled()
    expect(await outcomeOf(() => deleteCredential(services, about(value.reveal()), credential.id))).toBe(
      UNRESTRICTED,
    )
  })

  test('is not for a token that is revoked meanwhile', async () => {
    const { value, token } = await iamToken('robot', 'alpha')
    const before = await namesOf()
    const outcome = await outcomeOf(() =>
      createCredential(services, about(value), async () => {
        await administration.directory.change(TESTER, (change) => change.revoke(token.tokenId, ACCOUNT))
        return wishFor('too late')
      }),
    )
    expect(outcome).toBe(CREDENTIAL)
    expect(await namesOf()).toEqual(before)
  })

  /** Made by a user who has none yet, at a time that stands still. */
  const wished = async (wish: Partial<CredentialWish>) => {
    const given = { ...services, now: () => nowMs }
    return outcomeOf(async () => {
      const { credential } = await createCredential(given, about(robot.value), () =>
        wishFor(`job ${++count}`, wish),
      )
      await deleteCredential(services, about(robot.value), credential.id)
      return 'made'
    })
  }
  const nowMs = Date.now()
  const [DESCRIPTION, SECRET] = ['x'.repeat(1_000), 's'.repeat(1_024)]
  const OF_TEXT =
    /^INVALID_ARGUMENT: application_credential\.description: expected a text of at most 1000 characters /
  const OF_SECRET = /^INVALID_ARGUMENT: application_credential\.secret: expected 1 to 1024 characters$/
  test.each<[what: string, wish: Partial<CredentialWish>, outcome: RegExp]>([
    ['the longest description', { description: DESCRIPTION }, /^made$/],
    ['a longer one', { description: `${DESCRIPTION}x` }, OF_TEXT],
    ['a description that hides something', { description: 'a\u200bb' }, OF_TEXT],
    ['the longest secret', { secret: new Secret(SECRET) }, /^made$/],
    ['a longer one', { secret: new Secret(`${SECRET}s`) }, OF_SECRET],
    ['an empty one', { secret: new Secret('') }, OF_SECRET],
    ['half a surrogate pair', { secret: new Secret('\ud800') }, OF_SECRET],
    ['an end in a moment', { expiresAt: { ms: nowMs + 1, us: 0 } }, /^made$/],
    [
      'an end now',
      { expiresAt: { ms: nowMs, us: 0 } },
      /^INVALID_ARGUMENT: application_credential\.expires_at: expected a time in the future$/,
    ],
    [
      'a role that its user has not',
      { roles: ['member', 'iam.admin'] },
      /^INVALID_ARGUMENT: application_credential\.roles\[1\]: expected a role that the user has in the project$/,
    ],
  ])('with %s', async (_what, wish, outcome) => {
    expect(await wished(wish)).toMatch(outcome)
  })

  test('has a name once for each user, and is one of twenty', async () => {
    const { name } = await made()
    expect(await wished({ name })).toBe(`ALREADY_EXISTS: application credential \`${name}\` already exists`)
    while ((await namesOf()).length < 20) await made()
    expect(await wished({})).toBe(
      'APPLICATION_CREDENTIALS_FULL: a user has at most 20 application credentials; delete one first',
    )
    const { found } = await listCredentials(services, about(robot.value))
    for (const { id } of found) await deleteCredential(services, about(robot.value), id)
  })

  test('counts among the changes of its user', async () => {
    const given = servicesWith(1)
    await making(robot.value, ids.robot, given)
    const [refusal] = await making(robot.value, ids.robot, given)
    expect(refusal).toMatch(/^CHANGES_THROTTLED: /)
  })

  test('says who did it, from where, in the audit trail', async () => {
    const { id } = await made()
    const { records } = await administration.records.auditPage({
      ...{ account: ACCOUNT, newestFirst: true, filter: { action: 'application_credential' }, size: 1 },
    })
    expect(records).toMatchObject([
      {
        ...{ action: 'application_credential.create', subject: id },
        actor: `service_user ${ids.robot} (robot)`,
        details: {
          by: { protocol: 'http', address: '192.0.2.7', request_id: 'r-1', token_id: robot.token.tokenId },
        },
      },
    ])
  })
})

describe('seeing them', async () => {
  test('is for their user and the administrators of the account', async () => {
    const { id, name } = await made({ description: 'one' })
    await createCredential(services, about(robot.value), () => wishFor('A capital letter comes first'))
    const names = await namesOf()
    expect(names.slice(0, 1)).toEqual(['A capital letter comes first'])
    expect(names).toContain(name)
    expect(await namesOf(admin.value)).toEqual(names)
    for (const value of [robot.value, admin.value])
      expect(await getCredential(services, about(value), id)).toMatchObject({ id, description: 'one' })
  })

  const tester = (await people.panelToken('tester')).value
  test.each<[claim: string, value: string, userId: string, refusal: string]>([
    ['by another user', tester, ids.robot, SEER],
    ['by a token for no scope', unscoped.value, ids.robot, SCOPE],
    ['of nobody', admin.value, 'nobody', NOBODY],
    ['of a control panel user', admin.value, ids.tester, NOBODY],
    ['without a token', 'gibberish', ids.robot, CREDENTIAL],
  ])('%s is refused, and so is deleting them', async (_claim, value, userId, refusal) => {
    const { id } = await made()
    const question = about(value, userId)
    expect(await outcomeOf(() => listCredentials(services, question))).toBe(refusal)
    expect(await outcomeOf(() => getCredential(services, question, id))).toBe(refusal)
    expect(await outcomeOf(() => deleteCredential(services, question, id))).toBe(refusal)
    expect(await namesOf()).toContain(`job ${count}`)
    await deleteCredential(services, about(robot.value), id)
  })

  test('of a user in another account is refused', async () => {
    const login = { account: '4712', userName: 'stranger', password: strangersPassword }
    const { value } = await authority.issue(login, kindFor(), { account: '4712' })
    expect(await outcomeOf(() => listCredentials(services, about(value.reveal())))).toBe(NOBODY)
  })
})

describe('deleting one', () => {
  /** Something happens when the change begins. */
  const meanwhile = (happens: () => Promise<unknown>) => {
    const { directory } = administration
    const original = directory.change.bind(directory)
    return vi.spyOn(directory, 'change').mockImplementationOnce(async (...asked) => {
      await happens()
      return original(...asked)
    })
  }

  test('is for its user and the administrators of the account', async () => {
    for (const value of [robot.value, admin.value]) {
      const { id, name } = await made()
      await deleteCredential(services, about(value), id)
      expect(await namesOf()).not.toContain(name)
    }
  })

  test('by an administrator takes a token for the account, and begins no change without one', async () => {
    const { id, name } = await made()
    const { value } = await iamToken('admin', 'alpha')
    const deleted = vi.spyOn(administration.directory, 'change')
    expect(await outcomeOf(() => deleteCredential(services, about(value), id))).toMatch(
      /^ACCOUNT_SCOPE_REQUIRED: /,
    )
    expect(deleted).not.toHaveBeenCalled()
    deleted.mockRestore()
    expect(await namesOf()).toContain(name)
  })

  test('is refused to an administrator who is none any more when it is their turn', async () => {
    const { id, name } = await made()
    const spy = meanwhile(() =>
      run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'admin', roles: [] }),
    )
    expect(await outcomeOf(() => deleteCredential(services, about(admin.value), id))).toBe(SEER)
    expect(await namesOf()).toContain(name)
    spy.mockRestore()
  })

  test('is refused to a token that is revoked when it is their turn', async () => {
    const { id, name } = await made()
    const { value, token } = await iamToken('robot', 'alpha')
    const spy = meanwhile(() =>
      administration.directory.change(TESTER, (change) => change.revoke(token.tokenId, ACCOUNT)),
    )
    expect(await outcomeOf(() => deleteCredential(services, about(value), id))).toBe(CREDENTIAL)
    expect(await namesOf()).toContain(name)
    spy.mockRestore()
  })
})
