/** Changes of several hosts at the same time. They wait for one another only where they touch the same. */
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { applyFile } from '../../../sidecar/authority/administration/directory-file.ts'
import type { OpenedAuthority } from '../../../sidecar/authority/open-authority.ts'
import { Secret } from '../../../sidecar/base/secret.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { openPostgres } from '../../../sidecar/directory/postgres.ts'
import { LOCK } from '../../../sidecar/directory/postgres-transaction.ts'
import { DirectoryStore } from '../../../sidecar/directory/store.ts'
import { run } from '../../../sidecar/usecases/administration/run.ts'
import { userByIamToken } from '../../../sidecar/usecases/requester.ts'
import { type Revoker, revokeInDirectory, revokingUser } from '../../../sidecar/usecases/revocation-right.ts'
import { issueTo, openAuthority, tokenIdOf } from '../../support/directory/scene.ts'
import { PostgresProxy } from '../../support/postgres/proxy.ts'
import { PostgresServer } from '../../support/postgres/server.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { SHIPPED } from '../../support/sidecar/services.ts'
import { eventuallyHolds, newFolder } from '../../support/suite/resources.ts'

const programs = inject('postgres')

/** An operator, whose right is in the configuration. */
const OPERATOR: Revoker = { author: TESTER, expectRight: () => {} }

describe.skipIf(!programs.ok)('changes of several hosts at the same time', () => {
  let server: PostgresServer
  let proxy: PostgresProxy
  let database: string
  let authority: OpenedAuthority
  /** Another host. */
  let other: DirectoryStore
  /** A host behind the proxy. It follows nothing, so all that comes through is its changes. */
  let far: DirectoryStore
  let accounts = 0

  beforeAll(async () => {
    if (!programs.ok) return
    server = await PostgresServer.start(programs.folder)
    proxy = await PostgresProxy.start(server.port)
    const url = await server.newDatabase()
    database = new URL(url).pathname.slice(1)
    const limits = { stalenessMs: 60_000, poolSize: 5, timeoutMs: 60_000 }
    authority = await openAuthority(newFolder(), { url: new Secret(url), ...limits })
    const open = async (port: number) =>
      new DirectoryStore(
        await openPostgres({ url: new Secret(server.url(database, { port })), ...limits, poolSize: 2 }),
        Date.now,
      )
    other = await open(server.port)
    far = await open(proxy.port)
  })
  afterAll(async () => {
    await Promise.all([authority?.close(), other?.close(), far?.close()])
    await proxy?.close()
    await server?.remove()
  })

  /** An account with the project alpha, an administrator and a service user. */
  async function newScene() {
    const account = `account-${accounts++}`
    const { secrets } = await applyFile(authority.administration, TESTER, {
      accounts: [
        {
          account,
          projects: ['alpha'],
          service_users: [
            { name: 'admin', permissions: [{ scope: 'account' }], roles: ['iam.admin'] },
            { name: 'robot', permissions: [{ scope: 'account' }] },
          ],
        },
      ],
    })
    const issue = async (user: string) => {
      const value = secrets.find((secret) => secret.user === user)?.value.reveal() ?? ''
      return issueTo(authority, account, value, user)
    }
    const { records } = authority.administration
    const idOf = async (name: string) =>
      ((await records.user(account, name, 'service_user')) as UserRecord).id
    return { account, issue, idOf }
  }
  type Scene = Awaited<ReturnType<typeof newScene>>

  /** The administrator as the author of a revocation of a token. */
  async function administratorOf({ issue }: Scene, value: string) {
    const presented = await issue('admin')
    const about = {
      connection: {},
      clientAddress: undefined,
      from: { protocol: 'grpc', address: 'unknown' },
    } as const
    const requester = await userByIamToken({ engine: SHIPPED, ...authority }, { value: presented, ...about })
    const { token } = await authority.authority.verify(value, SHIPPED.tokenKinds)
    if (requester === undefined || token === undefined) throw new TypeError('expected active tokens')
    return {
      presented,
      revoker: revokingUser({ engine: SHIPPED, now: Date.now }, requester, token, 'a token'),
    }
  }

  /** A revocation at another host. */
  async function revoked(at: DirectoryStore, scene: Scene, revoker: Revoker, value: string): Promise<number> {
    const tokenId = await tokenIdOf(authority, value)
    const administration = { ...authority.administration, directory: at }
    const revocation = { tokenId, account: scene.account, holderId: await scene.idOf('robot') }
    return revokeInDirectory(administration, revoker, revocation)
  }

  test.each<
    [asker: string, roundTrips: number, revokerOf: (scene: Scene, value: string) => Promise<Revoker>]
  >([
    ['an operator', 2, async () => OPERATOR],
    [
      'an administrator of the account',
      3,
      async (scene, value) => (await administratorOf(scene, value)).revoker,
    ],
  ])('a revocation by %s takes %d round trips', async (_asker, roundTrips, revokerOf) => {
    const scene = await newScene()
    const counts: number[] = []
    for (let time = 0; time < 3; time++) {
      const value = await scene.issue('robot')
      const revoker = await revokerOf(scene, value)
      const before = proxy.roundTrips
      await revoked(far, scene, revoker, value)
      counts.push(proxy.roundTrips - before)
    }
    // The first one connects.
    expect(counts.slice(1)).toEqual([roundTrips, roundTrips])
  })

  test('a directory file of many users takes as many round trips as one of few', async () => {
    const counts: number[] = []
    for (const users of [1, 2, 200]) {
      const names = Array.from({ length: users }, (_, user) => ({
        name: `user-${user}`,
        roles: ['iam.admin'],
      }))
      const before = proxy.roundTrips
      await applyFile({ ...authority.administration, directory: far }, TESTER, {
        accounts: [{ account: `account-${accounts++}`, projects: ['alpha'], control_panel_users: names }],
      })
      counts.push(proxy.roundTrips - before)
    }
    expect(counts[2]).toBe(counts[1])
  })

  /** Begins a change at the other host, which does not end before `end` is called. */
  async function begun(work: (change: DirectoryChange) => Promise<unknown>) {
    const [isBegun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const changed = other.change('a host that takes long', async (change) => {
      await work(change)
      isBegun.resolve()
      await ended.promise
    })
    await Promise.race([isBegun.promise, changed])
    return {
      end: () => {
        ended.resolve()
        return changed
      },
    }
  }

  test('a change that takes long holds up no change of something else, and is after those that end before it', async () => {
    const scene = await newScene()
    const held = await begun(async (change) => {
      change.writer.hold({ account: scene.account })
      await change.createAccount(`${scene.account}-later`)
      await change.revoke('a token of its own', scene.account)
    })
    for (const user of ['robot', 'admin']) await revoked(far, scene, OPERATOR, await scene.issue(user))
    await run(authority.administration, TESTER, 'createProject', { account: scene.account, name: 'beta' })
    await held.end()
    const trail = await authority.administration.records.audit('', { after: '0', size: 10_000 })
    expect(trail.slice(-5).map(({ action }) => action)).toEqual([
      ...['token.revoke', 'token.revoke', 'project.create', 'account.create', 'token.revoke'],
    ])
    expect(trail.map(({ sequence }) => sequence)).toEqual(
      trail.map(({ sequence }) => sequence).toSorted((one, other) => one - other),
    )
  })

  /** Whether a change waits for a lock of another one. */
  async function oneWaits(): Promise<void> {
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`
    await eventuallyHolds(async () => expect(await server.query(database, waiting)).toHaveLength(1))
  }

  test('the order of changes is that of their commits: each waits for the one that commits', async () => {
    const client = new Client({ connectionString: server.url(database) })
    await client.connect()
    const { account } = await newScene()
    await client.query('BEGIN')
    await client.query(LOCK)
    let isDone = false
    const changed = other
      .change('a host', (change) => change.revoke('its token', account))
      .then(() => {
        isDone = true
      })
    await oneWaits()
    expect(isDone).toBe(false)
    await client.query('COMMIT')
    await changed
    await client.end()
  })

  const userOf = async (change: DirectoryChange, { account }: Scene, name: string) =>
    (await change.records.user(account, name, 'service_user')) as UserRecord
  const holdUser = (change: DirectoryChange, { account }: Scene, name: string) =>
    change.writer.hold({ account, userNames: [name], changes: 'users' })

  /** A change of one host that is about to end, a request at another one meanwhile, and its answer. */
  test.each<
    [
      first: string,
      second: string,
      begin: (change: DirectoryChange, scene: Scene, presented: string) => Promise<unknown>,
      ask: (scene: Scene, revoke: () => Promise<unknown>) => Promise<unknown>,
      answer: object,
    ]
  >([
    [
      'an account is deleted',
      'no user is created in it',
      async (change, { account }) => {
        change.writer.hold({ account, changes: 'account' })
        const record = await change.records.account(account)
        if (record !== undefined) await change.deleteAccount(record)
      },
      ({ account }) =>
        run(authority.administration, TESTER, 'createControlPanelUser', { account, name: 'late' }),
      { status: 'rejected', reason: { reason: 'NOT_FOUND' } },
    ],
    [
      'a user is created',
      'they are deleted with the account',
      async (change, { account }) => {
        change.writer.hold({ account })
        const record = await change.records.account(account)
        if (record !== undefined)
          await change.createUser(record, { name: 'late', type: 'control_panel_user' })
      },
      ({ account }) => run(authority.administration, TESTER, 'deleteAccount', { account }),
      { status: 'fulfilled' },
    ],
    [
      'an administrator loses the role',
      'they revoke no token of others',
      async (change, scene) => {
        holdUser(change, scene, 'admin')
        await change.setRoles(await userOf(change, scene, 'admin'), [])
      },
      (_scene, revoke) => revoke(),
      { status: 'rejected', reason: { reason: 'NOT_HOLDER_NOR_ADMINISTRATOR' } },
    ],
    [
      'the token of an administrator is revoked',
      'they revoke nothing with it',
      async (change, { account }, presented) => {
        const tokenId = await tokenIdOf(authority, presented)
        change.writer.hold({ alone: [tokenId] })
        await change.revoke(tokenId, account)
      },
      (_scene, revoke) => revoke(),
      { status: 'rejected', reason: { reason: 'REQUESTER_NOT_AUTHENTICATED' } },
    ],
    [
      'a project is deleted',
      'no permission selects it',
      async (change, { account }) => {
        change.writer.hold({ account, projects: ['alpha'], changes: 'projects' })
        const project = await change.records.project(account, 'alpha')
        if (project !== undefined) await change.deleteProject(project)
      },
      ({ account }) =>
        run(authority.administration, TESTER, 'updateServiceUser', {
          ...{ account, name: 'robot', permissions: [{ scope: 'projects', projects: ['alpha'] }] },
        }),
      { status: 'rejected', reason: { reason: 'NO_SUCH_PROJECT' } },
    ],
    [
      'another user gets the name of one who is deleted',
      'it is they who are changed',
      async (change, scene) => {
        holdUser(change, scene, 'robot')
        const robot = await userOf(change, scene, 'robot')
        const account = await change.records.account(scene.account)
        await change.deleteUser(robot)
        if (account !== undefined)
          await change.createUser(account, { name: 'robot', type: 'service_user', passwordHash: 'none' })
      },
      async ({ account, idOf }) => {
        const { user } = await run(authority.administration, TESTER, 'updateServiceUser', {
          ...{ account, name: 'robot', enabled: false },
        })
        return { isThey: user.id === (await idOf('robot')), enabled: user.enabled }
      },
      { status: 'fulfilled', value: { isThey: true, enabled: false } },
    ],
  ])('%s: meanwhile %s', async (_first, _second, begin, ask, answer) => {
    const scene = await newScene()
    const value = await scene.issue('robot')
    const { presented, revoker } = await administratorOf(scene, value)
    const held = await begun((change) => begin(change, scene, presented))
    const asked = Promise.allSettled([ask(scene, () => revoked(far, scene, revoker, value))])
    await oneWaits()
    await held.end()
    expect((await asked)[0]).toMatchObject(answer)
  })
})
