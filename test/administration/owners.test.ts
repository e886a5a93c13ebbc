/** A user with `iam.admin` never gets the better of an owner: not by tokens, and not by addresses. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const running = await runSidecar()
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
}).directory
const { administration, run } = running.sidecar
let accounts = 0

/** The directory as each person of a new account sees it. Every one of them has a static token `key`. */
async function newAccount(connect = running.connect) {
  const account = `account-${++accounts}`
  const people = [{ name: 'owner', owner: true }, { name: 'admin', roles: ['iam.admin'] }, { name: 'member' }]
  await applyFile(administration, TESTER, {
    accounts: [
      { account, control_panel_users: people.map((person) => ({ ...person, static_tokens: ['key'] })) },
    ],
  })
  const as = async (name: string) => {
    const { value } = await run(TESTER, 'reissueControlPanelUserToken', { account, name })
    return connect({ iamToken: value.reveal() }).directory
  }
  return { account, owner: await as('owner'), admin: await as('admin'), member: await as('member') }
}

const NOT_OWNER = { code: 'PERMISSION_DENIED', reason: 'NOT_OWNER' }
/** Where no test is. */
const ELSEWHERE = ['192.0.2.0/24']
const restrictionOf = async (account: string) => (await operator.getAddressRestriction({ account })).ranges

describe('static tokens', () => {
  const revokedAt = async (account: string, name: string) => {
    const { tokens } = await operator.listStaticTokens({ account, userName: name })
    return tokens[0]?.revokedAt
  }

  test('a user with iam.admin cannot revoke the static token of an owner', async () => {
    const { account, admin } = await newAccount()
    const request = { account, userName: 'owner', name: 'key' }
    await expect(admin.revokeStaticToken(request)).rejects.toMatchObject(NOT_OWNER)
    expect(await revokedAt(account, 'owner')).toBeUndefined()
  })

  test('a user with iam.admin can revoke those of other users', async () => {
    const { account, admin } = await newAccount()
    await admin.revokeStaticToken({ account, userName: 'member', name: 'key' })
    expect(await revokedAt(account, 'member')).toBeDefined()
  })

  test('an owner and an operator can revoke those of every user', async () => {
    const { account, owner } = await newAccount()
    for (const userName of ['owner', 'admin']) {
      await owner.revokeStaticToken({ account, userName, name: 'key' })
      expect(await revokedAt(account, userName)).toBeDefined()
    }
    const other = await newAccount()
    await operator.revokeStaticToken({ account: other.account, userName: 'owner', name: 'key' })
    expect(await revokedAt(other.account, 'owner')).toBeDefined()
  })
})

describe('address restrictions', () => {
  test.each<[what: string, ranges: string[]]>([
    ['set one', ELSEWHERE],
    ['set one that lets this machine in', ['127.0.0.1']],
    ['lift one', []],
  ])('a user with iam.admin cannot %s', async (_what, ranges) => {
    const { account, admin } = await newAccount()
    await operator.setAddressRestriction({ account, ranges: ['127.0.0.0/8'] })
    const request = { account, ranges, allowExcludingRequester: true }
    await expect(admin.setAddressRestriction(request)).rejects.toMatchObject(NOT_OWNER)
    expect(await restrictionOf(account)).toEqual(['127.0.0.0/8'])
  })

  test('a user with iam.admin can read one', async () => {
    const { account, admin } = await newAccount()
    expect(await admin.getAddressRestriction({ account })).toEqual({ ranges: [] })
  })

  const listeners = ['over loopback', 'over a Unix socket'] as const
  test.each(listeners)('an owner who is outside one can read it and lift it, %s', async (listener) => {
    const onSocket =
      listener === 'over loopback'
        ? running
        : await runSidecar({
            folder: running.folder,
            flags: { 'grpc.address': `unix:${newFolder()}/sidecar.sock` },
          })
    const { account, owner } = await newAccount(onSocket.connect)
    await operator.setAddressRestriction({ account, ranges: ELSEWHERE })
    expect(await owner.getAddressRestriction({ account })).toEqual({ ranges: ELSEWHERE })
    await expect(owner.listProjects({ account })).rejects.toMatchObject({ reason: 'ADDRESS_NOT_ALLOWED' })
    await expect(owner.createProject({ account, name: 'alpha' })).rejects.toMatchObject({
      reason: 'ADDRESS_NOT_ALLOWED',
    })
    expect(await owner.setAddressRestriction({ account, ranges: [] })).toEqual({ ranges: [] })
    await owner.createProject({ account, name: 'alpha' })
  })

  test('other users outside a restriction cannot read it or lift it', async () => {
    const { account, admin, member } = await newAccount()
    await operator.setAddressRestriction({ account, ranges: ELSEWHERE })
    for (const user of [admin, member])
      for (const asking of [
        user.getAddressRestriction({ account }),
        user.setAddressRestriction({ account, ranges: [] }),
      ])
        await expect(asking).rejects.toMatchObject({
          code: 'PERMISSION_DENIED',
          reason: 'ADDRESS_NOT_ALLOWED',
        })
    expect(await restrictionOf(account)).toEqual(ELSEWHERE)
  })

  test('an owner of another account who is outside one cannot lift it', async () => {
    const { account } = await newAccount()
    const { owner: stranger } = await newAccount()
    await operator.setAddressRestriction({ account, ranges: ELSEWHERE })
    await expect(stranger.setAddressRestriction({ account, ranges: [] })).rejects.toMatchObject({
      reason: 'NOT_ADMINISTRATOR',
    })
    expect(await restrictionOf(account)).toEqual(ELSEWHERE)
  })

  test('an owner who would exclude themselves must say that it is meant', async () => {
    const { account, owner } = await newAccount()
    await expect(owner.setAddressRestriction({ account, ranges: ELSEWHERE })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason: 'REQUESTER_EXCLUDED',
      message:
        'the ranges exclude the address of the requester, 127.0.0.1; set `allow_excluding_requester` if that is intended',
    })
    expect(await restrictionOf(account)).toEqual([])
    const request = { account, ranges: ELSEWHERE, allowExcludingRequester: true }
    expect(await owner.setAddressRestriction(request)).toEqual({ ranges: ELSEWHERE })
  })

  test('an owner who stays inside needs to confirm nothing', async () => {
    const { account, owner } = await newAccount()
    const ranges = ['127.0.0.0/8', '192.0.2.0/24']
    expect(await owner.setAddressRestriction({ account, ranges })).toEqual({ ranges })
  })

  test('an operator has no address in the account, so confirms nothing', async () => {
    const { account } = await newAccount()
    expect(await operator.setAddressRestriction({ account, ranges: ELSEWHERE })).toEqual({
      ranges: ELSEWHERE,
    })
  })
})
