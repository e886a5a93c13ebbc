/**
 * Check of tokens that an upstream verifies: whom the sidecar asks, what it believes, and when there is no
 * answer.
 */
import { describe, expect, test } from 'vitest'
import { ACCOUNT, PASSWORD, startCloud } from '../support/identity/cloud.ts'
import { TESTER } from '../support/sidecar/actor.ts'

const { cloud, second, running, secrets, issue, ofAccount, check, logins } = await startCloud()

describe('Check of a token of an upstream', () => {
  test('is answered by the rules, with the upstream that verified it', async () => {
    expect(await check(cloud.issue('robot'))).toMatchObject({
      allowed: true,
      verified: true,
      token: {
        kind: 'iam_token_account_scoped',
        scope: { account: ACCOUNT },
        subject: { name: 'robot', type: 'user' },
        authority: 'cloud',
        roles: ['member'],
      },
    })
    const ofProject = cloud.issue('robot', 'web')
    expect(await check(ofProject)).toMatchObject({ allowed: false, reason: 'TOKEN_KIND_NOT_ACCEPTED' })
    expect(await check(ofProject, 'X-Auth-Token', 'cdn')).toMatchObject({
      allowed: true,
      token: { scope: { project: 'web' }, roles: ['member', 'reader'] },
    })
  })

  test('of our own form is sent to no upstream either, genuine or not', async () => {
    const before = cloud.seen.length + second.seen.length
    const { value } = await running.client.issue({
      password: { userName: 'account', account: '123456', password: secrets.passwordOf('account') },
      scope: { account: '123456' },
    })
    expect(await check(value)).toMatchObject({ allowed: true, token: { authority: undefined } })
    expect(await check(`${value.slice(0, -4)}AAAA`)).toMatchObject({ reason: 'CREDENTIAL_INVALID' })
    expect(await check(secrets.staticToken)).toMatchObject({ reason: 'WRONG_HEADER' })
    expect(cloud.seen.length + second.seen.length).toBe(before)
  })

  test('for an account of the directory, or of another upstream, is denied whatever the upstream says', async () => {
    expect(await check(cloud.issue('impostor'))).toMatchObject({
      allowed: false,
      reason: 'CREDENTIAL_INVALID',
    })
    expect(await check(cloud.issue('listed'))).toMatchObject({ allowed: false, reason: 'CREDENTIAL_INVALID' })
    // `second` may verify tokens of 888888 alone.
    expect(await check(second.issue('forger'))).toMatchObject({
      allowed: false,
      reason: 'CREDENTIAL_INVALID',
    })
    expect(await check(second.issue('other'))).toMatchObject({
      allowed: true,
      token: { authority: 'second' },
    })
    expect(running.logLines.join('')).toContain('of an account that it may not verify')
  })

  test('goes to an upstream of its prefix alone', async () => {
    const before = cloud.seen.length
    await check('no-such-prefix')
    expect(cloud.seen.length).toBe(before)
    expect(second.seen.at(-1)?.headers['x-subject-token']).toBe('no-such-prefix')
  })

  test('is not stopped by another upstream that fails; without a yes, there is no answer', async () => {
    cloud.takeOver = (response) => response.destroy() === response
    expect(await check(second.issue('other'))).toMatchObject({ allowed: true })
    await expect(check('gAAAAA-of-whom')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(await check('of-whom')).toMatchObject({ reason: 'CREDENTIAL_INVALID' })
  })
})

describe('a token of a profile that the upstream revoked', () => {
  const ofProject = { ...ofAccount, scope: { account: ACCOUNT, project: 'web' } }

  test('is not given again after a check has found that, and 50 callers make one login', async () => {
    const dead = [(await issue(ofAccount)).value, (await issue(ofProject)).value]
    cloud.endAll('robot')
    for (const value of dead) expect(await check(value)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
    for (const question of [ofAccount, ofProject]) {
      const before = logins()
      const given = await Promise.all(Array.from({ length: 50 }, () => issue(question)))
      expect(new Set(given.map(({ value }) => value)).size).toBe(1)
      expect(dead).not.toContain(given[0]?.value)
      expect(logins() - before).toBe(1)
      expect(await check(given[0]?.value ?? '')).not.toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
    }
    for (const value of dead) expect(await check(value)).toMatchObject({ reason: 'CREDENTIAL_REVOKED' })
  })

  test('is given as before where it is another upstream that does not know it', async () => {
    const { value: before } = await issue(ofProject)
    const { value } = await issue({ ...ofProject, rejected: before })
    // `second` has no prefix, so it is asked about every token that `cloud` does not know.
    cloud.takeOver = (response) => response.destroy() === response
    await expect(check(value)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(second.seen.at(-1)?.headers['x-subject-token']).toBe(value)
    cloud.takeOver = undefined
    expect((await issue(ofProject)).value).toBe(value)
  })
})

describe("the sidecar's own token", () => {
  test('is replaced once when the upstream refuses it', async () => {
    await check(cloud.issue('robot'))
    cloud.endAll('validator')
    const before = logins()
    expect(await check(cloud.issue('robot'))).toMatchObject({ allowed: true })
    expect(logins() - before).toBe(1)
  })

  test('that is refused again ends in no answer, and in an error of the log', async () => {
    cloud.change = (answer, { method }) => {
      if (method === 'GET') answer.status = 401
    }
    const before = cloud.count('GET')
    await expect(check(cloud.issue('robot'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'upstream `cloud` does not let the sidecar validate tokens',
    })
    expect(cloud.count('GET') - before).toBe(2)
    expect(running.logLines.join('')).toContain('does not let the sidecar validate tokens')
  })
})

test('an account that the directory gets later belongs to it from then on, within the time of the cache', async () => {
  await running.sidecar.run(TESTER, 'createAccount', { account: '555555' })
  cloud.users.push({ account: '555555', name: 'late', password: PASSWORD, roles: { '': ['member'] } })
  expect(await check(cloud.issue('late'))).toMatchObject({ allowed: false, reason: 'CREDENTIAL_INVALID' })
})
