/** A mark ends many things at once. Their rows are removed afterwards, in parts. */
import { randomBytes } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import {
  ApplicationCredentialChange,
  ApplicationCredentialRecords,
  queryOfCredential,
} from '../../../sidecar/directory/application-credential-records.ts'
import type { IamTokenQuery, Permission, UserRecord } from '../../../sidecar/directory/directory.ts'
import { FactorChange } from '../../../sidecar/directory/factor-change.ts'
import { type LeftToRemove, leftToRemove } from '../../../sidecar/directory/left-to-remove.ts'
import { PanelChange } from '../../../sidecar/directory/panel-change.ts'
import { type Removed, removeRows } from '../../../sidecar/directory/removal.ts'
import { PASSING_TABLES, TABLES } from '../../../sidecar/directory/schema.ts'
import { changing, newPanelUser, newServiceUser, PASSWORD_HASH, theProject } from './people.ts'
import type { Account, Subject } from './subject.ts'

const DAY_MS = 86_400_000
const ACCOUNT_WIDE: Permission = { scope: 'account' }

export function removalContract(shared: () => Subject): void {
  // Not the shared directory: what other tests have there would be removed.
  let own: Subject | undefined
  beforeAll(async () => {
    const { newPlace } = shared()
    const clock = { nowMs: Date.now() }
    const place = await newPlace()
    const opened = await place.open(() => clock.nowMs)
    let accounts = 0
    const newAccount = async () => {
      const name = `account-${accounts++}`
      await opened.store.change('a test', (change) => change.createAccount(name))
      return (await opened.store.records.account(name)) as Account
    }
    own = { ...opened, place, newPlace, clock, newAccount }
    return () => opened.store.close()
  })
  const subject = () => own as Subject

  /** As the last removal has said. */
  let known: LeftToRemove | undefined

  /** Removes what is due after some days. @param parts most transactions */
  function remove({ days = 0, parts = Number.POSITIVE_INFINITY } = {}): Promise<Removed> {
    const { store, clock } = subject()
    const dueMs = clock.nowMs - days * DAY_MS
    let left = parts
    const times = { nowMs: clock.nowMs, deletedMs: dueMs, expiredMs: dueMs }
    return removeRows(
      {
        change: (work) => store.change('retention', work),
        shrink: () => store.shrink(),
        proceed: () => left-- > 0,
        queries: store.records.queries,
        onLeft: (left) => {
          known = left
        },
      },
      times,
    )
  }

  /** Counts the rows that are left after some days. */
  const left = (days: number) => {
    const { store, clock } = subject()
    return leftToRemove(store.records.queries, clock.nowMs - days * DAY_MS)
  }

  /** How many rows each table has that mention one of the ids. */
  async function rowsWith(...ids: readonly string[]): Promise<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const table of [...TABLES.map(({ name }) => name), ...PASSING_TABLES].filter(
      (name) => name !== 'audit',
    )) {
      const rows = await subject().database.all(`SELECT * FROM ${table}`)
      const count = rows.filter((row) =>
        Object.values(row).some((value) => ids.includes(String(value))),
      ).length
      if (count > 0) found[table] = count
    }
    return found
  }

  const queryOf = (user: UserRecord, changeNumber: number): IamTokenQuery => ({
    ...{ tokenId: `token of ${user.id}`, ancestors: [], subjectId: user.id, generation: user.generation },
    ...{ changeNumber, account: user.account, projectId: undefined, permissionScopes: ['account'] },
  })
  const isActive = async (query: IamTokenQuery) =>
    (await subject().store.verification.iamTokenStatus(query)).active

  /** A user with a row in every table that has some of users. */
  async function newUserWithEverything() {
    const { clock } = subject()
    const { account, user, changeNumber } = await newServiceUser(subject(), [ACCOUNT_WIDE])
    const { id: projectId } = await theProject(subject().store.records, account, 'alpha')
    const endsAtMs = clock.nowMs + 1_000 * DAY_MS
    const session = { hash: randomBytes(32), holder: user, way: 'password', endsAtMs }
    const staticToken = { kind: 'k', name: 'key', hash: randomBytes(32), pepper: 'aa' }
    const keyId = await changing(subject(), async (change) => {
      const panel = new PanelChange(change)
      await change.setPermissions(user, [ACCOUNT_WIDE, { scope: 'projects', projects: ['alpha', 'beta'] }])
      await change.setRoles(user, ['member'])
      await change.setPanelToken(user, projectId, '{}', 'a token')
      await change.setAddressRules(account, ['192.0.2.0/24'])
      await panel.beginSession({ ...session, address: '192.0.2.1', client: 'a browser' })
      await panel.addLink(user, { hash: randomBytes(32), purpose: 'login', endsAtMs })
      await new FactorChange(change).setCode(user, { secret: Buffer.from('s'), sealedWith: 'aa' }, 0)
      await new FactorChange(change).addPasskey(user, {
        ...{
          id: `passkey of ${user.id}`,
          name: 'a key',
          publicKey: Buffer.from('k'),
          counter: 0,
          transports: [],
        },
      })
      await new ApplicationCredentialChange(change).add(user, {
        ...{ name: 'nightly', description: '', projectId, roles: [], limited: false, unrestricted: false },
        ...{ expiresAt: undefined, secretHash: PASSWORD_HASH },
      })
      return change.addStaticToken(user, staticToken)
    })
    return { account, user, changeNumber, projectId, keyId, hash: staticToken.hash }
  }

  test('a deleted account is one record, whatever it has, and nothing of it is active or listed', async () => {
    const { account, user, changeNumber, hash } = await newUserWithEverything()
    const { store } = subject()
    await changing(subject(), async (change) => {
      for (let n = 0; n < 1_200; n++)
        await change.createUser(account, { name: `user ${n}`, type: 'control_panel_user' })
    })
    expect(await store.records.count('users', account.account)).toBe(1_201)
    const before = await store.records.changeNumber()
    await changing(subject(), (change) => change.deleteAccount(account))
    expect(await store.records.changeNumber()).toBe(before + 1)
    expect(await isActive(queryOf(user, changeNumber))).toBe(false)
    expect(await store.verification.staticToken(hash)).toMatchObject({ active: false })
    expect(await store.records.users(account.account, 'control_panel_user', { after: '', size: 1 })).toEqual(
      [],
    )
    expect(await store.records.userById(user.id)).toBeUndefined()
    expect(await store.records.count('users', account.account)).toBe(0)
  })

  test('rows of a deleted account go in parts; one that is interrupted is continued', async () => {
    const deleted = await newUserWithEverything()
    const other = await newUserWithEverything()
    const { database, clock } = subject()
    const ids = (scene: typeof deleted) => [scene.user.id, scene.projectId, scene.keyId]
    const [had, others] = [await rowsWith(...ids(deleted)), await rowsWith(...ids(other))]
    await changing(subject(), async (change) => {
      for (let n = 0; n < 700; n++)
        await change.createUser(deleted.account, { name: `user ${n}`, type: 'control_panel_user' })
      await change.deleteAccount(deleted.account)
    })
    const unmarked = async () =>
      Number(
        (
          await database.all(
            'SELECT COUNT(*) AS users FROM users WHERE account_id = :account AND deleted_at_ms IS NULL',
            { account: deleted.account.id },
          )
        )[0]?.users,
      )
    await remove({ days: 90, parts: 1 })
    expect(await unmarked()).toBeGreaterThan(0)
    expect(await remove({ days: 90 })).toEqual({})
    expect(await unmarked()).toBe(0)
    expect(await rowsWith(...ids(deleted))).toEqual(had)
    clock.nowMs += 90 * DAY_MS
    const parts = [await remove({ days: 90, parts: 3 }), await remove({ days: 90 })]
    expect(parts.reduce((sum, { users = 0 }) => sum + users, 0)).toBeGreaterThan(700)
    expect(await rowsWith(...ids(deleted))).toEqual({})
    expect(await rowsWith(...ids(other))).toEqual(others)
  })

  test('deleted users and projects are counted, whatever part of them was removed', async () => {
    const { account } = await newUserWithEverything()
    const { clock } = subject()
    await changing(subject(), async (change) => {
      for (let n = 0; n < 1_200; n++) {
        await change.createUser(account, { name: `user ${n}`, type: 'control_panel_user' })
        if (n % 2 === 0) await change.createProject(account, `project ${n}`)
      }
      await change.deleteAccount(account)
    })
    const none = { users: 0, projects: 0 }
    const all = { users: 1_201, projects: 602 }
    const kept = (await left(90)).kept
    expect(await left(90)).toMatchObject({ unmarked: all, due: none })
    await remove({ days: 90, parts: 12 })
    expect(known?.unmarked.users).toBeLessThan(1_201)
    expect(known?.unmarked.users).toBeGreaterThan(0)
    expect(await left(90)).toEqual(known)
    await remove({ days: 90 })
    expect(known).toEqual({
      ...{ unmarked: none, due: none },
      kept: { users: kept.users + 1_201, projects: kept.projects + 602 },
    })
    expect(await left(90)).toEqual(known)
    clock.nowMs += 90 * DAY_MS
    expect(await left(90)).toMatchObject({ unmarked: none, kept: none })
    await remove({ days: 90, parts: 8 })
    expect(known?.due.users).toBeGreaterThan(0)
    expect(await left(90)).toEqual(known)
    await remove({ days: 90 })
    expect(await left(90)).toEqual({ unmarked: none, due: none, kept: none })
  })

  test('a deleted project goes with the permissions for it', async () => {
    const { account, user, projectId } = await newUserWithEverything()
    const { store, clock } = subject()
    const project = await theProject(store.records, account, 'alpha')
    await changing(subject(), (change) => change.deleteProject(project))
    clock.nowMs += 90 * DAY_MS
    await remove({ days: 90 })
    // The token that a user can copy stays with the user.
    expect(await rowsWith(projectId)).toEqual({ panel_tokens: 1 })
    expect((await store.records.userById(user.id))?.permissions).toEqual([
      ACCOUNT_WIDE,
      { scope: 'projects', projects: ['beta'] },
    ])
  })

  test('a revoked static token becomes an unknown one, and its id stays revoked', async () => {
    const { account, hash, keyId } = await newUserWithEverything()
    const { store, clock } = subject()
    await changing(subject(), (change) => change.revoke(keyId, account.account))
    clock.nowMs += 90 * DAY_MS - 1
    await remove({ days: 90 })
    expect(await store.verification.staticToken(hash)).toMatchObject({ active: false })
    clock.nowMs += 1
    expect(await remove({ days: 90 })).toMatchObject({ static_tokens: 1 })
    expect(await store.verification.staticToken(hash)).toBeUndefined()
    expect(await rowsWith(keyId)).toEqual({ revocations: 1 })
  })

  test('an IAM token whose revocation was removed stays revoked, whatever the clocks say', async () => {
    const { account, user, changeNumber } = await newUserWithEverything()
    const { store, clock } = subject()
    const query = queryOf(user, changeNumber)
    await changing(subject(), (change) => change.revoke(query.tokenId, account.account))
    const active = queryOf(user, await store.records.changeNumber())
    await remove({ days: 90 })
    clock.nowMs += 89 * DAY_MS
    await remove({ days: 90 })
    expect(await rowsWith(query.tokenId)).toEqual({ revocations: 1 })
    expect(await isActive({ ...active, tokenId: 'another' })).toBe(true)
    // Changes after the revocation, of which the floor is one.
    await newPanelUser(subject())
    clock.nowMs += DAY_MS
    await remove({ days: 90 })
    clock.nowMs += 90 * DAY_MS
    const later = { ...queryOf(user, await store.records.changeNumber()), tokenId: 'of today' }
    expect(await remove({ days: 90 })).toMatchObject({ revocations: 1 })
    expect(await rowsWith(query.tokenId)).toEqual({})
    expect(await isActive(query)).toBe(false)
    expect(await isActive(later)).toBe(true)
    // The revocation of a credential is never removed, because a credential may have no end.
    const credentials = new ApplicationCredentialRecords(store.records.queries)
    const [credential] = await credentials.list(user.id, { after: '', size: 1 })
    const login = await credentials.login({ id: credential?.id ?? '' })
    expect(login && (await isActive(queryOfCredential(login, ['account'])))).toBe(true)
  })

  test('sessions, links and challenges go when they have ended', async () => {
    const { user } = await newPanelUser(subject())
    const { clock } = subject()
    const endsAtMs = clock.nowMs + 1
    await changing(subject(), async (change) => {
      const panel = new PanelChange(change)
      const session = { hash: randomBytes(32), holder: user, way: 'password', endsAtMs }
      await panel.beginSession({ ...session, address: '192.0.2.1', client: 'a browser' })
      await panel.addLink(user, { hash: randomBytes(32), purpose: 'login', endsAtMs })
      await new FactorChange(change).useChallenge({ hash: randomBytes(32), endsAtMs })
    })
    expect(await remove()).toEqual({})
    clock.nowMs += 1
    expect(await remove()).toEqual({ panel_links: 1, panel_sessions: 1 })
    clock.nowMs += DAY_MS
    expect(await remove()).toEqual({ panel_challenges: 1 })
  })

  test('a removal is in the audit trail, with how many rows of what', async () => {
    const { user } = await newPanelUser(subject())
    const { store } = subject()
    await changing(subject(), (change) => change.deleteUser(user))
    const removed = await remove()
    const { records } = await store.records.auditPage({ account: '', newestFirst: true, size: 1 })
    expect(removed).toMatchObject({ users: 1 })
    expect(records).toMatchObject([{ action: 'directory.remove', actor: 'retention', details: removed }])
  })
}
