/**
 * `Issue` over the wire: what an issued token says, each status of a refusal, and the same answer for every
 * failed login. `test/usecases/issue.test.ts` says which kind is issued, and
 * `test/directory/contract/token-status.ts` to whom.
 */
import type { ServiceError } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message, type Refusal, refused } from '../support/contract/black-box.ts'
import { ACCOUNT, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'

// The throttle would disturb these tests of failed logins. It has its own tests.
const running = await runSidecar({ flags: { 'login_throttle.failures': 1_000 } })
const box = new BlackBox(running.address)
const secrets = await populate(running, {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha', 'beta'],
      service_users: [
        { name: 'account', permissions: [{ scope: 'account' }] },
        { name: 'alpha', permissions: [{ scope: 'projects', projects: ['alpha'] }] },
        { name: 'disabled', enabled: false, permissions: [{ scope: 'account' }] },
      ],
      control_panel_users: [{ name: 'owner', static_tokens: ['key'] }],
    },
    { account: OTHER_ACCOUNT, projects: ['alpha'] },
  ],
})

const login = (user: string, changes: Message = {}): Message => ({
  password: { user_name: user, account: ACCOUNT, password: secrets.passwordOf(user), ...changes },
})
const issue = (request: Message) => box.ask('issue', request)
const own = { account: ACCOUNT }
const project = (name: string) => ({ account: ACCOUNT, project: name })

const ACCOUNT_KIND = 'iam_token_account_scoped'
const PROJECT_KIND = 'iam_token_project_scoped'

/**
 * The refusal of §5.1. It is the same for a project that does not exist, so that it does not reveal which
 * projects exist.
 */
const missing = (kind: string): Refusal => ({
  code: 'PERMISSION_DENIED',
  reason: 'PERMISSION_MISSING',
  message:
    kind === PROJECT_KIND
      ? 'project-scoped IAM token: the service user needs a permission whose scope is Account, or one whose scope is Projects with that project selected'
      : 'account-scoped IAM token: the service user needs a permission whose scope is Account',
  metadata: { kind, permission_scopes: kind === PROJECT_KIND ? 'account,projects' : 'account' },
  violations: [],
})

describe('§5.1: which permission gives which token', () => {
  test.each([
    { user: 'account', scope: own, kind: ACCOUNT_KIND },
    { user: 'alpha', scope: project('alpha'), kind: PROJECT_KIND },
  ])('$user gets a token for $scope: $kind', async ({ user, scope, kind }) => {
    const token = await issue({ ...login(user), scope })
    expect(token).toMatchObject({ header: 'X-Auth-Token', kind, scope: { project: '', ...scope } })
    // §8: 24 hours.
    const { issued_at, expires_at } = token as { issued_at: Message; expires_at: Message }
    expect(Number(expires_at.seconds) - Number(issued_at.seconds)).toBe(86_400)
    const question = credentialQuestion('dedicated-servers', 'X-Auth-Token', token.value as string, scope)
    expect(await box.ask('check', question)).toMatchObject({
      allowed: true,
      verified: true,
      token: {
        kind,
        scope: token.scope,
        subject: { name: user, type: 'service_user' },
        token_id: token.token_id,
        issued_at,
        expires_at,
      },
    })
  })

  test.each([
    { user: 'alpha', scope: own, kind: ACCOUNT_KIND },
    { user: 'account', scope: project('no such project'), kind: PROJECT_KIND },
  ])('$user gets no token for $scope', async ({ user, scope, kind }) => {
    expect(await refused(issue({ ...login(user), scope }))).toEqual(missing(kind))
  })
})

describe('a failed login', () => {
  const FAILED: Refusal = {
    code: 'UNAUTHENTICATED',
    reason: 'LOGIN_FAILED',
    message: 'the name of the user or the password is wrong',
    metadata: {},
    violations: [],
  }
  const rightPassword = secrets.passwordOf('account')
  const ROWS: [claim: string, requester: Message][] = [
    ['a wrong password', login('account', { password: 'wrong' })],
    ['a password in another case', login('account', { password: rightPassword.toUpperCase() })],
    ['a password with a blank at the end', login('account', { password: `${rightPassword} ` })],
    ["another user's password", login('account', { password: secrets.passwordOf('alpha') })],
    ['a user who does not exist', login('account', { user_name: 'nobody' })],
    ['a user name in another case', login('account', { user_name: 'Account' })],
    ['an account that does not exist', login('account', { account: '999999' })],
    ['another account', login('account', { account: OTHER_ACCOUNT })],
    ['an impossible user name', login('account', { user_name: 'a\0' })],
    ['a user name of a megabyte', login('account', { user_name: 'x'.repeat(1_000_000) })],
    ['an account number of a megabyte', login('account', { account: '1'.repeat(1_000_000) })],
    ['a disabled user with the right password', login('disabled')],
    // §5.1: only service users get IAM tokens.
    ['a control panel user', login('account', { user_name: 'owner' })],
    [
      'a control panel user and a static token',
      login('account', { user_name: 'owner', password: secrets.staticToken }),
    ],
  ]

  test('all of them get the same bytes', async () => {
    const trailers: string[] = []
    for (const [claim, requester] of ROWS) {
      const error = (await issue({ ...requester, scope: own }).catch((error) => error)) as ServiceError
      expect(await refused(Promise.reject(error)), claim).toEqual(FAILED)
      trailers.push(JSON.stringify([error.details, error.metadata.toJSON()['grpc-status-details-bin']]))
    }
    expect(trailers[0]).toContain('"type":"Buffer"')
    expect(new Set(trailers).size).toBe(1)
  })

  test('a failed login does not reveal whether the scope or the project is allowed', async () => {
    const requester = login('account', { password: 'wrong' })
    expect(await refused(issue({ ...requester, scope: project('no such project') }))).toEqual(FAILED)
    expect(await refused(issue({ ...requester, scope: { account: OTHER_ACCOUNT } }))).toEqual(FAILED)
  })
})

describe('for a set of APIs', () => {
  const forApis = (apis: readonly string[], projectName?: string) =>
    issue({ ...login('account'), apis: { apis, ...(projectName !== undefined && { project: projectName }) } })

  test('the token is for the project, and names the conflicts that affect it', async () => {
    const token = await forApis(['cdn', 'cloud-quotas', 'mobile-farm'], 'alpha')
    expect(token).toMatchObject({ kind: PROJECT_KIND, scope: project('alpha') })
    expect((token.conflicts as Message[]).map(({ id }) => id)).toEqual([
      ...['cdn-project-omission', 'mobile-farm-project-omission'],
      ...['cloud-quotas-duplicate-row', 'iam-token-holder-contradiction'],
    ])
  })

  const STEPS = [
    'Open the account menu in the upper right corner and choose Profile.',
    'Open Access, then API Keys.',
    'Choose Add Key.',
    'Enter the key name.',
    'Confirm with Add.',
  ]
  test('an API that only accepts a static token is refused with the steps of §4.2', async () => {
    expect(await refused(forApis(['reports', 'tickets']))).toEqual({
      code: 'FAILED_PRECONDITION',
      reason: 'NOT_ISSUABLE',
      message: `a static token is not issued by an API request; in the control panel: ${STEPS.join(' ')}`,
      metadata: {
        kind: 'static_token',
        ...Object.fromEntries(STEPS.map((step, index) => [`step_${index + 1}`, step])),
      },
      violations: [],
    })
  })
})
