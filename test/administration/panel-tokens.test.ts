/** A control panel user's IAM token (§5.1): copied, reissued, and marked as for testing on every decision. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Check } from '../../clients/typescript/index.ts'
import { account, administer, client, clock, directory, reasonOf } from '../support/sidecar/administration.ts'

administer()

/** Said where no token is to be copied. */
const NONE = { active: false, tokenId: '', expiresAt: undefined }

describe('a control panel user’s IAM token (§5.1)', () => {
  beforeEach(() => directory.createControlPanelUser({ account, name: 'person' }))

  test.each<[reason: string, befall: () => Promise<unknown>, question: Partial<Check>]>([
    ['ALLOWED', async () => {}, {}],
    ['TOKEN_KIND_NOT_ACCEPTED', async () => {}, { api: 'reports' }],
    ['ACCOUNT_MISMATCH', async () => {}, { target: { account: 'another' } }],
    ['CREDENTIAL_REVOKED', () => directory.reissueControlPanelUserToken({ account, name: 'person' }), {}],
    ['CREDENTIAL_EXPIRED', async () => clock.expire(), {}],
    [
      'ADDRESS_NOT_ALLOWED',
      () => directory.setAddressRestriction({ account, ranges: ['192.0.2.7'] }),
      { clientAddress: '192.0.2.8' },
    ],
  ])(
    'every decision on it, as %s, says that it is for testing, and names the conflict about its holder',
    async (reason, befall, question) => {
      const { token } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
      await befall()
      const credentials = [['X-Auth-Token', token?.value ?? '']] as const
      const answer = await client.check({ api: 'iam', ...question, credentials })
      expect(answer).toMatchObject({ reason, advice: [expect.stringContaining('testing only')] })
      expect(answer.conflicts.map(({ id }) => id)).toContain('iam-token-holder-contradiction')
      expect(token?.advice).toEqual(answer.advice)
    },
  )

  test('copied it is the same, reissued another, and the one before is revoked', async () => {
    const { token: first } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const { token: copy } = await directory.copyControlPanelUserToken({ account, name: 'person' })
    expect(copy).toEqual(first)
    const { records } = await directory.listAuditRecords({ account })
    expect(records.at(-1)).toMatchObject({ action: 'control_panel_user.copy_token', subject: 'person' })
    const { token: second } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    expect(await reasonOf(first?.value ?? '')).toBe('CREDENTIAL_REVOKED')
    expect(await reasonOf(second?.value ?? '')).toBe('ALLOWED')
  })

  test('whether there is one is said without its value, and leaves no record', async () => {
    const request = { account, name: 'person' }
    expect(await directory.getControlPanelUserToken(request)).toEqual(NONE)
    const { token } = await directory.reissueControlPanelUserToken(request)
    const { records } = await directory.listAuditRecords({ account })
    expect(await directory.getControlPanelUserToken(request)).toEqual({
      ...{ active: true, tokenId: token?.tokenId, expiresAt: token?.expiresAt },
    })
    expect((await directory.listAuditRecords({ account })).records).toEqual(records)
  })

  test.each<[what: string, befall: (value: string) => Promise<unknown>, reason: string]>([
    ['was revoked', (value) => client.revoke({ value }), 'CREDENTIAL_REVOKED'],
    [
      'is of before its holder was disabled',
      async () => {
        for (const enabled of [false, true])
          await directory.updateControlPanelUser({ account, name: 'person', enabled })
      },
      'CREDENTIAL_REVOKED',
    ],
    ['has expired', async () => clock.expire(), 'CREDENTIAL_EXPIRED'],
  ])('one that %s is not given out again', async (_what, befall, reason) => {
    const { token } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    await befall(token?.value ?? '')
    expect(await directory.getControlPanelUserToken({ account, name: 'person' })).toEqual(NONE)
    await expect(directory.copyControlPanelUserToken({ account, name: 'person' })).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      reason,
      message: `the IAM token of control panel user \`person\` ${reason === 'CREDENTIAL_EXPIRED' ? 'has expired' : 'is no longer active'}; reissue it`,
    })
  })

  test('one that was issued while the clock was ahead is not given out again', async () => {
    clock.expire()
    const request = { account, name: 'person' }
    const { token } = await directory.reissueControlPanelUserToken(request)
    clock.aheadMs = 0
    expect(await reasonOf(token?.value ?? '')).toBe('CREDENTIAL_INVALID')
    await expect(directory.copyControlPanelUserToken(request)).rejects.toMatchObject({
      reason: 'CREDENTIAL_EXPIRED',
    })
    await directory.reissueControlPanelUserToken(request)
    await directory.copyControlPanelUserToken(request)
  })

  test('there is one for the account and one for each project', async () => {
    await directory.createProject({ account, name: 'alpha' })
    const { token: ofAccount } = await directory.reissueControlPanelUserToken({ account, name: 'person' })
    const request = { account, name: 'person', project: 'alpha' }
    const { token: ofProject } = await directory.reissueControlPanelUserToken(request)
    expect(ofProject?.scope).toEqual({ account, project: 'alpha' })
    expect(await reasonOf(ofAccount?.value ?? '')).toBe('ALLOWED')
    expect(await reasonOf(ofProject?.value ?? '')).toBe('ALLOWED')
  })
})
