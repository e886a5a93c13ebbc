/** Issue by profile through an upstream: one login for many callers, and no token that was not asked for. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ACCOUNT, NEXT_PASSWORD, PASSWORD, SECRET, STATIC, startCloud } from '../support/identity/cloud.ts'
import { eventually } from '../support/suite/resources.ts'

const { cloud, printed, secretFile, issue, check, ofAccount, logins } = await startCloud()

describe('Issue by profile', () => {
  test('logs in once, and gives the same token until it is due', async () => {
    const before = logins()
    const first = await issue(ofAccount)
    expect(first).toMatchObject({
      header: 'X-Auth-Token',
      kind: 'iam_token_account_scoped',
      scope: { account: ACCOUNT },
    })
    expect((first.expiresAt?.getTime() ?? 0) - (first.issuedAt?.getTime() ?? 0)).toBe(86_400_000)
    expect((await issue(ofAccount)).value).toBe(first.value)
    expect(logins() - before).toBe(1)
  })

  test('for APIs logs in for the scope that the matrix names, and for none where no token opens them', async () => {
    expect(await issue({ profile: 'job', apis: ['cdn', 'email'], project: 'web' })).toMatchObject({
      kind: 'iam_token_project_scoped',
      scope: { account: ACCOUNT, project: 'web' },
    })
    const before = logins()
    expect(await issue({ profile: 'job', apis: ['reports'] })).toMatchObject({
      header: 'X-Token',
      value: STATIC,
    })
    await expect(issue({ profile: 'job', apis: ['iam', 'cdn'] })).rejects.toMatchObject({
      reason: 'NO_SINGLE_KIND',
    })
    await expect(issue({ profile: 'web', apis: ['reports'] })).rejects.toMatchObject({
      reason: 'NOT_ISSUABLE',
    })
    expect(logins()).toBe(before)
  })

  test('with `projects` gives tokens for those alone, and none for the whole account', async () => {
    const inProject = { account: ACCOUNT, project: 'web' }
    expect((await issue({ profile: 'web', scope: inProject })).scope).toEqual(inProject)
    const before = logins()
    for (const scope of [
      { account: ACCOUNT },
      { account: ACCOUNT, project: 'beta' },
      { ...inProject, account: '123456' },
    ])
      await expect(issue({ profile: 'web', scope })).rejects.toMatchObject({
        reason: 'PROFILE_SCOPE_NOT_ALLOWED',
        code: 'PERMISSION_DENIED',
      })
    expect(logins()).toBe(before)
    // The account-scoped kind would be preferred, because the other cell is contested.
    expect((await issue({ profile: 'web', apis: ['mobile-farm'], project: 'web' })).scope).toEqual(inProject)
  })

  test('follows the command that prints its password: it runs again after a refused login', async () => {
    const question = { profile: 'printed', scope: { account: ACCOUNT } } as const
    await issue(question)
    const user = cloud.users[0] as (typeof cloud.users)[number]
    user.password = NEXT_PASSWORD
    writeFileSync(printed, NEXT_PASSWORD)
    try {
      const { value } = await issue(question)
      expect((await issue({ ...question, rejected: value })).value).not.toBe(value)
    } finally {
      user.password = PASSWORD
      writeFileSync(printed, PASSWORD)
    }
    await expect(issue({ profile: 'broken', scope: { account: ACCOUNT } })).rejects.toMatchObject({
      message: 'the password command of profile `broken` ended with code 3',
    })
  })
})

describe('Issue by a profile with an application credential', () => {
  const scope = { account: ACCOUNT, project: 'web' }

  test.each([
    ['its id', 'credential', { id: 'a1b2c3' }],
    [
      'its name and its user',
      'credential-by-name',
      { name: 'nightly', user: { name: 'robot', domain: { name: ACCOUNT } } },
    ],
  ])('logs in with %s and without a scope, once for many calls', async (_claim, profile, named) => {
    const before = logins()
    const { value, kind } = await issue({ profile, scope })
    expect(kind).toBe('iam_token_project_scoped')
    expect((await issue({ profile, apis: ['cdn'], project: 'web' })).value).toBe(value)
    expect(logins() - before).toBe(1)
    expect(JSON.parse(cloud.seen.findLast(({ method }) => method === 'POST')?.body ?? '')).toEqual({
      auth: {
        identity: {
          methods: ['application_credential'],
          application_credential: { ...named, secret: SECRET },
        },
      },
    })
    expect(await check(value, 'X-Auth-Token', 'cdn')).toMatchObject({
      allowed: true,
      token: { subject: { name: 'robot' }, scope },
    })
  })

  test('that is for another project than the configuration says gives no token', async () => {
    await expect(
      issue({ profile: 'credential-of-another-project', scope: { account: ACCOUNT, project: 'batch' } }),
    ).rejects.toMatchObject({
      reason: 'UPSTREAM_BAD_ANSWER',
      message: `upstream \`cloud\` gave an unusable answer at ${cloud.url}/identity/v3/auth/tokens: expected a token for the scope that was asked for, found another scope`,
    })
  })

  test('follows its secret file', async () => {
    const { value } = await issue({ profile: 'credential', scope })
    const credential = cloud.credentials[0] as (typeof cloud.credentials)[number]
    credential.secret = NEXT_PASSWORD
    writeFileSync(secretFile, NEXT_PASSWORD)
    try {
      const next = await eventually(async () => {
        const issued = await issue({ profile: 'credential', scope }).catch(() => undefined)
        return issued !== undefined && issued.value !== value && issued
      })
      expect(next).toMatchObject({ scope })
    } finally {
      credential.secret = SECRET
      writeFileSync(secretFile, SECRET)
    }
  })

  test('takes no answer without a body: it would not say for which project the token is', async () => {
    const { value } = await issue({ profile: 'credential-by-name', scope })
    cloud.change = (answer) => {
      answer.body = ''
    }
    await expect(issue({ profile: 'credential-by-name', scope, rejected: value })).rejects.toMatchObject({
      reason: 'UPSTREAM_BAD_ANSWER',
    })
  })
})
