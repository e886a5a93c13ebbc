/** The right of a requester is looked at again inside the transaction of the change that they ask for. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { compile } from '../../../engine/index.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import type { Administration } from '../../../sidecar/authority/administration/administration.ts'
import { SecretMaker } from '../../../sidecar/authority/administration/secrets.ts'
import type { VerifiedToken } from '../../../sidecar/authority/authority.ts'
import { ControlPanel } from '../../../sidecar/authority/control-panel/control-panel.ts'
import type { PanelTokens } from '../../../sidecar/authority/panel-tokens.ts'
import type { Passwords } from '../../../sidecar/authority/password.ts'
import type { Database } from '../../../sidecar/directory/database.ts'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import {
  administer,
  type OperationName,
  type OperationRequest,
} from '../../../sidecar/usecases/administration/administer.ts'
import { Callers, type IdentifiedCaller } from '../../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../../sidecar/usecases/change-rates.ts'
import type { MatrixRollout } from '../../../sidecar/usecases/matrix-rollout.ts'
import type { Requester, UserByToken } from '../../../sidecar/usecases/requester.ts'
import { changing, PASSWORD_HASH, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const engine = compile(supportMatrix)
const HOUR_MS = 3_600_000

const CLERK: IdentifiedCaller = {
  name: 'clerk',
  tokenSha256: '0'.repeat(64),
  certificateName: undefined,
  identifiedBy: { type: 'token', digest: Buffer.alloc(32) },
  profiles: new Set(),
  rights: { everything: true, revoke: false, read: false, follow: false, administer: new Set() },
  expiresAtMs: undefined,
}

/** An account, and a person with `iam.admin` who has authenticated. */
interface Scene {
  readonly account: Account
  readonly requester: UserByToken
}

async function newScene(subject: Subject): Promise<Scene> {
  const account = await subject.newAccount()
  await changing(subject, async (change) => {
    await change.createUser(account, { name: 'admin', type: 'control_panel_user' })
    await change.setRoles(await theUser(change.records, account, 'admin', 'control_panel_user'), [
      'iam.admin',
    ])
  })
  const user = await theUser(subject.store.records, account, 'admin', 'control_panel_user')
  const token: VerifiedToken = {
    kind: 'iam_token_account_scoped',
    scope: { account: account.account },
    subject: user,
    generation: user.generation,
    tokenId: `token of ${account.account}`,
    issuedAtMs: subject.clock.nowMs,
    expiresAtMs: subject.clock.nowMs + HOUR_MS,
  }
  const requester = {
    type: 'user',
    user,
    token,
    clientAddress: '127.0.0.1',
    from: FROM,
    ownersFromAnywhere: false,
  } as const
  return { account, requester }
}

const FROM = { protocol: 'grpc', address: '127.0.0.1' } as const

/** As long as the token of the scene, so that the same time ends both. */
const SESSIONS = { idleMs: HOUR_MS, lifetimeMs: 12 * HOUR_MS }

const NO_LOGINS = { admit: () => Promise.reject(new TypeError('no user logs in')) }

const RATES = { burst: 1_000, administratorPerMinute: 1, userPerMinute: 1 }

/** Administration whose password hashes wait until the test opens the gate. */
function gated({ store, clock }: Pick<Subject, 'store' | 'clock'>) {
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const hash = async () => {
    reached.resolve()
    await gate.promise
    return PASSWORD_HASH
  }
  const now = () => clock.nowMs
  const passwords = { hash } as unknown as Passwords
  const pepper = createSecretKey(Buffer.alloc(32))
  const parts = { store, passwords, pepper, now }
  const controlPanel = new ControlPanel({ ...parts, failedLogins: NO_LOGINS, limits: SESSIONS })
  const administration: Administration = {
    ...{ directory: store, records: store.records, engine: () => engine, now },
    secrets: new SecretMaker({ passwords, pepper, engine: () => engine }),
    panelTokens: undefined as unknown as PanelTokens,
    controlPanel: () => Promise.resolve(controlPanel),
  }
  const ask = <Name extends OperationName>(
    requester: Requester,
    operation: Name,
    request: OperationRequest<Name>,
  ) =>
    administer(
      {
        engine,
        administration,
        controlPanel,
        callers: new Callers([CLERK]),
        changeRates: new ChangeRates(RATES),
        rollout: undefined as unknown as MatrixRollout,
        now,
      },
      { requester, operation, request },
    )
  const session = (hash: Buffer) => controlPanel.sessions.find(hash)
  return { ask, session, reached: reached.promise, open: gate.resolve }
}

/** What becomes of the requester while their call waits, and how it is refused then. */
const LOSSES: readonly [
  claim: string,
  lose: (subject: Subject, scene: Scene) => Promise<unknown>,
  reason: string,
][] = [
  [
    'is deleted',
    (subject, { requester }) => changing(subject, (change) => change.deleteUser(requester.user)),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'is disabled',
    (subject, { requester }) => changing(subject, (change) => change.setUserEnabled(requester.user, false)),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'is disabled and enabled again',
    async (subject, { requester }) => {
      await changing(subject, (change) => change.setUserEnabled(requester.user, false))
      await changing(subject, (change) => change.setUserEnabled(requester.user, true))
    },
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'becomes an owner',
    (subject, { requester }) => changing(subject, (change) => change.setOwner(requester.user, true)),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'has the token revoked',
    (subject, { requester, account }) =>
      changing(subject, (change) => change.revoke(requester.token.tokenId, account.account)),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'is in an account that is disabled',
    (subject, { account }) => changing(subject, (change) => change.setAccountEnabled(account, false)),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'is in an account that is deleted, and another gets its number',
    async (subject, { account }) => {
      await changing(subject, (change) => change.deleteAccount(account))
      await changing(subject, (change) => change.createAccount(account.account))
    },
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  [
    'is outside the addresses that the account is restricted to',
    (subject, { account }) =>
      changing(subject, (change) => change.setAddressRules(account, ['192.0.2.0/24'])),
    'ADDRESS_NOT_ALLOWED',
  ],
]

export function requestersContract(subject: () => Subject): void {
  const successors = async ({ account }: Scene) =>
    (await subject().store.records.user(account.account, 'successor', 'service_user')) === undefined ? 0 : 1
  const trail = async ({ account, requester }: Scene) =>
    (await subject().store.records.audit(account.account, { after: '0', size: 1000 })).filter(({ actor }) =>
      actor.includes(requester.user.id),
    )
  const creation = ({ account }: Scene) => ({
    account: account.account,
    name: 'successor',
    permissions: [],
    roles: ['iam.admin'],
  })

  test.each(LOSSES)('a queued change of a requester who %s is not made', async (_claim, lose, reason) => {
    const scene = await newScene(subject())
    const { ask, reached, open } = gated(subject())
    const outcome = Promise.allSettled([ask(scene.requester, 'createServiceUser', creation(scene))])
    await reached
    await lose(subject(), scene)
    open()
    expect(await outcome).toMatchObject([{ status: 'rejected', reason: { reason } }])
    expect(await successors(scene)).toBe(0)
    expect(await trail(scene)).toEqual([])
  })

  /** The same person, who has logged in to the control panel. */
  const loggedIn = async ({ requester }: Scene, { session }: ReturnType<typeof gated>) => {
    const { clock } = subject()
    const hash = randomBytes(32)
    const begin = { ...{ hash, holder: requester.user, way: 'password' }, address: '127.0.0.1', client: '' }
    await changing(subject(), (change) =>
      new PanelChange(change).beginSession({ ...begin, endsAtMs: clock.nowMs + SESSIONS.lifetimeMs }),
    )
    const found = await session(hash)
    if (found?.holder !== 'user') throw new TypeError('the session is not there')
    const { token: _token, ...person } = requester
    return { ...person, session: found }
  }

  test.each<[claim: string, lose: (id: string, scene: Scene) => Promise<unknown>, reason: string]>([
    [
      'has the session ended',
      (id, { requester }) =>
        changing(subject(), (change) => new PanelChange(change).endSession(requester.user, id)),
      'REQUESTER_NOT_AUTHENTICATED',
    ],
    [
      'accepts an invitation',
      (_id, { requester }) =>
        changing(subject(), (change) =>
          new PanelChange(change).acceptInvitation(requester.user, PASSWORD_HASH),
        ),
      'REQUESTER_NOT_AUTHENTICATED',
    ],
    [
      'confirmed who they are too long ago',
      async () => {
        subject().clock.nowMs += 600_000
      },
      'REAUTHENTICATION_REQUIRED',
    ],
  ])('a queued change of a requester who %s is not made', async (_claim, lose, reason) => {
    const scene = await newScene(subject())
    const gate = gated(subject())
    const requester = await loggedIn(scene, gate)
    const outcome = Promise.allSettled([gate.ask(requester, 'createServiceUser', creation(scene))])
    await gate.reached
    await lose(requester.session.id, scene)
    gate.open()
    expect(await outcome).toMatchObject([{ status: 'rejected', reason: { reason } }])
    expect(await successors(scene)).toBe(0)
  })

  test('a change by a session names it in the trail, and needs no proof unless it gives out a secret', async () => {
    const scene = await newScene(subject())
    const gate = gated(subject())
    gate.open()
    const requester = await loggedIn(scene, gate)
    subject().clock.nowMs += 600_000
    await gate.ask(requester, 'createProject', { account: scene.account.account, name: 'alpha' })
    const refused = gate.ask(requester, 'createServiceUser', creation(scene))
    await expect(refused).rejects.toMatchObject({ reason: 'REAUTHENTICATION_REQUIRED' })
    const by = { ...FROM, session_id: requester.session.id }
    expect((await trail(scene)).at(-1)).toMatchObject({ action: 'project.create', details: { by } })
  })

  test('a queued change of a requester who loses nothing is made', async () => {
    const scene = await newScene(subject())
    const { ask, reached, open } = gated(subject())
    const creating = ask(scene.requester, 'createServiceUser', creation(scene))
    await reached
    open()
    expect((await creating).user).toMatchObject({ name: 'successor', roles: ['iam.admin'] })
    expect(await trail(scene)).not.toEqual([])
  })

  test('a requester who is no owner any more cannot do what is for owners', async () => {
    const scene = await newScene(subject())
    await changing(subject(), (change) => change.setOwner(scene.requester.user, true))
    const { account: name } = scene.account
    const user = await theUser(subject().store.records, scene.account, 'admin', 'control_panel_user')
    // Their token is of after they became one.
    const token = { ...scene.requester.token, tokenId: `later token of ${name}`, generation: user.generation }
    const owner = { ...scene.requester, user, token }
    await changing(subject(), (change) => change.setOwner(owner.user, false))
    const { ask } = gated(subject())
    const { account } = scene.account
    const request = { account, name: 'crony', owner: true, roles: [] }
    await expect(ask(owner, 'createControlPanelUser', request)).rejects.toMatchObject({ reason: 'NOT_OWNER' })
    expect(await subject().store.records.user(account, 'crony', 'control_panel_user')).toBeUndefined()
  })

  describe('costs', () => {
    test('one statement more than a change by an operator', async () => {
      const scene = await newScene(subject())
      const { database, clock } = subject()
      const counted = countingStatements(database)
      const { ask } = gated({ store: new DirectoryStore(counted.database, () => clock.nowMs), clock })
      const { account } = scene.account
      const operator: Requester = { type: 'operator', caller: CLERK, from: FROM }
      const countOf = async (requester: Requester, name: string) => {
        const before = counted.statements()
        await ask(requester, 'createProject', { account, name })
        return counted.statements() - before
      }
      const byOperator = await countOf(operator, 'alpha')
      expect(await countOf(scene.requester, 'beta')).toBe(byOperator + 1)
    })
  })
}

/** The database, with a count of the statements inside transactions. */
function countingStatements(database: Database): { database: Database; statements: () => number } {
  let statements = 0
  return {
    statements: () => statements,
    database: {
      dialect: database.dialect,
      changes: database.changes,
      all: (...statement) => database.all(...statement),
      transaction: (work, recorded) =>
        database.transaction(
          (queries) =>
            work({
              all: (...statement) => {
                statements++
                return queries.all(...statement)
              },
            }),
          recorded,
        ),
      close: () => database.close(),
    },
  }
}
