/** A sidecar before an identity endpoint of somebody else: it issues by profile, verifies what arrives, revokes, and follows its configuration. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { Client, IssueQuestion } from '../../sidecar/client/index.ts'
import { TESTER } from '../support/actor.ts'
import { eventually, newFile, newFolder } from '../support/resources.ts'
import { populate, runSidecar } from '../support/sidecar.ts'
import { FakeUpstream } from '../support/upstream.ts'

const ACCOUNT = '777777'
const PASSWORD = 'canary-password-of-the-robot'
const NEXT_PASSWORD = 'canary-password-of-tomorrow'
const CALLER = 'canary-caller-token-0123456789abcdef'
const NOBODY = 'canary-nobody-token-0123456789abcdef'
const STATIC = 'canary-static-token-of-the-provider'

const cloud = await FakeUpstream.start([
  {
    account: ACCOUNT,
    name: 'robot',
    password: PASSWORD,
    roles: { '': ['member'], web: ['member', 'reader'] },
  },
  { account: ACCOUNT, name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
  // The embedded directory has this account too.
  { account: '123456', name: 'impostor', password: PASSWORD, roles: { '': ['member'] } },
  { account: '888888', name: 'listed', password: PASSWORD, roles: { '': ['member'] } },
])
const second = await FakeUpstream.start([
  { account: '888888', name: 'other', password: PASSWORD, roles: { '': ['member'] } },
  { account: ACCOUNT, name: 'forger', password: PASSWORD, roles: { '': ['member'] } },
  { account: '888888', name: 'validator', password: PASSWORD, roles: { '': ['service'] }, validator: true },
])

process.env.PORTCULLIS_TEST_PASSWORD = PASSWORD
const passwordFile = newFile(PASSWORD)
const printed = newFile(PASSWORD)
const robot = { upstream: 'cloud', account: ACCOUNT, user_name: 'robot' }
const profiles: Record<string, object> = {
  job: { ...robot, password_file: passwordFile, static_token_file: newFile(STATIC) },
  web: { ...robot, password_env: 'PORTCULLIS_TEST_PASSWORD', projects: ['web'] },
  printed: {
    ...robot,
    password_command: [
      process.execPath,
      '-e',
      `process.stdout.write(require('fs').readFileSync('${printed}'))`,
    ],
  },
  broken: {
    ...robot,
    password_command: [process.execPath, '-e', 'console.error(process.argv); process.exit(3)'],
  },
  wrong: { ...robot, password_file: newFile('canary-wrong') },
  validator: { ...robot, user_name: 'validator', password_file: passwordFile },
  other: { upstream: 'second', account: '888888', user_name: 'validator', password_file: passwordFile },
}
const upstreams = {
  cloud: {
    auth_url: cloud.url,
    timeout_ms: 60_000,
    verify: { profile: 'validator', token_prefixes: ['gAAAAA'] },
  },
  second: { auth_url: second.url, timeout_ms: 60_000, verify: { profile: 'other', accounts: ['888888'] } },
}
const callers = [
  { name: 'job', token_file: newFile(CALLER), profiles: Object.keys(profiles), rights: ['revoke'] },
  { name: 'nobody', token_file: newFile(NOBODY) },
]
const file = join(newFolder(), 'portcullis.json')
const configure = (changes: object = {}) =>
  writeFileSync(file, JSON.stringify({ upstreams, profiles, callers, ...changes }))
configure()
const running = await runSidecar({ config: file })
const secrets = await populate(running)
const client = running.connect({ callerToken: CALLER })

afterEach(() => {
  for (const upstream of [cloud, second]) {
    upstream.change = undefined
    upstream.takeOver = undefined
    upstream.gate = undefined
  }
})

const issue = (question: IssueQuestion, by: Client = client) => by.issue(question)
const ofAccount = { profile: 'job', scope: { account: ACCOUNT } } as const
const check = (value: string, header = 'X-Auth-Token', api = 'iam') =>
  client.check({ api, credentials: { [header]: value } })

/** The upstream knows the token no more, and the sidecar does not know that. */
const logins = () => cloud.count('POST')

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

  test('is for the callers of the profile alone', async () => {
    const nobody = running.connect({ callerToken: NOBODY })
    await expect(issue(ofAccount, nobody)).rejects.toMatchObject({ reason: 'PROFILE_NOT_ALLOWED' })
    await expect(issue(ofAccount, running.connect())).rejects.toMatchObject({
      reason: 'CALLER_TOKEN_MISSING',
    })
  })

  test('gives another token after an API refused the one that it gave', async () => {
    const { value } = await issue(ofAccount)
    const next = await issue({ ...ofAccount, rejected: value })
    expect(next.value).not.toBe(value)
    expect((await issue({ ...ofAccount, rejected: value })).value).toBe(next.value)
  })

  test('with a wrong password says so, and logs in once however often it is asked', async () => {
    const before = logins()
    for (let call = 0; call < 20; call++)
      await expect(issue({ profile: 'wrong', scope: { account: ACCOUNT } })).rejects.toMatchObject({
        reason: 'UPSTREAM_LOGIN_REFUSED',
        code: 'UNAUTHENTICATED',
      })
    expect(logins() - before).toBe(1)
  })

  test('of 200 callers at once makes one login, and a caller with a short deadline does not end it', async () => {
    const gate = Promise.withResolvers<void>()
    cloud.gate = gate.promise
    const question = { profile: 'job', scope: { account: ACCOUNT, project: 'web' } } as const
    const { value } = await issue({ profile: 'web', scope: question.scope })
    const before = logins()
    const hurried = running.connect({ callerToken: CALLER, deadlineMs: 1 })
    const waiting = Array.from({ length: 200 }, () => issue({ ...question, rejected: value }))
    await expect(issue({ ...question, rejected: value }, hurried)).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    })
    gate.resolve()
    const given = new Set((await Promise.all(waiting)).map((token) => token.value))
    expect(given.size).toBe(1)
    expect(logins() - before).toBeLessThanOrEqual(1)
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

describe('Check of a token of an upstream', () => {
  test('is answered by the rules, with who vouches for it', async () => {
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

  test('asks once, however many callers there are, and remembers the answer', async () => {
    const value = cloud.issue('robot')
    await check(cloud.issue('robot'))
    const before = cloud.count('GET')
    const answers = await Promise.all(Array.from({ length: 100 }, () => check(value)))
    expect(answers.every(({ allowed }) => allowed)).toBe(true)
    cloud.takeOver = (response) => response.destroy() === response
    expect(await check(value)).toMatchObject({ allowed: true })
    expect(cloud.count('GET') - before).toBe(1)
  })

  test('that the upstream does not know is denied, and it is not asked again at once', async () => {
    const before = cloud.count('GET')
    for (let call = 0; call < 3; call++)
      expect(await check('gAAAAA-nobody-knows')).toMatchObject({
        allowed: false,
        reason: 'CREDENTIAL_INVALID',
      })
    expect(cloud.count('GET') - before).toBe(1)
  })

  test('gets no answer while the upstream does not answer', async () => {
    const value = cloud.issue('robot')
    cloud.change = (answer) => {
      answer.status = 500
    }
    await expect(check(value)).rejects.toMatchObject({ code: 'UNAVAILABLE', reason: 'UPSTREAM_UNAVAILABLE' })
    cloud.change = undefined
    expect(await check(value)).toMatchObject({ allowed: true })
  })

  test('in the header of static tokens is sent to no upstream', async () => {
    const before = cloud.seen.length + second.seen.length
    expect(await check(cloud.issue('robot'), 'X-Token', 'reports')).toMatchObject({
      allowed: false,
      reason: 'CREDENTIAL_INVALID',
    })
    expect(cloud.seen.length + second.seen.length).toBe(before)
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
    // `second` may vouch for 888888 alone.
    expect(await check(second.issue('forger'))).toMatchObject({
      allowed: false,
      reason: 'CREDENTIAL_INVALID',
    })
    expect(await check(second.issue('other'))).toMatchObject({
      allowed: true,
      token: { authority: 'second' },
    })
    expect(running.logLines.join('')).toContain('may not vouch for')
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

  test('of a user who may not validate ends in no answer too', async () => {
    cloud.change = (answer, { method }) => {
      if (method === 'GET') answer.status = 403
    }
    await expect(check(cloud.issue('robot'))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'upstream `cloud` does not let the sidecar validate tokens',
    })
  })
})

describe('Revoke of a token of an upstream', () => {
  const active = async () => {
    const value = cloud.issue('robot')
    expect(await check(value)).toMatchObject({ allowed: true })
    return value
  }
  const denied = async (value: string) =>
    expect(await check(value)).toMatchObject({ allowed: false, reason: 'CREDENTIAL_INVALID' })

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

describe('the configuration', () => {
  test('is followed: a profile that is gone stops at once, and a new one works', async () => {
    const { printed: _printed, ...others } = profiles
    configure({
      profiles: { ...others, fresh: { ...robot, password_file: passwordFile } },
      callers: [{ ...callers[0], profiles: [...Object.keys(others), 'fresh'] }],
    })
    running.sidecar.reload()
    await eventually(() =>
      issue({ profile: 'fresh', scope: { account: ACCOUNT } }).catch(() => false as const),
    )
    await expect(issue({ profile: 'printed', scope: { account: ACCOUNT } })).rejects.toMatchObject({
      reason: 'PROFILE_NOT_ALLOWED',
    })
    configure()
    running.sidecar.reload()
  })

  test('is followed: no token of an earlier password is given', async () => {
    const { value } = await issue(ofAccount)
    const user = cloud.users[0] as (typeof cloud.users)[number]
    user.password = NEXT_PASSWORD
    writeFileSync(passwordFile, NEXT_PASSWORD)
    try {
      running.sidecar.reload()
      await eventually(async () => (await issue(ofAccount)).value !== value)
    } finally {
      user.password = PASSWORD
      writeFileSync(passwordFile, PASSWORD)
      running.sidecar.reload()
    }
  })

  test('that cannot be used leaves the last good one in force', async () => {
    configure({ upstreams: { cloud: { auth_url: 'http://identity.example' } } })
    running.sidecar.reload()
    await eventually(() => running.logLines.some((line) => line.includes('expected https')))
    expect(await check(cloud.issue('robot'))).toMatchObject({ allowed: true })
    configure()
    running.sidecar.reload()
  })
})

test('an account that the directory gets later is its own from then on, within the time of the cache', async () => {
  await running.sidecar.administration.accounts.create(TESTER, '555555')
  cloud.users.push({ account: '555555', name: 'late', password: PASSWORD, roles: { '': ['member'] } })
  expect(await check(cloud.issue('late'))).toMatchObject({ allowed: false, reason: 'CREDENTIAL_INVALID' })
})

test('no log line holds a password or a token', () => {
  const log = running.logLines.join('')
  expect(log).not.toMatch(/canary|gAAAAA|secret-text/)
})
