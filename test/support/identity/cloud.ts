/** A sidecar before two identity endpoints of others, with profiles of every sort. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, expect } from 'vitest'
import type { Client, IssueQuestion } from '../../../clients/typescript/index.ts'
import { populate, runSidecar } from '../sidecar/sidecar.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { FakeUpstream } from './upstream.ts'

export const ACCOUNT = '777777'
export const PASSWORD = 'canary-password-of-the-robot'
/** Of an application credential. */
export const SECRET = 'canary-secret-of-the-credential'
export const NEXT_PASSWORD = 'canary-password-of-tomorrow'
export const CALLER = 'canary-caller-token-0123456789abcdef'
export const NOBODY = 'canary-nobody-token-0123456789abcdef'
export const STATIC = 'canary-static-token-of-the-provider'

/** The upstreams: `second` has an account that `cloud` has too. */
async function startUpstreams() {
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
  cloud.credentials.push({
    ...{ id: 'a1b2c3', name: 'nightly', user: 'robot', project: 'web', secret: SECRET },
  })
  return { cloud, second }
}

/** The configuration of the sidecar before them, and the files with secrets that it names. */
function configurationFor({ cloud, second }: Awaited<ReturnType<typeof startUpstreams>>) {
  process.env.PORTCULLIS_TEST_PASSWORD = PASSWORD
  const passwordFile = newFile(PASSWORD)
  const printed = newFile(PASSWORD)
  const secretFile = newFile(SECRET)
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
    credential: {
      ...{ upstream: 'cloud', account: ACCOUNT, projects: ['web'] },
      ...{ application_credential_id: 'a1b2c3', application_credential_secret_file: secretFile },
    },
    'credential-by-name': {
      ...robot,
      projects: ['web'],
      application_credential_name: 'nightly',
      application_credential_secret_command: [process.execPath, '-p', JSON.stringify(SECRET)],
    },
    'credential-of-another-project': {
      ...{ upstream: 'cloud', account: ACCOUNT, projects: ['batch'] },
      ...{ application_credential_id: 'a1b2c3', application_credential_secret_file: secretFile },
    },
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
  return { passwordFile, secretFile, printed, robot, profiles, upstreams, callers }
}

/** Starts them for the tests of a file. After each test the upstreams behave again. */
export async function startCloud() {
  const { cloud, second } = await startUpstreams()
  const configuration = configurationFor({ cloud, second })
  const { upstreams, profiles, callers } = configuration
  const file = join(newFolder(), 'portcullis.json')
  const configure = (changes: object = {}) =>
    writeFileSync(file, JSON.stringify({ upstreams, profiles, callers, ...changes }))
  configure()
  const running = await runSidecar({ config: file })
  const secrets = await populate(running)
  const client = running.connect({ callerToken: CALLER })

  const issue = (question: IssueQuestion, by: Client = client) => by.issue(question)
  const ofAccount = { profile: 'job', scope: { account: ACCOUNT } } as const
  const check = (value: string, header = 'X-Auth-Token', api = 'iam') =>
    client.check({ api, credentials: { [header]: value } })

  const logins = () => cloud.count('POST')

  afterEach(() => {
    for (const upstream of [cloud, second]) {
      upstream.change = undefined
      upstream.takeOver = undefined
      upstream.gate = undefined
    }
  })

  // No log line holds a password or a token, whatever the tests did.
  afterAll(() => expect(running.logLines.join('')).not.toMatch(/canary|gAAAAA|secret-text/))

  return {
    cloud,
    second,
    ...configuration,
    running,
    secrets,
    client,
    configure,
    issue,
    ofAccount,
    check,
    logins,
  }
}
