/**
 * A right is checked when the change is made: a queued call of an administrator who has lost it meanwhile
 * changes nothing.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Client } from '../../clients/typescript/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { holdHashes } from '../support/suite/hashes.ts'

const running = await runSidecar({ flags: { 'passwords.concurrent': 1, 'passwords.waiting': 1000 } })
const operator = running.connect({
  callerToken: readFileSync(join(running.folder, 'administrator-token'), 'utf8').trim(),
})
const { administration, run } = running.sidecar
let accounts = 0

/** An account with a person and a machine who administer it, and their clients. */
async function newAccount() {
  const account = `account-${++accounts}`
  const { secrets } = await applyFile(administration, TESTER, {
    accounts: [
      {
        account,
        service_users: [{ name: 'machine', permissions: [{ scope: 'account' }], roles: ['iam.admin'] }],
        control_panel_users: [
          { name: 'owner', owner: true },
          { name: 'admin', roles: ['iam.admin'] },
        ],
      },
    ],
  })
  const password = secrets.find(({ type }) => type === 'password')?.value.reveal() ?? ''
  const machine = await operator.issue({
    password: { userName: 'machine', account, password },
    scope: { account },
  })
  const person = async (name: string) => {
    const { value, token } = await run(TESTER, 'reissueControlPanelUserToken', { account, name })
    return { value: value.reveal(), tokenId: token.tokenId }
  }
  return { account, machine, admin: await person('admin'), owner: await person('owner') }
}

/**
 * Lets the requester create a service user, and does `meanwhile` while that waits behind another one. Returns
 * how the creation ended.
 */
async function whileQueued(
  requester: Client,
  account: string,
  meanwhile: () => Promise<unknown>,
): Promise<PromiseSettledResult<unknown>> {
  const goOn = holdHashes()
  const create = (name: string, roles: string[] = []) =>
    requester.directory.createServiceUser({ account, name, permissions: [], roles })
  const all = Promise.allSettled([create('filler'), create('successor', ['iam.admin'])])
  // Calls of one connection begin in order, so both have been authenticated when this has its answer.
  await requester.directory.getAccount({ account })
  await meanwhile()
  goOn()
  const [, result] = await all
  return result as PromiseSettledResult<unknown>
}

const successors = async (account: string) =>
  (await administration.records.users(account, 'service_user', { after: '', size: 100 })).filter(
    ({ name }) => name === 'successor',
  )

type Scene = Awaited<ReturnType<typeof newAccount>>

/** What the requester loses, and how a new call of theirs would be refused. */
const LOSSES: readonly [
  claim: string,
  requester: 'admin' | 'machine',
  meanwhile: (scene: Scene) => Promise<unknown>,
  refusal: { readonly code: string; readonly reason: string },
][] = [
  [
    'was deleted',
    'admin',
    ({ account }) => operator.directory.deleteControlPanelUser({ account, name: 'admin' }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'was disabled',
    'admin',
    ({ account }) => operator.directory.updateControlPanelUser({ account, name: 'admin', enabled: false }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'was disabled and enabled again',
    'admin',
    async ({ account }) => {
      await operator.directory.updateControlPanelUser({ account, name: 'admin', enabled: false })
      await operator.directory.updateControlPanelUser({ account, name: 'admin', enabled: true })
    },
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'lost the role',
    'admin',
    ({ account }) =>
      operator.directory.updateControlPanelUser({ account, name: 'admin', roles: { roles: [] } }),
    { code: 'PERMISSION_DENIED', reason: 'NOT_ADMINISTRATOR' },
  ],
  [
    'had the token revoked',
    'admin',
    ({ admin: { tokenId } }) => operator.revoke({ tokenId }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'had the token reissued',
    'admin',
    ({ account }) => operator.directory.reissueControlPanelUserToken({ account, name: 'admin' }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'is in an account that was disabled',
    'admin',
    ({ account }) => operator.directory.updateAccount({ account, enabled: false }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
  [
    'is outside the addresses that the account was restricted to',
    'admin',
    ({ account }) => operator.directory.setAddressRestriction({ account, ranges: ['192.0.2.0/24'] }),
    { code: 'PERMISSION_DENIED', reason: 'ADDRESS_NOT_ALLOWED' },
  ],
  [
    'is a machine whose permission was taken away',
    'machine',
    ({ account }) =>
      operator.directory.updateServiceUser({ account, name: 'machine', permissions: { permissions: [] } }),
    { code: 'UNAUTHENTICATED', reason: 'REQUESTER_NOT_AUTHENTICATED' },
  ],
]

describe('a queued call', () => {
  test.each(LOSSES)(
    'of an administrator who %s meanwhile changes nothing',
    async (_claim, who, lose, refusal) => {
      const scene = await newAccount()
      const { account } = scene
      const requester = running.connect({ iamToken: scene[who].value })
      const trail = () => administration.records.audit(account, { after: '0', size: 1000 })
      const isTheirs = ({ actor }: { readonly actor: string }) => /_user /.test(actor)
      let before = 0
      const outcome = await whileQueued(requester, account, async () => {
        before = (await trail()).at(-1)?.sequence ?? 0
        await lose(scene)
      })
      expect(outcome).toMatchObject({ status: 'rejected', reason: refusal })
      // A new call of theirs is refused for the same reason.
      const anew = requester.directory.createServiceUser({ account, name: 'successor' })
      await expect(anew).rejects.toMatchObject(refusal)
      expect(await successors(account)).toEqual([])
      // Calls before it may have been carried out by then, and none after the loss.
      const later = (await trail()).filter(({ sequence }) => sequence > before)
      const loss = later.findIndex((record) => !isTheirs(record))
      expect(loss).toBeGreaterThanOrEqual(0)
      expect(later.slice(loss).filter(isTheirs)).toEqual([])
    },
  )

  test('of an administrator who lost nothing is done', async () => {
    const { account, admin } = await newAccount()
    const requester = running.connect({ iamToken: admin.value })
    const outcome = await whileQueued(requester, account, async () => {})
    expect(outcome).toMatchObject({ status: 'fulfilled' })
    expect(await successors(account)).toHaveLength(1)
  })
})
