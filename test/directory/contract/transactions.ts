/** A change holds as a whole or not at all, nobody sees half of it, and two of them do not get in each other's way. */
import { expect, test } from 'vitest'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import { changing, newServiceUser, PASSWORD_HASH, theUser } from './people.ts'
import type { Subject } from './subject.ts'

export function transactionsContract(subject: () => Subject): void {
  test('what throws in the middle leaves nothing behind', async () => {
    const { store } = subject()
    const before = await store.records.audit('', { after: '0', size: 10_000 })
    await expect(
      changing(subject(), async (change) => {
        await change.createAccount('half')
        throw new RangeError('in the middle')
      }),
    ).rejects.toThrow(new RangeError('in the middle'))
    expect(await store.records.account('half')).toBeUndefined()
    expect(await store.records.audit('', { after: '0', size: 10_000 })).toEqual(before)
  })

  test('what goes on after a statement that failed leaves nothing behind either', async () => {
    const { store, newAccount } = subject()
    const { account } = await newAccount()
    await expect(
      changing(subject(), async (change) => {
        await change.createAccount('before')
        await change.createAccount(account).catch(() => {})
        await change.createAccount('after').catch(() => {})
      }),
    ).rejects.toThrow(AlreadyExists)
    expect(await store.records.account('before')).toBeUndefined()
    expect(await store.records.account('after')).toBeUndefined()
  })

  test('the store goes on after a change that failed', async () => {
    const { store, newAccount } = subject()
    await expect(changing(subject(), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const { account } = await newAccount()
    expect(await store.records.account(account)).toBeDefined()
  })

  test('a change sees what it wrote itself, and nobody else does before it ends', async () => {
    const { store } = subject()
    const { account, user } = await newServiceUser(subject(), [{ scope: 'account' }])
    const ground = {
      tokenId: 'a token',
      subjectId: user.id,
      generation: user.generation,
      account: account.account,
      projectId: undefined,
      permissionScopes: ['account'],
    }
    const seen = async (records = store.records) => [
      (await store.verification.iamTokenStatus(ground)).active,
      (await store.verification.serviceUser(account.account, 'robot'))?.generation,
      (await records.project(account.account, 'gamma')) !== undefined,
      (await records.audit(account.account, { after: '0', size: 100 })).length,
    ]
    const [, , , audited] = await seen()
    await changing(subject(), async (change) => {
      await change.createProject(account, 'gamma')
      await change.setPassword(user, 'another hash')
      expect(await seen()).toEqual([true, 1, false, audited])
      expect((await theUser(change.records, account, 'robot', 'service_user')).generation).toBe(2)
      expect(await change.records.project(account.account, 'gamma')).toBeDefined()
    })
    expect(await seen()).toEqual([false, 2, true, Number(audited) + 2])
  })

  test('of two who take one name at once, one wins', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        changing(subject(), (change) =>
          change.createUser(account, { name: 'one', type: 'service_user', passwordHash: PASSWORD_HASH }),
        ),
      ),
    )
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(reasons).toHaveLength(7)
    for (const reason of reasons) expect(reason).toBeInstanceOf(AlreadyExists)
    expect(await store.records.users(account.account, 'service_user', { after: '', size: 10 })).toHaveLength(
      1,
    )
  })

  test('of many passwords at once each raises the generation', async () => {
    const { store } = subject()
    const { account, user } = await newServiceUser(subject())
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        changing(subject(), async (change) =>
          change.setPassword(
            await theUser(change.records, account, 'robot', 'service_user'),
            `hash ${index}`,
          ),
        ),
      ),
    )
    expect((await theUser(store.records, account, 'robot', 'service_user')).generation).toBe(
      user.generation + 20,
    )
  })

  test('what a change reads still holds when it writes', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    // Each adds one to what it read: a change that read too early would lose another's.
    await Promise.all(
      Array.from({ length: 20 }, () =>
        changing(subject(), async (change) => {
          const there = await change.records.projects(account.account, { after: '', size: 100 })
          await change.createProject(account, `project-${String(there.length).padStart(2, '0')}`)
        }),
      ),
    )
    expect(await store.records.projects(account.account, { after: '', size: 100 })).toHaveLength(20)
  })
}
