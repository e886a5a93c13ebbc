/** What the configuration of profiles and upstreams may say, and where `{auth_url}` leads. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, readConfig } from '../../sidecar/config/config.ts'
import { readProfiles } from '../../sidecar/config/profiles-config.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const CANARY = 'canary-secret'
const password = newFile(CANARY)
const missing = join(newFolder(), 'missing')
const job = { upstream: 'cloud', account: '1', user_name: 'x', password_file: password }
const cloud = { auth_url: 'https://identity.example' }

/** The credentials of a configuration. */
function read(config: object, environment: Record<string, string> = {}) {
  return readProfiles(readConfig({ file: newFile(JSON.stringify(config)) }), environment)
}

test.each([
  ['https://identity.example', 'https://identity.example/identity/v3/auth/tokens'],
  ['https://identity.example/', 'https://identity.example/identity/v3/auth/tokens'],
  ['https://cloud.example:8443/keystone', 'https://cloud.example:8443/keystone/identity/v3/auth/tokens'],
  ['https://identity.example/identity', 'https://identity.example/identity/v3/auth/tokens'],
  ['https://identity.example/identity/v3/', 'https://identity.example/identity/v3/auth/tokens'],
  ['https://keystone.example:5000/v3', 'https://keystone.example:5000/v3/auth/tokens'],
  ['https://keystone.example/v3/auth/tokens/', 'https://keystone.example/v3/auth/tokens'],
  ['https://cloud.example/auth/tokens', 'https://cloud.example/auth/tokens'],
  ['http://127.0.0.1:5000', 'http://127.0.0.1:5000/identity/v3/auth/tokens'],
  ['http://localhost:5000/identity', 'http://localhost:5000/identity/v3/auth/tokens'],
  ['http://[::1]:5000', 'http://[::1]:5000/identity/v3/auth/tokens'],
])('the tokens of %s are at %s', (authUrl, tokensUrl) => {
  expect(read({ upstreams: { cloud: { auth_url: authUrl } } }).upstreams.get('cloud')?.tokensUrl).toBe(
    tokensUrl,
  )
})

/** Mistakes in a profile that logs in with an application credential. */
function credentialRows(): [claim: string, config: object, message: string][] {
  const right = {
    ...{ upstream: 'cloud', account: '1', projects: ['web'] },
    ...{ application_credential_id: 'a1', application_credential_secret_file: password },
  }
  const rows: [claim: string, changes: object, message: string][] = [
    [
      'beside a password',
      { password_file: password },
      ': expected either a password or an application credential, found both',
    ],
    [
      'of the directory',
      { upstream: undefined },
      '.upstream: expected an upstream, because application credentials log in there',
    ],
    [
      'with an id and a name',
      { application_credential_name: 'n' },
      ': expected exactly one of application_credential_id and application_credential_name',
    ],
    [
      'without an id and a name',
      { application_credential_id: undefined },
      ': expected exactly one of application_credential_id and application_credential_name',
    ],
    [
      'with an id beside a user',
      { user_name: 'x' },
      '.user_name: expected none beside application_credential_id, which has a user',
    ],
    [
      'with a name and no user',
      { application_credential_id: undefined, application_credential_name: 'n' },
      '.user_name: expected the user of the application credential',
    ],
    [
      'without a project',
      { projects: undefined },
      '.projects: expected the one project of the application credential',
    ],
    [
      'with two projects',
      { projects: ['web', 'batch'] },
      '.projects: expected the one project of the application credential',
    ],
    [
      'without a secret',
      { application_credential_secret_file: undefined },
      ': expected exactly one of application_credential_secret_file, application_credential_secret_env and application_credential_secret_command',
    ],
    [
      'with two secrets',
      { application_credential_secret_env: 'S' },
      ': expected exactly one of application_credential_secret_file, application_credential_secret_env and application_credential_secret_command',
    ],
    [
      'with a variable that is not set',
      { application_credential_secret_file: undefined, application_credential_secret_env: 'NOT_SET' },
      '.application_credential_secret_env: expected the secret in the variable NOT_SET',
    ],
  ]
  return rows.map(([claim, changes, message]) => [
    `an application credential ${claim}`,
    { upstreams: { cloud }, profiles: { job: { ...right, ...changes } } },
    `profiles.job${message}`,
  ])
}

const URL = 'upstreams.cloud.auth_url: '
test.each<[claim: string, config: object, message: string]>([
  [
    'http to another machine',
    { upstreams: { cloud: { auth_url: 'http://identity.example' } } },
    `${URL}expected https, because the endpoint is not on this machine`,
  ],
  [
    'http to an address of another machine',
    { upstreams: { cloud: { auth_url: 'http://10.0.0.1' } } },
    `${URL}expected https, because the endpoint is not on this machine`,
  ],
  [
    'an address where clouds answer with credentials',
    { upstreams: { cloud: { auth_url: 'https://169.254.169.254' } } },
    `${URL}expected no link-local address`,
  ],
  [
    'the same address written as a number',
    { upstreams: { cloud: { auth_url: 'https://2852039166' } } },
    `${URL}expected no link-local address`,
  ],
  [
    'a link-local address of IPv6',
    { upstreams: { cloud: { auth_url: 'https://[fe80::1]' } } },
    `${URL}expected no link-local address`,
  ],
  [
    'certificates that are missing',
    { upstreams: { cloud: { ...cloud, ca: missing } } },
    `upstreams.cloud.ca: ${missing} cannot be read (ENOENT)`,
  ],
  [
    'certificates that are none',
    { upstreams: { cloud: { ...cloud, ca: password } } },
    `upstreams.cloud.ca: expected certificates in PEM in ${password}`,
  ],
  [
    'the name of the directory',
    { upstreams: { embedded: cloud } },
    'upstreams.embedded: expected another name; embedded is the directory',
  ],
  ['an unknown upstream', { profiles: { job } }, 'profiles.job.upstream: expected the name of an upstream'],
  [
    'no password',
    { profiles: { job: { account: '1', user_name: 'x' } } },
    'profiles.job: expected exactly one of password_file, password_env and password_command, or an application credential (application_credential_id)',
  ],
  [
    'two passwords',
    { profiles: { job: { account: '1', user_name: 'x', password_file: password, password_env: 'P' } } },
    'profiles.job: expected exactly one of password_file, password_env and password_command',
  ],
  [
    'a variable that is not set',
    { profiles: { job: { account: '1', user_name: 'x', password_env: 'NOT_SET' } } },
    'profiles.job.password_env: expected the password in the variable NOT_SET',
  ],
  [
    'a command without a name',
    { profiles: { job: { account: '1', user_name: 'x', password_command: [''] } } },
    'profiles.job.password_command[0]: expected the name of a program',
  ],
  [
    'a password without a user',
    { profiles: { job: { account: '1', password_file: password } } },
    'profiles.job.user_name: expected the name of the service user',
  ],
  ...credentialRows(),
  [
    'a validating profile that does not exist',
    { upstreams: { cloud: { ...cloud, verify: { profile: 'job' } } } },
    'upstreams.cloud.verify.profile: expected the name of a profile with `upstream: cloud`',
  ],
  [
    'a validating profile of the directory',
    {
      upstreams: { cloud: { ...cloud, verify: { profile: 'job' } } },
      profiles: { job: { account: '1', user_name: 'x', password_file: password } },
    },
    'upstreams.cloud.verify.profile: expected the name of a profile with `upstream: cloud`',
  ],
  [
    'a validating profile that may not have the token',
    {
      upstreams: { cloud: { ...cloud, verify: { profile: 'job' } } },
      profiles: { job: { ...job, projects: ['web'] } },
    },
    'upstreams.cloud.verify.project: expected one of the projects of profile job',
  ],
  [
    'two upstreams that vouch for any account',
    {
      upstreams: {
        cloud: { ...cloud, verify: { profile: 'job' } },
        other: { ...cloud, verify: { profile: 'two' } },
      },
      profiles: { job, two: { ...job, upstream: 'other' } },
    },
    'upstreams.other.verify.accounts: expected the accounts whose tokens it verifies, because upstream cloud verifies any',
  ],
  [
    'two upstreams that verify tokens of one account',
    {
      upstreams: {
        cloud: { ...cloud, verify: { profile: 'job', accounts: ['1', '2'] } },
        other: { ...cloud, verify: { profile: 'two', accounts: ['3', '2'] } },
      },
      profiles: { job, two: { ...job, upstream: 'other' } },
    },
    'upstreams.other.verify.accounts: expected accounts of no other upstream; upstream cloud has one of them',
  ],
])('%s is refused', (_claim, config, message) => {
  expect(() => read(config)).toThrow(new ConfigError(message))
})

test('a password of the environment is read, and shown by no error', () => {
  const { profiles } = read(
    { profiles: { job: { account: '1', user_name: 'x', password_env: 'P' } } },
    { P: CANARY },
  )
  const { password: found } = profiles.get('job') ?? {}
  expect(found?.type === 'value' && found.value.reveal()).toBe(CANARY)
  expect(JSON.stringify([...profiles])).not.toContain(CANARY)
})
