/** From which addresses the users of an account came: of sessions and of changes, in bounded numbers. */
import { randomBytes, randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { newPanelUser, newServiceUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const DAY_MS = 86_400_000

export function knownAddressesContract(subject: () => Subject): void {
  const author = ({ type, id, name }: UserRecord, address: string) => ({
    ...({ name: `${type} ${id} (${name})`, lane: 'users', principal: id } as const),
    origin: { protocol: 'grpc', address },
  })
  let changes = 0
  /** The user makes a change. */
  const changed = (user: UserRecord, account: Account, address: string) =>
    subject().store.change(author(user, address), (change) =>
      change.createProject(account, `project ${changes++}`),
    )
  const known = async (account: Account) => {
    const { store, clock } = subject()
    const found = await store.records.knownAddresses(account, clock.nowMs)
    return {
      ...found,
      known: found.known.map(({ userName, address, lastSeenMs }) => [
        userName,
        address,
        clock.nowMs - lastSeenMs,
      ]),
    }
  }
  const session = async (user: UserRecord, address: string, more: Record<string, number> = {}) => {
    const { database, store, clock } = subject()
    const now = clock.nowMs
    const account = await store.records.account(user.account)
    const columns = {
      ...{ hash: randomBytes(32), id: randomUUID(), user_id: user.id, generation: user.generation },
      ...{ created_at_ms: now, used_at_ms: now, confirmed_at_ms: now, ends_at_ms: now + 1 },
      ...{ address, client: 'a browser', account_id: account?.id ?? null, ...more },
    }
    const names = Object.keys(columns)
    await database.all(
      `INSERT INTO panel_sessions (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
      columns,
    )
  }

  test('each user and address once, the one that was seen last first', async () => {
    const { clock } = subject()
    const { account, user: robot } = await newServiceUser(subject())
    await subject().store.change('a test', (change) =>
      change.createUser(account, { name: 'person', type: 'control_panel_user', owner: true }),
    )
    const person = (await subject().store.records.user(
      account.account,
      'person',
      'control_panel_user',
    )) as UserRecord
    await changed(robot, account, '10.0.0.1')
    clock.nowMs += 1000
    await changed(person, account, '10.0.0.1')
    await changed(person, account, '10.0.0.2')
    clock.nowMs += 1000
    await changed(person, account, '10.0.0.2')
    await session(person, '2001:db8::1', { used_at_ms: clock.nowMs - 1500 })
    await session(person, '10.0.0.2', { used_at_ms: clock.nowMs - 500 })
    expect(await known(account)).toEqual({
      known: [
        ['person', '10.0.0.2', 0],
        ['person', '10.0.0.1', 1000],
        ['person', '2001:db8::1', 1500],
        ['robot', '10.0.0.1', 2000],
      ],
      truncated: false,
    })
  })

  test('addresses of other users, ended sessions and long ago are not listed', async () => {
    const { store, clock, newAccount } = subject()
    const { account, user } = await newPanelUser(subject())
    const { user: stranger } = await newPanelUser(subject())
    const other = await newAccount()
    await changed(user, account, 'long ago')
    clock.nowMs += 90 * DAY_MS + 1
    await changed(user, other, 'in another account')
    await changed(stranger, account, 'a stranger')
    await session(stranger, 'a stranger')
    await session(user, 'ended', { ends_at_ms: clock.nowMs })
    await session(user, 'of an earlier generation', { generation: user.generation - 1 })
    const caller = { name: `caller ${user.id}`, lane: 'users', principal: '' } as const
    await store.change({ ...caller, origin: { protocol: 'grpc', address: 'a caller' } }, (change) =>
      change.createProject(account, 'of a caller'),
    )
    await store.change('service_user without an id', (change) => change.createProject(account, 'x'))
    expect(await known(account)).toEqual({ known: [], truncated: false })
    await changed(user, account, '10.0.0.1')
    expect((await known(account)).known).toEqual([['person', '10.0.0.1', 0]])
    await store.change('a test', (change) => change.deleteUser(user))
    expect(await known(account)).toEqual({ known: [], truncated: false })
  })

  test('at most a thousand, and of 50,000 changes', async () => {
    const { database, clock } = subject()
    const { account, user } = await newPanelUser(subject())
    const { name } = author(user, '')
    const insert = (count: number, address: string) =>
      database.all(
        `INSERT INTO audit (at_ms, actor, action, account, subject, details)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
         SELECT ${clock.nowMs}, '${name}', 'x', '${account.account}', 'x', ${address} FROM numbers`,
      )
    await insert(1, `'{"by":{"address":"the first"}}'`)
    await insert(50_000, `'{"by":{"address":"the second"}}'`)
    expect(await known(account)).toEqual({ known: [['person', 'the second', 0]], truncated: true })
    await insert(999, `'{"by":{"address":"' || n || '"}}'`)
    expect((await known(account)).known).toHaveLength(1000)
    await insert(1001, `'{"by":{"address":"other ' || n || '"}}'`)
    const { known: most, truncated } = await known(account)
    expect({ most: most.length, truncated }).toEqual({ most: 1000, truncated: true })
    clock.nowMs += 91 * DAY_MS
    expect(await known(account)).toEqual({ known: [], truncated: false })
  })
}
