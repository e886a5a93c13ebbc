/**
 * Each kind of credential, and each way in which the rights of its user rise: none of before has the new
 * rights.
 */
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { FactorChange } from '../../../sidecar/directory/factor-change.ts'
import { FactorRecords } from '../../../sidecar/directory/factor-records.ts'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { PanelRecords } from '../../../sidecar/directory/panel-records.ts'
import { changing, newPanelUser, newServiceUser, PASSWORD_HASH } from './people.ts'
import type { Account, Subject } from './subject.ts'

const HOUR_MS = 3_600_000

interface Scene {
  readonly account: Account
  readonly user: UserRecord
}

type Way = readonly [
  claim: string,
  rise: (change: DirectoryChange, user: UserRecord) => Promise<unknown>,
  /** The rights that the user has before. */
  from?: (change: DirectoryChange, user: UserRecord) => Promise<unknown>,
]

const toAdministrator = (change: DirectoryChange, user: UserRecord) =>
  change.setRoles(user, ['member', 'iam.admin'])

const WAYS_OF_PEOPLE: readonly Way[] = [
  ['becomes an owner', (change, user) => change.setOwner(user, true)],
  ['gets `iam.admin`', toAdministrator],
  ['with `iam.admin` becomes an owner', (change, user) => change.setOwner(user, true), toAdministrator],
  [
    'becomes an owner and gets `iam.admin`',
    async (change, user) => {
      await change.setOwner(user, true)
      await change.setRoles(user, ['iam.admin'])
    },
  ],
  [
    'gets another role, and then becomes an owner',
    async (change, user) => {
      await change.setRoles(user, ['billing'])
      await change.setOwner(user, true)
    },
  ],
  [
    'was an owner once, and becomes one again',
    (change, user) => change.setOwner(user, true),
    async (change, user) => {
      await change.setOwner(user, true)
      await change.setOwner({ ...user, owner: true }, false)
    },
  ],
  [
    'is disabled, becomes an owner and is enabled',
    async (change, user) => {
      await change.setUserEnabled(user, false)
      await change.setOwner(user, true)
      await change.setUserEnabled(user, true)
    },
  ],
]

const WAYS_OF_MACHINES: readonly Way[] = [
  ['gets `iam.admin`', toAdministrator],
  ['becomes a validator', (change, user) => change.setValidator(user, true)],
  [
    'with `iam.admin` becomes a validator',
    (change, user) => change.setValidator(user, true),
    toAdministrator,
  ],
  ['who is a validator gets `iam.admin`', toAdministrator, (change, user) => change.setValidator(user, true)],
  [
    'is withdrawn as validator and gets `iam.admin`',
    async (change, user) => {
      await change.setValidator(user, false)
      await toAdministrator(change, user)
    },
    (change, user) => change.setValidator(user, true),
  ],
]

/** Changes of a user that give them no right to administer. */
const NO_RISE: readonly Way[] = [
  ['gets another role', (change, user) => change.setRoles(user, ['billing'])],
  ['is enabled, as before', (change, user) => change.setUserEnabled(user, true)],
  ['who is an owner gets `iam.admin`', toAdministrator, (change, user) => change.setOwner(user, true)],
  [
    'keeps `iam.admin`, and gets another role',
    (change, user) => change.setRoles(user, ['iam.admin', 'billing']),
    toAdministrator,
  ],
]

type IsThere = () => Promise<boolean>

/** Makes a credential. Returns whether it still counts. */
type Make = (subject: Subject, scene: Scene) => Promise<IsThere>

type Credential = readonly [what: string, make: Make]

const iamToken: Make = async ({ store }, { account, user }) => {
  const query = {
    tokenId: randomBytes(8).toString('hex'),
    ...{ ancestors: [], subjectId: user.id, generation: user.generation, account: account.account },
    changeNumber: await store.records.changeNumber(),
    ...{ projectId: undefined, permissionScopes: [] },
  }
  return async () => (await store.verification.iamTokenStatus(query)).active
}

const link =
  (purpose: 'invitation' | 'login'): Make =>
  async (subject, { user }) => {
    const hash = randomBytes(32)
    const endsAtMs = subject.clock.nowMs + HOUR_MS
    await changing(subject, (change) => new PanelChange(change).addLink(user, { hash, purpose, endsAtMs }))
    return async () => (await new PanelRecords(subject.store.records).link(hash, purpose)) !== undefined
  }

const CREDENTIALS_OF_PEOPLE: readonly Credential[] = [
  ['an IAM token', iamToken],
  ['an invitation', link('invitation')],
  ['a link that logs in', link('login')],
  [
    'a session',
    async (subject, { user }) => {
      const session = {
        hash: randomBytes(32),
        holder: user,
        way: 'password',
        address: '192.0.2.1',
        client: '',
      }
      const endsAtMs = subject.clock.nowMs + HOUR_MS
      await changing(subject, (change) => new PanelChange(change).beginSession({ ...session, endsAtMs }))
      return async () => (await new PanelRecords(subject.store.records).session(session.hash)) !== undefined
    },
  ],
  [
    'a password',
    async (subject, { user }) => {
      await changing(subject, (change) => new PanelChange(change).replacePassword(user, PASSWORD_HASH, ''))
      return async () =>
        (await new PanelRecords(subject.store.records).login(user.account, user.name))?.passwordHash !==
        undefined
    },
  ],
  [
    'a one-time code',
    async (subject, { user }) => {
      const code = { secret: randomBytes(48), sealedWith: 'a fingerprint' }
      await changing(subject, (change) => new FactorChange(change).setCode(user, code, 1))
      return async () => (await new FactorRecords(subject.store.records).code(user.id)) !== undefined
    },
  ],
  [
    'a passkey',
    async (subject, { user }) => {
      const id = randomBytes(16).toString('base64url')
      const passkey = { id, name: 'a key', publicKey: randomBytes(77), counter: 0, transports: [] }
      await changing(subject, (change) => new FactorChange(change).addPasskey(user, passkey))
      return async () => (await new FactorRecords(subject.store.records).passkey(id)) !== undefined
    },
  ],
]

const CREDENTIALS_OF_MACHINES: readonly Credential[] = [
  ['an IAM token', iamToken],
  [
    'a password',
    async ({ store }, { account, user }) =>
      async () =>
        (await store.verification.serviceUser(account.account, user.name)) !== undefined,
  ],
]

export function promotionsContract(subject: () => Subject): void {
  const scene = async (newUser: (subject: Subject) => Promise<Scene>, from?: Way[2]): Promise<Scene> => {
    const { account, user } = await newUser(subject())
    await changing(subject(), async (change) => from?.(change, user))
    // The password of before would have ended with what the user has before.
    if (user.type === 'service_user')
      await changing(subject(), (change) => change.setPassword(user, PASSWORD_HASH))
    return { account, user: await now(user) }
  }
  const now = async ({ id }: UserRecord) => {
    const user = await subject().store.records.userById(id)
    if (user === undefined) throw new Error('there is no such user')
    return user
  }

  const expectEnded = (
    type: string,
    newUser: (subject: Subject) => Promise<Scene>,
    ways: readonly Way[],
    credentials: readonly Credential[],
  ) =>
    describe.each(ways.map(([claim, rise, from]) => ({ claim, rise, from })))(
      `a ${type} who $claim has none of before:`,
      ({ rise, from }) => {
        test.each(credentials)('%s', async (_what, make) => {
          const [risen, bystander] = [await scene(newUser, from), await scene(newUser, from)]
          const [ofRisen, ofBystander] = [await make(subject(), risen), await make(subject(), bystander)]
          expect(await ofRisen()).toBe(true)
          await changing(subject(), (change) => rise(change, risen.user))
          expect([await ofRisen(), await ofBystander()]).toEqual([false, true])
        })
      },
    )
  expectEnded('control panel user', newPanelUser, WAYS_OF_PEOPLE, CREDENTIALS_OF_PEOPLE)
  expectEnded('service user', newServiceUser, WAYS_OF_MACHINES, CREDENTIALS_OF_MACHINES)

  test.each(NO_RISE.map(([claim, change, from]) => ({ claim, change, from })))(
    'a user who $claim keeps all that they log in with',
    async ({ change, from }) => {
      const user = await scene(newPanelUser, from)
      for (const [what, make] of CREDENTIALS_OF_PEOPLE) {
        const isThere = await make(subject(), user)
        await changing(subject(), (transaction) => change(transaction, user.user))
        expect([what, await isThere()]).toEqual([what, true])
      }
    },
  )

  test('a permission more leaves password and tokens: it opens APIs, and administers nothing', async () => {
    const user = await scene((given) => newServiceUser(given, [{ scope: 'projects', projects: ['alpha'] }]))
    const made = await Promise.all(CREDENTIALS_OF_MACHINES.map(([, make]) => make(subject(), user)))
    await changing(subject(), (change) => change.setPermissions(user.user, [{ scope: 'account' }]))
    expect(await Promise.all(made.map((isThere) => isThere()))).toEqual([true, true])
  })

  test('credentials that a user is given after the rise count', async () => {
    const machine = await scene(newServiceUser)
    const person = await scene(newPanelUser)
    await changing(subject(), async (change) => {
      await change.setRoles(machine.user, ['iam.admin'])
      await change.setPassword(machine.user, PASSWORD_HASH)
      await change.setOwner(person.user, true)
    })
    const invited = await link('invitation')(subject(), { ...person, user: await now(person.user) })
    const token = await iamToken(subject(), { ...machine, user: await now(machine.user) })
    const { verification } = subject().store
    expect(await verification.serviceUser(machine.account.account, machine.user.name)).toBeDefined()
    expect([await invited(), await token()]).toEqual([true, true])
  })

  test('a user who is made with rights keeps the password that was made with them', async () => {
    const account = await subject().newAccount()
    const name = 'made'
    const ended = await changing(subject(), async (change) => {
      await change.createUser(account, { name, type: 'service_user', passwordHash: PASSWORD_HASH })
      const user = await change.records.user(account.account, name, 'service_user')
      if (user === undefined) throw new Error('there is no such user')
      return [await change.setRoles(user, ['iam.admin']), await change.setValidator(user, true)]
    })
    expect(ended).toEqual([false, false])
    expect(await subject().store.verification.serviceUser(account.account, name)).toMatchObject({
      ...{ passwordHash: PASSWORD_HASH, generation: 1 },
    })
  })

  test('static tokens stay: no user logs in with one', async () => {
    const { account, user } = await scene(newPanelUser)
    const hash = randomBytes(32)
    await changing(subject(), (change) =>
      change.addStaticToken(user, { kind: 'static_token', name: 'key', hash, pepper: 'a fingerprint' }),
    )
    await changing(subject(), (change) => change.setOwner(user, true))
    expect(await subject().store.verification.staticToken(hash)).toMatchObject({
      ...{ active: true, account: account.account },
    })
  })
}
