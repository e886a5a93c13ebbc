/** Revoke of tokens of an upstream: it is ended there, and forgotten here. */
import { describe, expect, test } from 'vitest'
import { supportMatrix } from '../../matrix/index.ts'
import { CALLER, startCloud } from '../support/identity/cloud.ts'
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

  test('of a token that a profile gives makes the profile obtain another one', async () => {
    const { value } = await issue(ofAccount)
    await client.revoke({ value })
    expect((await issue(ofAccount)).value).not.toBe(value)
  })
})
