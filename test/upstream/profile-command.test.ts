/** `portcullis profile`: what it lists, and which step of a login it says fails. */
import { afterEach, describe, expect, test } from 'vitest'
import { FakeUpstream } from '../support/identity/upstream.ts'
import { command } from '../support/processes/command-line.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const PASSWORD = 'canary-password'
const upstream = await FakeUpstream.start([
  { account: '123456', name: 'robot', password: PASSWORD, roles: { '': ['member'], web: ['reader'] } },
])
const robot = { upstream: 'cloud', account: '123456', user_name: 'robot' }
upstream.credentials.push({
  ...{ id: 'a1b2c3', name: 'nightly', user: 'robot', project: 'web', secret: PASSWORD },
})
const config = newFile(
  JSON.stringify({
    data: newFolder(),
    upstreams: {
      cloud: { auth_url: upstream.url, timeout_ms: 60_000 },
      nowhere: { auth_url: 'http://127.0.0.1:1' },
    },
    profiles: {
      nightly: { ...robot, password_file: newFile(PASSWORD) },
      web: { ...robot, password_file: newFile(PASSWORD), projects: ['web', 'other'] },
      missing: { ...robot, password_file: '/nowhere/canary' },
      broken: { ...robot, password_command: ['/nowhere/program'] },
      wrong: { ...robot, password_file: newFile('canary-wrong') },
      credential: {
        ...{ upstream: 'cloud', account: '123456', projects: ['web'] },
        ...{ application_credential_id: 'a1b2c3', application_credential_secret_file: newFile(PASSWORD) },
      },
      unreachable: { ...robot, upstream: 'nowhere', password_file: newFile(PASSWORD) },
    },
    callers: [
      { name: 'job', token_sha256: '0'.repeat(64), profiles: ['nightly', 'web'] },
      { name: 'other', token_sha256: '1'.repeat(64), profiles: ['web'] },
    ],
  }),
)

afterEach(() => {
  upstream.change = undefined
})

const tried = async (...args: string[]) => {
  const ended = await command(['profile', 'test', ...args, '--config', config, '--json'])
  expect(ended.stdout + ended.stderr).not.toMatch(/canary-|gAAAAA/)
  const { steps } = JSON.parse(ended.stdout) as { steps: { step: string; ok: boolean; says: string }[] }
  return { code: ended.code, steps }
}

test('list names profiles, their users and their callers, and reads no secret', async () => {
  const { code, stdout } = await command(['profile', 'list', '--config', config])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^nightly +cloud +123456 +robot +any +job$/m)
  expect(stdout).toMatch(/^web +cloud +123456 +robot +web, other +job, other$/m)
  expect(stdout).toMatch(/^missing +cloud +123456 +robot +any +only the administrator$/m)
  expect(stdout).toMatch(
    /^credential +cloud +123456 +application credential a1b2c3 +web +only the administrator$/m,
  )
})

describe('test', () => {
  test('logs in and revokes the token again', async () => {
    const { code, steps } = await tried('nightly')
    expect(code).toBe(0)
    expect(steps.map(({ step, ok }) => [step, ok])).toEqual([
      ['configuration', true],
      ['password', true],
      ['login', true],
      ['revocation', true],
    ])
    expect(steps[2]?.says).toMatch(
      /^iam_token_account_scoped for account 123456, until .*Z, with the roles member$/,
    )
    expect(upstream.seen.at(-1)).toMatchObject({ method: 'DELETE' })
  })

  test('of a profile with an application credential logs in with it, for its project', async () => {
    const { code, steps } = await tried('credential')
    expect(code).toBe(0)
    expect(steps.map(({ step }) => step)).toEqual(['configuration', 'secret', 'login', 'revocation'])
    expect(steps[0]?.says).toMatch(/^application credential a1b2c3 of account 123456, upstream cloud, /)
    expect(steps[2]?.says).toMatch(/^iam_token_project_scoped for account 123456, project web, until /)
  })

  test('of a profile with projects logs in for the first one, or for the one that is named', async () => {
    expect((await tried('web')).steps[2]?.says).toContain('project web')
    expect(await tried('web', '--project', 'other')).toMatchObject({ code: 1, steps: { length: 3 } })
  })

  test.each([
    ['missing', 'configuration', 'profiles.missing.password_file: /nowhere/canary cannot be read (ENOENT)'],
    ['broken', 'password', 'the password command of profile `broken` cannot be run (ENOENT)'],
    ['wrong', 'login', 'upstream `cloud` refuses the login of profile `wrong`'],
    ['unreachable', 'login', 'upstream `nowhere` cannot be reached (ECONNREFUSED)'],
  ])('of profile %s says that its %s failed', async (name, step, says) => {
    const ended = await command(['profile', 'test', name, '--config', config])
    expect(ended.code).toBe(1)
    expect(ended.stdout).toMatch(new RegExp(`^failed +${step} +`, 'm'))
    expect(ended.stdout).toContain(says)
  })

  test('says what is wrong with the answer of the upstream', async () => {
    upstream.change = (answer) => {
      answer.status = 200
      answer.body = '<html>'
    }
    expect((await tried('nightly')).steps.at(-1)).toEqual({
      step: 'login',
      ok: false,
      says: `upstream \`cloud\` gave an unusable answer at ${upstream.url}/identity/v3/auth/tokens: expected status 201, found 200`,
    })
  })

  test('of an unknown profile, and without a configuration, has no answer', async () => {
    expect(await command(['profile', 'test', 'nobody', '--config', config])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected the name of a profile: nightly, web'),
    })
    expect(await command(['profile', 'list'])).toMatchObject({ code: 2 })
  })
})
