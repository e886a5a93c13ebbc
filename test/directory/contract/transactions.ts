/**
 * Transactions: a change takes effect completely or not at all, others never see half of it, and changes do
 * not interfere.
 */
import { expect, test } from 'vitest'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import { changing, newServiceUser, PASSWORD_HASH, theUser } from './people.ts'
import type { Subject } from './subject.ts'

export function transactionsContract(subject: () => Subject): void {
  test('a change that throws has no effect', async () => {
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

  test('a change that continues after a failed statement has no effect either', async () => {
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

  test('whatever a change does after a failed statement fails as that did', async () => {
    const { account } = await subject().newAccount()
    let after: PromiseSettledResult<unknown> | undefined
    const failing = changing(subject(), async (change) => {
      await change.createAccount(account).catch(() => {})
      after = (await Promise.allSettled([change.records.account(account)]))[0]
      await change.createAccount('after')
    })
    await expect(failing).rejects.toThrow(AlreadyExists)
    expect(after).toMatchObject({ status: 'rejected', reason: { name: 'AlreadyExists' } })
  })

  test('a part of a change that goes on after another part has failed does nothing', async () => {
    const { store, newAccount } = subject()
    const { account } = await newAccount()
    const goesOn = Promise.withResolvers<void>()
    let late: Promise<unknown> | undefined
    const failing = changing(subject(), async (change) => {
      late = goesOn.promise.then(() => change.createAccount('late'))
      late.catch(() => {})
      await change.records.account(account)
      throw new RangeError('one part')
    })
    await expect(failing).rejects.toThrow(new RangeError('one part'))
    goesOn.resolve()
    await expect(late).rejects.toThrow(new RangeError('one part'))
    expect(await store.records.account('late')).toBeUndefined()
  })

  test('the store works after a failed change', async () => {
    const { store, newAccount } = subject()
    await expect(changing(subject(), () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const { account } = await newAccount()
    expect(await store.records.account(account)).toBeDefined()
  })

  test('a change sees its own writes, and others see them only after it ends', async () => {
    const { store } = subject()
    const { account, user, changeNumber } = await newServiceUser(subject(), [{ scope: 'account' }])
    const ground = {
      tokenId: 'a token',
      ancestors: [],
      subjectId: user.id,
      generation: user.generation,
      changeNumber,
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

  test('if two changes create the same name at the same time, one succeeds', async () => {
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

  test('of many passwords that are set at the same time, each one raises the generation', async () => {
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

  test('the state that a change holds is still true when it writes', async () => {
    const { store, newAccount } = subject()
    const account = await newAccount()
    // Each change adds one to the value that it read. A change that read too early would lose another one's
    // addition.
    await Promise.all(
      Array.from({ length: 20 }, () =>
        changing(subject(), async (change) => {
          change.writer.hold({ account: account.account, changes: 'account' })
          const there = await change.records.projects(account.account, { after: '', size: 100 })
          await change.createProject(account, `project-${String(there.length).padStart(2, '0')}`)
        }),
      ),
    )
    expect(await store.records.projects(account.account, { after: '', size: 100 })).toHaveLength(20)
  })
}
