/**
 * Profiles of the directory: their tokens are cached as those of upstreams are, and none is given that the
 * directory does not vouch for now.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const CALLER = 'directory-caller-token-0123456789abcdef'
const folder = join(newFolder(), 'data')
const passwords = await populate(await runSidecar({ folder }))
const config = newFile(
  JSON.stringify({
    profiles: {
      job: {
        account: ACCOUNT,
        user_name: 'account',
        password_file: newFile(passwords.passwordOf('account')),
      },
    },
    callers: [{ name: 'job', token_file: newFile(CALLER), profiles: ['job'], rights: ['revoke'] }],
  }),
  'portcullis.json',
)
const aheadMs = 0
const { sidecar, connect } = await runSidecar({ folder, config, now: () => Date.now() + aheadMs })
const client = connect({ callerToken: CALLER })
const question = { profile: 'job', scope: { account: ACCOUNT } } as const
const give = async () => (await client.issue(question)).value
const check = (value: string) => client.check({ api: 'iam', credentials: { 'X-Auth-Token': value } })

test('a token that was revoked is not given again', async () => {
  const value = await give()
  const { tokenId } = await client.issue(question)
  await client.revoke({ tokenId })
  const next = await give()
  expect(next).not.toBe(value)
  expect(await check(next)).toMatchObject({ allowed: true })
})

test('no token is given after the password was replaced', async () => {
  await give()
  await sidecar.run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: 'account' })
  await expect(give()).rejects.toMatchObject({ reason: 'LOGIN_FAILED' })
})
