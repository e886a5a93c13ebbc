/**
 * Secrets stay secret: every input that takes a secret gets a canary, and every output is searched for it.
 */
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type CallWishes, type Message } from '../support/contract/black-box.ts'
import { command } from '../support/processes/command-line.ts'
import { serve } from '../support/processes/processes.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

/** Easy to find in any output, and not a part of a real secret. */
const CANARY = 'canary9f3b'
const CALLER_TOKEN = `${CANARY}-caller-0123456789abcdef0123456789`

const folder = join(newFolder(), 'data')
const secrets = await populate(await runSidecar({ folder }))
const running = await runSidecar({
  folder,
  flags: { 'log.level': 'trace' },
  config: newFile(
    JSON.stringify({
      profiles: {
        job: {
          account: ACCOUNT,
          user_name: 'account',
          password_file: newFile(secrets.passwordOf('account')),
          static_token_file: newFile(secrets.staticToken),
        },
        wrong: { account: ACCOUNT, user_name: 'account', password_file: newFile(`${CANARY}-profile`) },
      },
      callers: [{ name: 'job', token_file: newFile(CALLER_TOKEN), profiles: ['job', 'wrong'] }],
    }),
  ),
})
const box = new BlackBox(running.address)
const { value: token } = await issued(running, secrets)
const [, claims = '', signature = ''] = token.split('.')

/** Every secret that the calls below send or that the sidecar knows, and revealing parts of these secrets. */
const SECRETS = [
  CANARY,
  secrets.passwordOf('account'),
  secrets.passwordOf('alpha'),
  secrets.staticToken,
  secrets.staticToken.slice(5, 30),
  claims.slice(0, 60),
  signature.slice(0, 40),
]
const shownIn = (text: string) => SECRETS.filter((secret) => text.includes(secret))

const login = (password: string, changes: Message = {}): Message => ({
  password: { user_name: 'account', account: ACCOUNT, password, ...changes },
})
const own = { scope: { account: ACCOUNT } }

const CALLS: [claim: string, method: string, request: Message | Buffer, wishes?: CallWishes][] = [
  ['a genuine token', 'check', credentialQuestion('balance', 'X-Auth-Token', token)],
  ['a genuine token that is denied', 'check', credentialQuestion('reports', 'X-Auth-Token', token)],
  ['a token in the wrong header', 'check', credentialQuestion('balance', 'X-Token', token)],
  ['a static token', 'check', credentialQuestion('reports', 'X-Token', secrets.staticToken)],
  ['a tampered token', 'check', credentialQuestion('balance', 'X-Auth-Token', `${token}${CANARY}`)],
  [
    'a malformed credential',
    'check',
    credentialQuestion('balance', 'X-Auth-Token', `${CANARY}\u0000${token}`),
  ],
  ['a credential for an unknown API', 'check', credentialQuestion(CANARY, 'X-Auth-Token', token)],
  [
    'a secret as the client address',
    'check',
    { ...credentialQuestion('balance', 'X-Token', token), client_address: CANARY },
  ],
  ['a secret as the kind', 'check', { api: 'balance', token: { kind: CANARY, ...own } }],
  ['bytes that are not a message', 'check', Buffer.from(`\u0000${CANARY}${token}`)],
  [
    'a batch with an invalid check',
    'checkBatch',
    { checks: [credentialQuestion('', 'X-Token', secrets.staticToken)] },
  ],
  ['a wrong password', 'issue', { ...login(`${CANARY}-password`), ...own }],
  [
    'a right password without the permission',
    'issue',
    { ...login(secrets.passwordOf('alpha'), { user_name: 'alpha' }), ...own },
  ],
  ['a right password and no purpose', 'issue', login(secrets.passwordOf('account'))],
  ['a password beyond the limit', 'issue', { ...login(CANARY.repeat(200)), ...own }],
  [
    'a password instead of the name',
    'issue',
    { ...login('x', { user_name: secrets.passwordOf('account') }), ...own },
  ],
  [
    'a password for APIs without a common kind',
    'issue',
    { ...login(secrets.passwordOf('account')), apis: { apis: ['iam', 'reports'] } },
  ],
  [
    'a password for an unknown API',
    'issue',
    { ...login(secrets.passwordOf('account')), apis: { apis: [CANARY] } },
  ],
  ['a profile without a caller', 'issue', { profile: 'job', ...own }],
  [
    'a profile with a wrong caller token',
    'issue',
    { profile: 'job', ...own },
    { callerToken: `${CALLER_TOKEN}x` },
  ],
  ['an unknown profile', 'issue', { profile: CANARY, ...own }, { callerToken: CALLER_TOKEN }],
  ['a profile whose password is wrong', 'issue', { profile: 'wrong', ...own }, { callerToken: CALLER_TOKEN }],
  ['a revocation of an unknown token', 'revoke', { value: `${CANARY}${token}` }],
  ['a revocation by an invalid id', 'revoke', { token_id: CANARY }, { callerToken: CALLER_TOKEN }],
  [
    'a revocation by a caller who is not an operator',
    'revoke',
    { token_id: 'A'.repeat(22) },
    { callerToken: CALLER_TOKEN },
  ],
  ['a plan for a secret', 'plan', { apis: [CANARY] }],
]

test.each(CALLS)(
  '%s: neither the answer nor the log shows a secret',
  async (_claim, method, request, wishes) => {
    const [outcome] = await Promise.allSettled([box.ask(method, request, wishes ?? {})])
    const said =
      outcome?.status === 'rejected'
        ? // The complete error: message, details, stack, and the bytes of the trailer as text.
          `${inspect(outcome.reason, { depth: 10, showHidden: true })}${trailerOf(outcome.reason)}`
        : inspect(outcome?.value, { depth: 10 })
    expect(shownIn(said)).toEqual([])
    expect(shownIn(running.logLines.join(''))).toEqual([])
  },
)

function trailerOf(error: { metadata: { get(name: string): (string | Buffer)[] } }): string {
  return error.metadata.get('grpc-status-details-bin').map(String).join('')
}

test('the search finds secrets: an issued token is in its answer, but not in the log', async () => {
  const { value } = await box.ask(
    'issue',
    { profile: 'job', apis: { apis: ['reports'] } },
    { callerToken: CALLER_TOKEN },
  )
  expect(shownIn(String(value))).toContain(secrets.staticToken)
  await box.ask('revoke', { value: token })
  expect(shownIn(running.logLines.join(''))).toEqual([])
})

test('printing a sidecar to any depth shows no secret', () => {
  const printed = [
    inspect(running.sidecar, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true }),
    JSON.stringify(running.sidecar),
    String(running.sidecar),
  ].join('')
  expect(shownIn(printed)).toEqual([])
})

test('a process prints its secrets only once, in the ready line', async () => {
  const child = await serve(['--dev'], { environment: { PORTCULLIS_LOG_LEVEL: 'trace' } })
  const { service_user, static_token, account } = child.ready.demo ?? fail()
  const elsewhere = new BlackBox(child.ready.grpc)
  const requester = { password: { user_name: service_user.name, account, password: service_user.password } }
  const { value } = await elsewhere.ask('issue', { ...requester, scope: { account } })
  for (const [header, credential] of [
    ['X-Auth-Token', value],
    ['X-Token', static_token],
    ['X-Token', `${CANARY}\u0007`],
  ])
    await elsewhere.ask('check', credentialQuestion('balance', header as string, credential as string))
  await elsewhere.ask('issue', { ...requester, scope: { account: CANARY } }).catch(() => {})
  // By default grpc-js reports headers that it cannot read, with their values.
  await sendRaw(child.ready.grpc, { authorization: `Bearer ${CANARY}é` })
  child.signal('SIGTERM')
  const { stdout, stderr, code } = await child.ended
  expect(code).toBe(0)
  const afterReady = stdout.slice(stdout.indexOf('\n'))
  for (const secret of [service_user.password, static_token, String(value), CANARY]) {
    expect(afterReady).not.toContain(secret)
    expect(stderr).not.toContain(secret)
  }
})

function fail(): never {
  throw new Error('the development sidecar has no demo account')
}

/** Makes a call with headers that no gRPC client would send. */
async function sendRaw(address: string, headers: Record<string, string>): Promise<void> {
  const session = connectHttp2(`http://${address}`)
  const request = session.request({
    ':method': 'POST',
    ':path': '/portcullis.v1.AuthorizationService/GetMatrix',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  request.end(Buffer.alloc(5))
  request.resume()
  await new Promise((resolve) => request.on('close', resolve))
  session.close()
}

test.each([
  [
    'a caller token that cannot be sent',
    ['issue', '--profile', 'job', '--account', ACCOUNT, '--caller-token-file', newFile(`${CANARY}é`)],
    {},
  ],
  ['a header without a name', ['check', 'balance', '-H', CANARY], {}],
  ['a header file that is missing', ['check', 'balance', '-H', '@/does/not/exist'], {}],
  [
    'a password and no sidecar',
    ['issue', '--account', ACCOUNT, '--user', 'x', '--address', '127.0.0.1:1'],
    { PORTCULLIS_PASSWORD: CANARY },
  ],
])('the command line with %s shows no secret', async (_claim, args, environment) => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  const { code, stdout, stderr } = await command(args)
  vi.unstubAllEnvs()
  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^portcullis: [^\n]+\n$/)
  expect(stderr).not.toContain(CANARY)
})
