/** Application credentials: how they are read, and what ends one for good. */
import { expect, test } from 'vitest'
import {
  APPLICATION_CREDENTIALS_MAX,
  ApplicationCredentialChange,
  ApplicationCredentialRecords,
  type NewApplicationCredential,
  queryOfCredential,
  revocationIdOf,
  TooManyCredentials,
} from '../../../sidecar/directory/application-credential-records.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import type { UserRecord } from '../../../sidecar/directory/directory.ts'
import { changing, newServiceUser, PASSWORD_HASH, theProject, theUser } from './people.ts'
import type { Account, Subject } from './subject.ts'

const SCOPES = ['account', 'projects']

export function applicationCredentialsContract(subject: () => Subject): void {
  const records = () => new ApplicationCredentialRecords(subject().store.records.queries)

  const add = (user: UserRecord, credential: NewApplicationCredential) =>
    changing(subject(), (change) => new ApplicationCredentialChange(change).add(user, credential))

  async function made(name = 'nightly') {
    const scene = await newServiceUser(subject(), [{ scope: 'account' }])
    const { id: projectId } = await theProject(subject().store.records, scene.account, 'alpha')
    const credential: NewApplicationCredential = {
      ...{ name, description: 'of a job', projectId, roles: ['member', 'reader'], limited: true },
      ...{ unrestricted: true, expiresAt: { ms: 253_402_300_799_999, us: 999 }, secretHash: PASSWORD_HASH },
    }
    return { ...scene, credential, id: await add(scene.user, credential) }
  }

  async function isActive(id: string): Promise<boolean> {
    const login = await records().login({ id })
    if (login === undefined) return false
    return (await subject().store.records.activeHolder(queryOfCredential(login, SCOPES))) !== undefined
  }

  test('one is read as it was made: by its id, by its name, and in the list', async () => {
    const { account, user, credential, id } = await made()
    const { secretHash, ...fields } = credential
    const record = {
      ...{ id, ...fields, account: account.account, userId: user.id, userName: 'robot', project: 'alpha' },
      createdAtMs: subject().clock.nowMs,
    }
    expect(await records().ofUser(user.id, id)).toEqual(record)
    expect(await records().list(user.id, { after: '', size: 10 })).toEqual([record])
    const login = { ...record, secretHash, generation: user.generation, changeNumber: expect.any(Number) }
    expect(await records().login({ id })).toEqual(login)
    const named = { name: 'nightly', account: account.account, userName: 'robot' }
    expect(await records().login(named)).toEqual(login)
    expect(await records().login({ ...named, name: 'other' })).toBeUndefined()
    expect(await isActive(id)).toBe(true)
  })

  test('a user has a name once, and a bounded number in all', async () => {
    const { user, credential } = await made()
    await expect(add(user, credential)).rejects.toThrow(AlreadyExists)
    for (let count = 1; count < APPLICATION_CREDENTIALS_MAX; count++)
      await add(user, { ...credential, name: `number ${count}` })
    await expect(add(user, { ...credential, name: 'one more' })).rejects.toThrow(TooManyCredentials)
  })

  type End = (change: DirectoryChange, user: UserRecord, account: Account, id: string) => Promise<unknown>
  test.each<[what: string, end: End]>([
    [
      'it is deleted',
      async (change, user, _account, id) => {
        const record = await new ApplicationCredentialRecords(change.records.queries).ofUser(user.id, id)
        if (record !== undefined) await new ApplicationCredentialChange(change).delete(record)
      },
    ],
    [
      'its tokens are revoked',
      (change, _user, { account }, id) => change.revoke(revocationIdOf(id), account),
    ],
    ['the password is replaced', (change, user) => change.setPassword(user, 'another hash')],
    ['the user administers', (change, user) => change.setRoles(user, ['iam.admin'])],
    ['the user validates', (change, user) => change.setValidator(user, true)],
    [
      'the user is disabled for a moment',
      async (change, user) => {
        await change.setUserEnabled(user, false)
        await change.setUserEnabled(user, true)
      },
    ],
    ['the user is deleted', (change, user) => change.deleteUser(user)],
    [
      'the permission is gone for a moment',
      async (change, user) => {
        await change.setPermissions(user, [])
        await change.setPermissions(user, [{ scope: 'account' }])
      },
    ],
    [
      'the project is disabled for a moment',
      async (change, _user, account) => {
        const project = await theProject(change.records, account, 'alpha')
        await change.setProjectEnabled(project, false)
        await change.setProjectEnabled(project, true)
      },
    ],
    [
      'the account is disabled for a moment',
      async (change, _user, account) => {
        await change.setAccountEnabled(account, false)
        await change.setAccountEnabled(account, true)
      },
    ],
  ])('one ends for good when %s', async (_what, end) => {
    const { account, user, id } = await made()
    await changing(subject(), (change) => end(change, user, account, id))
    expect(await isActive(id)).toBe(false)
  })

  test('one that ended with a password makes room, with its name', async () => {
    const { account, user, credential, id } = await made()
    await changing(subject(), (change) => change.setPassword(user, 'another hash'))
    expect(await records().list(user.id, { after: '', size: 10 })).toEqual([])
    const later = await theUser(subject().store.records, account, 'robot', 'service_user')
    const next = await add(later, credential)
    expect(await records().login({ id })).toBeUndefined()
    expect(await isActive(next)).toBe(true)
  })
}
