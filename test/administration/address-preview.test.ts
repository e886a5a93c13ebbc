/** Who would be shut out by address ranges, before they are set. */
import { describe, expect, test } from 'vitest'
import { account, administer, clock, directory, running } from '../support/sidecar/administration.ts'

administer()

/** A control panel user, and a client with their token. */
async function person(name: string, owner = false, roles: string[] = []) {
  await directory.createControlPanelUser({ account, name, owner, roles })
  const { token } = await directory.reissueControlPanelUserToken({ account, name })
  return running.connect({ iamToken: token?.value ?? '' }).directory
}

describe('a preview of address ranges', () => {
  test('says whether the requester, and who else, could still use the tokens of the account', async () => {
    const owner = await person('owner', true)
    const admin = await person('admin', false, ['iam.admin'])
    await admin.createProject({ account, name: 'alpha' })
    await owner.createProject({ account, name: 'beta' })
    const preview = async (...ranges: string[]) => owner.previewAddressRestriction({ account, ranges })
    const seen = { who: 'admin', address: '127.0.0.1', lastSeen: expect.any(Date) }
    expect(await preview('127.0.0.1', '10.0.0.0/8')).toEqual({
      requester: { address: '127.0.0.1', allowed: true },
      others: [{ ...seen, allowed: true }],
      truncated: false,
    })
    expect(await preview('10.0.0.0/8')).toEqual({
      requester: { address: '127.0.0.1', allowed: false },
      others: [{ ...seen, allowed: false }],
      truncated: false,
    })
    expect(await preview()).toMatchObject({ requester: { allowed: true }, others: [{ allowed: true }] })
    // Nothing was set.
    expect((await directory.getAddressRestriction({ account })).ranges).toEqual([])
  })

  test('lets an operator in, and an owner ask from any address', async () => {
    const owner = await person('owner', true)
    const admin = await person('admin', false, ['iam.admin'])
    const ranges = ['10.0.0.0/8']
    await directory.setAddressRestriction({ account, ranges })
    expect(await directory.previewAddressRestriction({ account, ranges })).toEqual({
      requester: { address: '127.0.0.1', allowed: true },
      others: [],
      truncated: false,
    })
    expect(await owner.previewAddressRestriction({ account, ranges })).toMatchObject({
      requester: { address: '127.0.0.1', allowed: false },
    })
    await expect(admin.previewAddressRestriction({ account, ranges })).rejects.toMatchObject({
      reason: 'ADDRESS_NOT_ALLOWED',
    })
  })

  test('does not know users of an earlier account, or addresses from long ago', async () => {
    const first = await person('owner', true)
    await first.createProject({ account, name: 'alpha' })
    const others = async () =>
      (await directory.previewAddressRestriction({ account, ranges: ['10.0.0.0/8'] })).others.map(
        ({ who }) => who,
      )
    expect(await others()).toEqual(['owner'])
    clock.aheadMs = 91 * 86_400_000
    expect(await others()).toEqual([])
    clock.aheadMs = 0
    await directory.deleteAccount({ account })
    await directory.createAccount({ account })
    await person('owner', true)
    expect(await others()).toEqual([])
  })

  test.each([
    ['a prefix that is too long', ['10.0.0.0/33'], 'ranges[0]'],
    ['a name', ['10.0.0.0/8', 'host.example'], 'ranges[1]'],
    ['too many', Array.from({ length: 1001 }, () => '10.0.0.0/8'), 'ranges'],
  ])('refuses what cannot be set: %s', async (_what, ranges, field) => {
    for (const ask of [directory.previewAddressRestriction, directory.setAddressRestriction])
      await expect(ask({ account, ranges })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        violations: [{ field }],
      })
  })

  test('of an account that does not exist finds none', async () => {
    await expect(
      directory.previewAddressRestriction({ account: 'nobody', ranges: ['10.0.0.0/8'] }),
    ).rejects.toMatchObject({ reason: 'NOT_FOUND' })
  })
})
