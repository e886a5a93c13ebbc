/** The reasons of a denial and their precedence (DESIGN §5), over gRPC. */
import { expect, test } from 'vitest'
import { REASONS, type Reason } from '../../engine/index.ts'
import { credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox, type Message } from '../support/contract/black-box.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, issued, OTHER_ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const lenient = await runSidecar()
const strict = await runSidecar({ folder: lenient.folder, flags: { strict: true } })
const box = new BlackBox(lenient.address)
const strictBox = new BlackBox(strict.address)
const secrets = await populate(lenient)
const account = (await issued(lenient, secrets)).value
const project = (await issued(lenient, secrets, { project: 'alpha' })).value
const { staticToken } = secrets
const revoked = (await issued(lenient, secrets)).value
await lenient.client.revoke({ value: revoked })

/** Tokens of the other account, which only allows addresses of 10.0.0.0/8 (§1). */
const ofStranger = async () => {
  const password = secrets.passwordOf('stranger')
  const issuing = lenient.client.issue({
    password: { userName: 'stranger', account: OTHER_ACCOUNT, password },
    scope: { account: OTHER_ACCOUNT },
  })
  return (await issuing).value
}
const restricted = await ofStranger()
const revokedAndRestricted = await ofStranger()
await lenient.client.revoke({ value: revokedAndRestricted })
await lenient.sidecar.run(TESTER, 'setAddressRestriction', { account: OTHER_ACCOUNT, ranges: ['10.0.0.0/8'] })

const headers = (...pairs: (readonly [name: string, value: string])[]): Message => ({
  credentials: { headers: pairs.map(([name, value]) => ({ name, value })) },
})
const claims = (kind: string, scope?: Message): Message => ({ token: { kind, ...(scope && { scope }) } })
const fromAddress = (client_address: string, api = 'balance', value = restricted): Message => ({
  ...credentialQuestion(api, 'X-Auth-Token', value),
  client_address,
})
const own = { account: ACCOUNT }
const alpha = { account: ACCOUNT, project: 'alpha' }
const beta = { account: ACCOUNT, project: 'beta' }
const foreign = { account: OTHER_ACCOUNT, project: 'alpha' }

type Row = readonly [claim: string, reason: Reason, question: Message, asked?: BlackBox]
const withBox = (rows: readonly Row[]): [claim: string, Reason, Message, BlackBox][] =>
  rows.map(([claim, reason, question, asked = box]) => [claim, reason, question, asked])

/** A static token with a wrong checksum. */
const mistyped = `${staticToken.slice(0, -1)}${staticToken.endsWith('0') ? '1' : '0'}`

const ROWS: readonly Row[] = [
  [
    'an API that is not in the matrix',
    'UNKNOWN_API',
    { api: 'nothing', ...headers(['X-Token', staticToken]) },
  ],
  ['an API id in capitals', 'UNKNOWN_API', { api: 'BALANCE', ...headers(['X-Token', staticToken]) }],
  [
    'an API id that is a property of every object',
    'UNKNOWN_API',
    { api: 'constructor', ...claims('static_token', own) },
  ],
  ['no header at all', 'CREDENTIAL_MISSING', { api: 'balance', ...headers() }],
  ['only other headers', 'CREDENTIAL_MISSING', { api: 'balance', ...headers(['Authorization', account]) }],
  ['an empty header', 'CREDENTIAL_MISSING', { api: 'balance', ...headers(['X-Token', '']) }],
  ['a header of blanks', 'CREDENTIAL_MISSING', { api: 'balance', ...headers(['X-Token', ' \t ']) }],
  [
    'both headers together',
    'CREDENTIAL_AMBIGUOUS',
    { api: 'balance', ...headers(['X-Auth-Token', account], ['X-Token', staticToken]) },
  ],
  [
    'a header that is repeated',
    'CREDENTIAL_AMBIGUOUS',
    { api: 'balance', ...headers(['X-Auth-Token', account], ['x-auth-token', account]) },
  ],
  [
    'a repeated header that an intermediary joined with a comma',
    'CREDENTIAL_AMBIGUOUS',
    { api: 'balance', ...headers(['X-Auth-Token', `${account}, ${account}`]) },
  ],
  ...[...'\u0000\u0001\n\r\t\u007f\u0080é€\u200b '].map(
    (character): Row => [
      `the character U+${character.charCodeAt(0).toString(16).padStart(4, '0')} inside the token`,
      'CREDENTIAL_MALFORMED',
      {
        api: 'balance',
        ...headers(['X-Auth-Token', `${account.slice(0, 9)}${character}${account.slice(9)}`]),
      },
    ],
  ),
  [
    'a credential of a million characters that is not a token',
    'CREDENTIAL_INVALID',
    { api: 'balance', ...headers(['X-Auth-Token', `eyJ${'a'.repeat(999_997)}`]) },
  ],
  ['an IAM token in X-Token (§5.2)', 'WRONG_HEADER', credentialQuestion('balance', 'X-Token', account)],
  ['a project token in X-Token', 'WRONG_HEADER', credentialQuestion('cdn', 'X-Token', project)],
  [
    'a static token in X-Auth-Token (§5.2)',
    'WRONG_HEADER',
    credentialQuestion('balance', 'X-Auth-Token', staticToken),
  ],
  [
    'a word in X-Auth-Token',
    'CREDENTIAL_INVALID',
    credentialQuestion('balance', 'X-Auth-Token', 'gibberish'),
  ],
  ['a word in X-Token', 'CREDENTIAL_INVALID', credentialQuestion('balance', 'X-Token', 'gibberish')],
  [
    'a static token with a wrong checksum',
    'CREDENTIAL_INVALID',
    credentialQuestion('balance', 'X-Token', mistyped),
  ],
  ['a revoked token', 'CREDENTIAL_REVOKED', credentialQuestion('balance', 'X-Auth-Token', revoked)],
  ['an address that the account does not allow', 'ADDRESS_NOT_ALLOWED', fromAddress('192.0.2.1')],
  ['an address of the other family', 'ADDRESS_NOT_ALLOWED', fromAddress('2001:db8::10')],
  ['no address, and an account that restricts addresses', 'ADDRESS_NOT_ALLOWED', fromAddress('')],
  ['an address that the account allows', 'ALLOWED', fromAddress('10.1.2.3')],
  ['the same address as an IPv4-mapped IPv6 address', 'ALLOWED', fromAddress('::ffff:10.1.2.3')],
  ['a kind that is not in the matrix', 'UNKNOWN_TOKEN_KIND', { api: 'balance', ...claims('token', own) }],
  ['a claim without a kind', 'UNKNOWN_TOKEN_KIND', { api: 'balance', ...claims('', own) }],
  ['a claim without a scope', 'INVALID_SCOPE', { api: 'balance', ...claims('static_token') }],
  [
    'a claim whose scope names no account',
    'INVALID_SCOPE',
    { api: 'cdn', ...claims('iam_token_project_scoped', { project: 'alpha' }) },
  ],
  [
    'a project-scoped claim without a project',
    'INVALID_SCOPE',
    { api: 'cdn', ...claims('iam_token_project_scoped', own) },
  ],
  [
    'an account-scoped claim with a project',
    'INVALID_SCOPE',
    { api: 'balance', ...claims('iam_token_account_scoped', alpha) },
  ],
  [
    'a kind that the API does not accept',
    'TOKEN_KIND_NOT_ACCEPTED',
    credentialQuestion('reports', 'X-Auth-Token', account),
  ],
  [
    'a contested cell in strict mode',
    'CONTESTED',
    credentialQuestion('audit-logs', 'X-Auth-Token', account),
    strictBox,
  ],
  [
    'a target of another account',
    'ACCOUNT_MISMATCH',
    credentialQuestion('balance', 'X-Auth-Token', account, { account: OTHER_ACCOUNT }),
  ],
  [
    'a static token and a target of another account',
    'ACCOUNT_MISMATCH',
    credentialQuestion('balance', 'X-Token', staticToken, foreign),
  ],
  [
    'a target in another project',
    'PROJECT_MISMATCH',
    credentialQuestion('cdn', 'X-Auth-Token', project, beta),
  ],
  ['a target in no project', 'PROJECT_MISMATCH', credentialQuestion('cdn', 'X-Auth-Token', project, own)],
  [
    'a project name in another case',
    'PROJECT_MISMATCH',
    credentialQuestion('cdn', 'X-Auth-Token', project, { ...own, project: 'ALPHA' }),
  ],
  ['a token in its header', 'ALLOWED', credentialQuestion('balance', 'x-AUTH-token', account)],
  ['blanks around the token', 'ALLOWED', credentialQuestion('balance', 'X-Token', ` \t${staticToken} `)],
  [
    'an account token and a project of its account',
    'ALLOWED',
    credentialQuestion('iam', 'X-Auth-Token', account, beta),
  ],
  ['a project token and its project', 'ALLOWED', credentialQuestion('cdn', 'X-Auth-Token', project, alpha)],
  [
    'a static token and a project of its account',
    'ALLOWED',
    credentialQuestion('tickets', 'X-Token', staticToken, beta),
  ],
]

test.each(withBox(ROWS))('%s: %s', async (_claim, reason, question, asked) => {
  expect(await asked.ask('check', question)).toMatchObject({
    reason: `REASON_${reason}`,
    allowed: reason === 'ALLOWED',
  })
})

/** Checks with two faults: the first one in the order of DESIGN §5 is reported. */
const PRECEDENCE: readonly Row[] = [
  ['an unknown API and no credential', 'UNKNOWN_API', { api: 'nothing', ...headers() }],
  ['an unknown API and an unknown kind', 'UNKNOWN_API', { api: 'nothing', ...claims('nothing', own) }],
  [
    'an empty header next to a valid one',
    'CREDENTIAL_MISSING',
    { api: 'balance', ...headers(['X-Auth-Token', ''], ['X-Token', staticToken]) },
  ],
  [
    'two credentials, both malformed',
    'CREDENTIAL_AMBIGUOUS',
    { api: 'balance', ...headers(['X-Auth-Token', 'a b'], ['X-Token', 'c d']) },
  ],
  [
    'a malformed credential in the wrong header',
    'CREDENTIAL_MALFORMED',
    { api: 'balance', ...headers(['X-Auth-Token', `${staticToken} x`]) },
  ],
  [
    'an invalid token in the wrong header',
    'WRONG_HEADER',
    credentialQuestion('balance', 'X-Auth-Token', mistyped),
  ],
  ['a revoked token in the wrong header', 'WRONG_HEADER', credentialQuestion('balance', 'X-Token', revoked)],
  [
    'a revoked token from an address that is not allowed',
    'CREDENTIAL_REVOKED',
    fromAddress('192.0.2.1', 'balance', revokedAndRestricted),
  ],
  [
    'an address that is not allowed and an API that would not accept the token',
    'ADDRESS_NOT_ALLOWED',
    fromAddress('192.0.2.1', 'reports'),
  ],
  [
    'a revoked token that the API would not accept',
    'CREDENTIAL_REVOKED',
    credentialQuestion('reports', 'X-Auth-Token', revoked),
  ],
  ['an unknown kind and no scope', 'UNKNOWN_TOKEN_KIND', { api: 'balance', ...claims('nothing') }],
  [
    'a scope that does not fit a kind that is not accepted',
    'INVALID_SCOPE',
    { api: 'reports', ...claims('iam_token_project_scoped', own) },
  ],
  [
    'a kind that is not accepted and a foreign target',
    'TOKEN_KIND_NOT_ACCEPTED',
    credentialQuestion('reports', 'X-Auth-Token', account, foreign),
  ],
  [
    'a contested cell that the table denies, in strict mode',
    'TOKEN_KIND_NOT_ACCEPTED',
    credentialQuestion('audit-logs', 'X-Auth-Token', project),
    strictBox,
  ],
  [
    'a contested cell and a foreign target, in strict mode',
    'CONTESTED',
    credentialQuestion('cdn', 'X-Auth-Token', project, foreign),
    strictBox,
  ],
  [
    'a foreign target with a project of the same name',
    'ACCOUNT_MISMATCH',
    credentialQuestion('cdn', 'X-Auth-Token', project, foreign),
  ],
]

test.each(withBox(PRECEDENCE))('%s: %s comes first', async (_claim, reason, question, asked) => {
  expect(await asked.ask('check', question)).toMatchObject({ reason: `REASON_${reason}`, allowed: false })
})

test('the rows contain every reason except expiry, which has its own tests', () => {
  const asked = new Set(ROWS.map(([, reason]) => reason))
  expect(REASONS.filter((reason) => !asked.has(reason))).toEqual(['CREDENTIAL_EXPIRED'])
})
