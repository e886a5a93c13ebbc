/** Revoke of tokens of an upstream: it is ended there, and forgotten here. */
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { CALLER, NOBODY, startCloud } from '../support/identity/cloud.ts'
import { fileOf } from '../support/sidecar/shadowed.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const { cloud, second, running, secrets, client, issue, ofAccount, check, ...configured } = await startCloud()

describe('Revoke of a token of an upstream', () => {
  const active = async () => {
    const value = cloud.issue('robot')
    expect(await check(value)).toMatchObject({ allowed: true })
    return value
  }
  const denied = async (value: string) =>
    expect(await check(value)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_REVOKED' })

  test('by itself ends it there and here', async () => {
    const value = await active()
    expect((await running.client.revoke({ value })).tokenId).toMatch(/^cloud:/)
    await denied(value)
  })

  test('by a caller with the right, and by another token of its holder', async () => {
    const value = await active()
    await client.revoke({ value })
    await denied(value)
    const other = await active()
    await running.connect({ iamToken: cloud.issue('robot', 'web') }).revoke({ value: other })
    await denied(other)
  })

  test('does not need a kind for it in the matrix of now', async () => {
    const { upstreams, profiles, callers } = configured
    const fewer = (kinds: readonly string[]) => kinds.filter((id) => id !== 'iam_token_project_scoped')
    const matrix = fileOf({
      ...supportMatrix,
      tokenKinds: supportMatrix.tokenKinds.filter(({ id }) => fewer([id]).length > 0),
      apis: supportMatrix.apis.map((api) => ({ ...api, accepts: fewer(api.accepts) })),
      ...{ statements: [], conflicts: [] },
    })
    const config = newFile(JSON.stringify({ upstreams, profiles, callers, matrix }), 'portcullis.json')
    const later = await runSidecar({ config })
    const value = cloud.issue('robot', 'web')
    await later.connect({ callerToken: CALLER }).revoke({ value })
    expect((await check(value, 'X-Auth-Token', 'cdn')).allowed).toBe(false)
  })

  test('needs a right that the upstream or the configuration gives', async () => {
    const value = await active()
    const nobody = running.connect({ callerToken: NOBODY })
    await expect(nobody.revoke({ value })).rejects.toMatchObject({ reason: 'CALLER_RIGHT_MISSING' })
    const stranger = running.connect({ iamToken: cloud.issue('impostor') })
    await expect(stranger.revoke({ value })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const otherUpstream = running.connect({ iamToken: second.issue('other') })
    await expect(otherUpstream.revoke({ value })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    const { value: ours } = await running.client.issue({
      password: { userName: 'account', account: '123456', password: secrets.passwordOf('account') },
      scope: { account: '123456' },
    })
    await expect(running.connect({ iamToken: ours }).revoke({ value })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    })
    expect(await check(value)).toMatchObject({ allowed: true })
    await expect(client.revoke({ tokenId: 'cloud:0123456789012345678901' })).rejects.toMatchObject({
      message: expect.stringContaining('a token of an upstream is revoked by its value'),
    })
  })

  test('of a token that a profile gives makes the profile obtain another one', async () => {
    const { value } = await issue(ofAccount)
    await client.revoke({ value })
    expect((await issue(ofAccount)).value).not.toBe(value)
  })
})
