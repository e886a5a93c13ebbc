/** Secrets do not go to another machine in plaintext, unless an option asks for that by name. */
import { expect, test } from 'vitest'
import { type Client, type ClientOptions, PortcullisError } from '../../clients/typescript/index.ts'
import { command } from '../support/processes/command-line.ts'
import { connect } from '../support/sidecar/client.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { newFile, whenTheFileEnds } from '../support/suite/resources.ts'

/** An address for documentation, which no machine has. */
const ELSEWHERE = '192.0.2.1:50051'
const CLAIMS = { api: 'iam', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const CREDENTIALS = { api: 'iam', credentials: { 'X-Token': 'secret-canary' } }
const PASSWORD = { userName: 'u', account: ACCOUNT, password: 'secret-canary' }

function open(address: string, options: ClientOptions = {}): Client {
  const client = connect(address, { deadlineMs: 50, ...options })
  whenTheFileEnds(() => client.close())
  return client
}

/** Calls with a secret in the question or in the answer. */
const SECRET_CALLS: readonly [what: string, ask: (client: Client) => Promise<unknown>][] = [
  ['check', (client) => client.check(CREDENTIALS)],
  ['checkBatch', (client) => client.checkBatch([CLAIMS, CREDENTIALS])],
  ['checkStream', async (client) => client.checkStream([CREDENTIALS]).next()],
  ['issue by password', (client) => client.issue({ password: PASSWORD, scope: { account: ACCOUNT } })],
  ['issue by profile', (client) => client.issue({ profile: 'p', scope: { account: ACCOUNT } })],
  ['revoke', (client) => client.revoke({ value: 'secret-canary' })],
]

const isRefused = (error: unknown) =>
  error instanceof TypeError && (error as NodeJS.ErrnoException).code === 'PLAINTEXT_REFUSED'

test.each(SECRET_CALLS)('%s is refused on the way to another machine', async (_what, ask) => {
  const error = await ask(open(ELSEWHERE)).catch((error: unknown) => error)
  expect(error).toSatisfy(isRefused)
  expect((error as Error).message).not.toContain('secret-canary')
})

test.each(SECRET_CALLS)('%s is tried if plaintext is allowed by name', async (_what, ask) => {
  const error = await ask(open(ELSEWHERE, { allowPlaintext: true, callerToken: 'x' })).catch(
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(PortcullisError)
})

test.each([
  ['callerToken', 'secret-canary'],
  ['iamToken', 'secret-canary'],
  ['callerTokenFile', newFile('secret-canary')],
])('a client with a %s is refused when it is made', (option, value) => {
  for (const address of [
    ELSEWHERE,
    'sidecar.example:50051',
    'dns:///sidecar.example:50051',
    '[2001:db8::1]:50051',
    '2001:db8::127.0.0.1',
    '127.0.0.1.example:50051',
    'localhost.example:50051',
    // Names of machines to grpc-js, which knows no such socket.
    'unix-abstract:50051',
    '127.300.1.1:50051',
    // A DNS server says which machine that is.
    'dns://192.0.2.53/localhost:50051',
  ])
    expect(() => open(address, { [option]: value })).toThrow(expect.toSatisfy(isRefused) as unknown as Error)
})

test('claims, which hold no secret, are asked without TLS', async () => {
  await expect(open(ELSEWHERE).check(CLAIMS)).rejects.toThrow(PortcullisError)
})

test.each([
  '127.0.0.1:1',
  'localhost:1',
  '[::1]:1',
  'dns:///localhost:1',
  'ipv4:127.0.0.1:1',
  'unix:/nowhere',
])('this machine may get secrets: %s', async (address) => {
  const client = open(address, { callerToken: 'secret-canary' })
  await expect(client.check(CREDENTIALS)).rejects.toThrow(PortcullisError)
})

const token = newFile('secret-canary\n')
const COMMANDS: readonly (readonly string[])[] = [
  ['check', 'iam', '-H', `@${newFile('X-Token: secret-canary\n')}`],
  ['revoke', '--token-id', 'one', '--yes', '--caller-token-file', token],
  ['account', 'list', '--caller-token-file', token],
  ['account', 'list', '--iam-token-file', token],
]

test.each(COMMANDS)('%s %s … says what to do, and is tried with --allow-plaintext', async (...args) => {
  const given = [...args, '--address', ELSEWHERE, '--deadline', '50']
  expect(await command(given)).toEqual({
    code: 2,
    stdout: '',
    stderr: `portcullis: --address ${ELSEWHERE}: a secret would be sent to another machine in plaintext; use --tls, --ca, --cert and --key, or --allow-plaintext if something else encrypts the connection\n`,
  })
  const { code, stderr } = await command([...given, '--allow-plaintext'])
  expect(code).toBe(2)
  expect(stderr).not.toMatch(/plaintext|canary/)
})
