/** Links and sessions of the control panel: each ends with what it depends on, and a link works once. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { ControlPanel } from '../../../sidecar/authority/control-panel/control-panel.ts'
import type { Passwords } from '../../../sidecar/authority/password.ts'
import type { LoginOutcome } from '../../../sidecar/authority/throttle.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { type NewSession, PanelChange, SESSIONS_MAX } from '../../../sidecar/directory/panel-change.ts'
import { PanelRecords } from '../../../sidecar/directory/panel-records.ts'
import { logInByPassword } from '../../../sidecar/usecases/control-panel/log-in.ts'
import type { PanelServices } from '../../../sidecar/usecases/control-panel/panel-call.ts'
import { changing, newPanelUser, PASSWORD_HASH, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const HOUR_MS = 3_600_000

const CALLER = { caller: 'clerk', digest: '0a'.repeat(32) }

/** The changes of a user or an account, and whether a session and a link are there afterwards. */
const LOSSES: readonly [
  claim: string,
  lose: (subject: Subject, scene: { user: UserRecord; account: Account }) => Promise<unknown>,
][] = [
  ['is deleted', (subject, { user }) => changing(subject, (change) => change.deleteUser(user))],
  ['is disabled', (subject, { user }) => changing(subject, (change) => change.setUserEnabled(user, false))],
  [
    'is disabled and enabled again',
    (subject, { user }) =>
      changing(subject, async (change) => {
        await change.setUserEnabled(user, false)
        await change.setUserEnabled(user, true)
      }),
  ],
  [
    'is in an account that is disabled',
    (subject, { account }) => changing(subject, (change) => change.setAccountEnabled(account, false)),
  ],
  [
    'is in an account that is disabled and enabled again',
    (subject, { account }) =>
      changing(subject, async (change) => {
        await change.setAccountEnabled(account, false)
        await change.setAccountEnabled(account, true)
      }),
  ],
  [
    'is in an account that is deleted, and another gets its number',
    (subject, { account }) =>
      changing(subject, async (change) => {
        await change.deleteAccount(account)
        await change.createAccount(account.account)
      }),
  ],
  [
    'accepts an invitation',
    (subject, { user }) =>
      changing(subject, (change) => new PanelChange(change).acceptInvitation(user, PASSWORD_HASH)),
  ],
]

/** The ways in which a user ceases to administer an account. */
const DEMOTIONS: readonly [
  claim: string,
  lose: (change: DirectoryChange, user: UserRecord) => Promise<unknown>,
][] = [
  ['is disabled', (change, user) => change.setUserEnabled(user, false)],
  ['is deleted', (change, user) => change.deleteUser(user)],
  ['is no owner any more', (change, user) => change.setOwner(user, false)],
  ['no longer has `iam.admin`', (change, user) => change.setRoles(user, ['member'])],
]

export function panelContract(subject: () => Subject): void {
  const records = () => new PanelRecords(subject().store.records)

  const begin = async (holder: NewSession['holder'], endsInMs = HOUR_MS) => {
    const { clock } = subject()
    const hash = randomBytes(32)
    const session = { hash, holder, way: 'password', endsAtMs: clock.nowMs + endsInMs }
    const id = await changing(subject(), (change) =>
      new PanelChange(change).beginSession({ ...session, address: '192.0.2.1', client: 'a browser' }),
    )
    return { hash, id }
  }

  const link = async (user: UserRecord, purpose: 'invitation' | 'login' = 'invitation') => {
    const hash = randomBytes(32)
    const endsAtMs = subject().clock.nowMs + HOUR_MS
    await changing(subject(), (change) => new PanelChange(change).addLink(user, { hash, purpose, endsAtMs }))
    return hash
  }

  test('a session is found with its user as they are now, and with the ranges of the account', async () => {
    const { user, account } = await newPanelUser(subject())
    const { hash, id } = await begin(user)
    await changing(subject(), (change) => change.setAddressRules(account, ['192.0.2.0/24']))
    await changing(subject(), (change) => change.setRoles(user, ['billing']))
    const { nowMs } = subject().clock
    expect(await records().session(hash)).toEqual({
      ...{ id, holder: 'user', user: { ...user, roles: ['billing'] }, addresses: ['192.0.2.0/24'] },
      ...{ createdAtMs: nowMs, usedAtMs: nowMs, confirmedAtMs: nowMs, endsAtMs: nowMs + HOUR_MS },
      ...{ address: '192.0.2.1', client: 'a browser' },
    })
    expect(await records().session(randomBytes(32))).toBeUndefined()
  })

  test('a session of a caller is found by its hash, and with no user', async () => {
    const { hash, id } = await begin(CALLER)
    const found = await records().session(hash)
    expect(found).toMatchObject({ id, holder: 'caller', callerDigest: CALLER.digest })
    expect(found).not.toHaveProperty('user')
  })

  test.each(LOSSES)('a session and a link of a user who %s have ended for good', async (_claim, lose) => {
    const scene = await newPanelUser(subject())
    const { hash } = await begin(scene.user)
    const invitation = await link(scene.user)
    expect(await records().session(hash)).toBeDefined()
    expect(await records().link(invitation, 'invitation')).toMatchObject({ user: scene.user })
    await lose(subject(), scene)
    expect(await records().session(hash)).toBeUndefined()
    expect(await records().link(invitation, 'invitation')).toBeUndefined()
  })

  test.each(DEMOTIONS)(
    'the open invitations of an account end when an administrator of it %s',
    async (_claim, lose) => {
      for (const administers of [true, false]) {
        const { account, user } = await newPanelUser(subject())
        const elsewhere = await newPanelUser(subject())
        const administrator = await changing(subject(), async (change) => {
          const id = await change.createUser(account, { name: 'adam', type: 'control_panel_user' })
          const created = await theUser(change.records, account, 'adam', 'control_panel_user')
          expect(created.id).toBe(id)
          if (administers) await change.setRoles(created, ['iam.admin'])
          if (administers) await change.setOwner(created, true)
          return theUser(change.records, account, 'adam', 'control_panel_user')
        })
        const [ofUser, ofOther] = [await link(user), await link(elsewhere.user)]
        await changing(subject(), (change) => lose(change, administrator))
        expect((await records().link(ofUser, 'invitation')) === undefined).toBe(administers)
        expect(await records().link(ofOther, 'invitation')).toBeDefined()
      }
    },
  )

  test('a link is found for its own purpose alone, until it is removed or another takes its place', async () => {
    const { user } = await newPanelUser(subject())
    const [first, login] = [await link(user), await link(user, 'login')]
    expect(await records().link(first, 'login')).toBeUndefined()
    const second = await link(user)
    expect(await records().link(first, 'invitation')).toBeUndefined()
    expect(await records().link(second, 'invitation')).toMatchObject({ purpose: 'invitation' })
    expect(await records().link(login, 'login')).toMatchObject({ purpose: 'login' })
    await changing(subject(), (change) => new PanelChange(change).removeLink(second))
    expect(await records().link(second, 'invitation')).toBeUndefined()
  })

  test('an invitation that is accepted replaces the password, and ends IAM tokens by the generation', async () => {
    const { user, account } = await newPanelUser(subject())
    for (const hash of [PASSWORD_HASH, `${PASSWORD_HASH}2`])
      await changing(subject(), (change) => new PanelChange(change).acceptInvitation(user, hash))
    const { nowMs } = subject().clock
    expect(await records().password(user.id)).toEqual({ hash: `${PASSWORD_HASH}2`, changedAtMs: nowMs })
    const later = await theUser(subject().store.records, account, user.name, 'control_panel_user')
    expect(later.generation).toBe(user.generation + 2)
    const rehash = (before: string, hash: string) =>
      changing(subject(), (change) => new PanelChange(change).rehashPassword(user, before, hash))
    await rehash(PASSWORD_HASH, 'late')
    expect((await records().password(user.id))?.hash).toBe(`${PASSWORD_HASH}2`)
    await rehash(`${PASSWORD_HASH}2`, PASSWORD_HASH)
    expect((await records().password(user.id))?.hash).toBe(PASSWORD_HASH)
  })

  test.each<[holder: string, of: () => Promise<NewSession['holder']>]>([
    ['user', async () => (await newPanelUser(subject())).user],
    ['caller', async () => ({ ...CALLER, digest: randomBytes(32).toString('hex') })],
  ])('a %s has fifty sessions at most, and the oldest ends', async (_holder, of) => {
    const holder = await of()
    const other = await begin((await newPanelUser(subject())).user)
    const hashes: Buffer[] = []
    for (let count = 0; count <= SESSIONS_MAX; count++) {
      subject().clock.nowMs++
      hashes.push((await begin(holder)).hash)
    }
    const found = await Promise.all(hashes.map((hash) => records().session(hash)))
    expect(found.map((session) => session !== undefined)).toEqual([
      false,
      ...Array.from({ length: SESSIONS_MAX }, () => true),
    ])
    expect(await records().session(other.hash)).toBeDefined()
  })

  test('sessions and links that a clock which was ahead has written are found and ended', async () => {
    const { user } = await newPanelUser(subject())
    const { clock } = subject()
    const before = clock.nowMs++
    await begin(user)
    const { hash } = await begin(user)
    await link(user)
    expect(await records().hasLaterThan(clock.nowMs)).toBe(false)
    expect(await records().hasLaterThan(before)).toBe(true)
    const ended = await changing(subject(), (change) => new PanelChange(change).endLaterThan(before))
    expect(ended).toEqual({ sessions: 2, links: 1 })
    expect(await records().hasLaterThan(before)).toBe(false)
    expect(await records().session(hash)).toBeUndefined()
  })

  test('uses and proofs are written; the trail has the begin and the end of a session, and no use', async () => {
    const { user, account } = await newPanelUser(subject())
    const { clock, store } = subject()
    const begunAtMs = clock.nowMs
    const { hash, id } = await begin(user)
    const other = await begin(user)
    clock.nowMs += 60_000
    await changing(subject(), (change) => new PanelChange(change).touchSession(hash))
    expect(await records().session(hash)).toMatchObject({
      usedAtMs: clock.nowMs,
      confirmedAtMs: begunAtMs,
    })
    await changing(subject(), (change) => new PanelChange(change).confirmSession(hash))
    expect(await records().session(hash)).toMatchObject({ confirmedAtMs: clock.nowMs })
    expect((await records().sessions(user)).map((session) => session.id).sort()).toEqual(
      [id, other.id].sort(),
    )

    const stranger = (await newPanelUser(subject())).user
    const end = (of: UserRecord) =>
      changing(subject(), (change) => new PanelChange(change).endSession(of, id))
    expect([await end(stranger), await end(user), await end(user)]).toEqual([false, true, false])
    expect(await records().session(hash)).toBeUndefined()
    const left = await records().session(other.hash)
    if (left !== undefined) await changing(subject(), (change) => new PanelChange(change).logOut(left, ''))
    expect(await records().sessions(user)).toEqual([])
    const trail = await store.records.audit(account.account, { after: '0', size: 100 })
    expect(trail.slice(2).map(({ action, details }) => [action, details.session_id])).toEqual([
      ['control_panel_user.log_in', id],
      ['control_panel_user.log_in', other.id],
      ['control_panel_user.end_session', id],
      ['control_panel_user.log_out', other.id],
    ])
  })

  /** A control panel whose check of a password waits until the test opens the gate. */
  const gated = () => {
    const { store, clock } = subject()
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const checked: (string | undefined)[] = []
    const outcomes: LoginOutcome[] = []
    const verify = async (_claim: unknown, hash: string | undefined) => {
      checked.push(hash)
      reached.resolve()
      await gate.promise
      return hash !== undefined
    }
    const panel = new ControlPanel({
      store,
      pepper: createSecretKey(Buffer.alloc(32)),
      passwords: { verify, isOutdated: () => false } as unknown as Passwords,
      failedLogins: { admit: async () => (outcome) => void outcomes.push(outcome) },
      limits: { idleMs: HOUR_MS, lifetimeMs: HOUR_MS },
      now: () => clock.nowMs,
    })
    const services = {
      ...{ controlPanel: panel, now: () => clock.nowMs, changeRates: { spend: () => {} } },
      trace: { refused: () => {}, record: () => {} },
    } as unknown as PanelServices
    const logIn = (account: string, userName: string) =>
      logInByPassword(
        services,
        {
          ...{ clientAddress: '192.0.2.1', connection: '', requestId: '' },
          ...{ client: '', page: '', session: undefined },
        },
        { account, userName, password: new Secret('a password'), code: undefined },
      )
    return { logIn, checked, outcomes, reached: reached.promise, open: gate.resolve }
  }

  const newPasswordHolder = async () => {
    const scene = await newPanelUser(subject())
    await changing(subject(), (change) => new PanelChange(change).acceptInvitation(scene.user, PASSWORD_HASH))
    return {
      ...scene,
      user: await theUser(subject().store.records, scene.account, 'person', 'control_panel_user'),
    }
  }

  // After an account is enabled again its users log in as before.
  const lasting = LOSSES.filter(([claim]) => claim !== 'is in an account that is disabled and enabled again')
  const replaced: (typeof LOSSES)[number] = [
    'has another password in place of it',
    (these, { user }) =>
      changing(these, (change) => new PanelChange(change).rehashPassword(user, PASSWORD_HASH, 'another')),
  ]
  test.each([...lasting, replaced])(
    'no session begins by the password of a user who meanwhile %s',
    async (_claim, lose) => {
      const scene = await newPasswordHolder()
      const { logIn, outcomes, reached, open } = gated()
      const outcome = Promise.allSettled([logIn(scene.account.account, scene.user.name)])
      await reached
      await lose(subject(), scene)
      open()
      expect(await outcome).toMatchObject([{ status: 'rejected', reason: { reason: 'LOGIN_FAILED' } }])
      expect(outcomes).toEqual(['failed'])
      expect(await records().sessions(scene.user)).toEqual([])
    },
  )

  test('a password is checked alike, whether there is such a user or not', async () => {
    const { account, user } = await newPasswordHolder()
    const { logIn, checked, outcomes, open } = gated()
    open()
    await logIn(account.account, user.name)
    for (const [number, name] of [
      [account.account, 'nobody'],
      ['no such account', user.name],
      ['\u0000', '\u0000'],
    ] as const)
      await expect(logIn(number, name)).rejects.toMatchObject({ reason: 'LOGIN_FAILED' })
    expect(checked).toEqual([PASSWORD_HASH, undefined, undefined, undefined])
    expect(outcomes).toEqual(['succeeded', 'failed', 'failed', 'failed'])
  })

  test('all sessions of a user but one end at once', async () => {
    const { user } = await newPanelUser(subject())
    const [kept, ...others] = [await begin(user), await begin(user), await begin(user)]
    await changing(subject(), (change) => new PanelChange(change).endSessionsOf(user.id, kept?.id ?? ''))
    expect(await records().session(kept?.hash ?? Buffer.alloc(0))).toBeDefined()
    for (const { hash } of others) expect(await records().session(hash)).toBeUndefined()
  })
}
