/** The rows of the contract: what they ask has a method, whatever carries it. */
import { fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { type Form, methodOf, transportOf } from '../support/contract/contract.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { type Row, settled } from './rows.ts'
import { ASKED, CANARY, type Stage, secretOf } from './stage.ts'

type Headers = Readonly<Record<string, string>>

interface ContractRow {
  readonly what: string
  readonly method: string
  readonly input: (stage: Stage) => JsonObject
  readonly headers?: (stage: Stage) => Headers
  /** The name of the secret that the answer rightly holds, and the field that it is in. */
  readonly makes?: readonly [name: string, ...path: string[]]
}

const own = { scope: { account: ACCOUNT } }
const check = (name: string, value: string, more: JsonObject = {}): JsonObject => ({
  ...{ api: 'balance', credentials: { headers: [{ name, value }] } },
  ...more,
})
const login = (password: string | undefined, more: JsonObject = {}, user: JsonObject = {}): JsonObject => ({
  password: { userName: 'account', account: ACCOUNT, password: password ?? '', ...user },
  ...own,
  ...more,
})
const asCaller = ({ secrets }: Stage) => ({ authorization: `Bearer ${secrets.callerToken}` })
const asOperator = ({ secrets }: Stage) => ({ authorization: `Bearer ${secrets.administratorToken}` })
const job = { account: ACCOUNT, name: 'alpha' }
const byProfile = (profile: string) => () => ({ profile, ...own })

const ROWS: readonly ContractRow[] = [
  { what: 'a genuine token', method: 'Check', input: (at) => check('X-Auth-Token', at.token) },
  {
    what: 'a static token',
    method: 'Check',
    input: ({ secrets: { staticToken = '' } }) => check('X-Token', staticToken),
  },
  {
    what: 'a denied static token',
    method: 'Check',
    input: ({ secrets: { staticToken = '' } }) => check('X-Token', staticToken, { api: 'iam' }),
  },
  {
    what: 'a token in the wrong header',
    method: 'Check',
    input: (at) => check('X-Token', at.token),
  },
  {
    what: 'a tampered token',
    method: 'Check',
    input: (at) => check('X-Auth-Token', `${at.token}${CANARY}`),
  },
  {
    what: 'a token that is cut off',
    method: 'Check',
    input: (at) => check('X-Auth-Token', at.token.slice(0, -20)),
  },
  {
    what: 'a token with a control character',
    method: 'Check',
    input: (at) => check('X-Auth-Token', `${at.token}\u0000${CANARY}`),
  },
  {
    what: 'the token of an upstream',
    method: 'Check',
    input: ({ upstreamToken }) => check('X-Auth-Token', upstreamToken),
  },
  { what: 'a text as a token', method: 'Check', input: () => check('X-Auth-Token', CANARY) },
  { what: 'a secret as the name of a header', method: 'Check', input: () => check(CANARY, 'a') },
  { what: 'a secret as the API', method: 'Check', input: () => check('X-Auth-Token', 'a', { api: ASKED }) },
  {
    what: 'a secret as the account of the target',
    method: 'Check',
    input: (at) => check('X-Auth-Token', at.token, { target: { account: ASKED } }),
  },
  {
    what: 'a secret as the address',
    method: 'Check',
    input: () => check('X-Auth-Token', 'a', { clientAddress: CANARY }),
  },
  {
    what: 'a secret as the kind',
    method: 'Check',
    input: () => ({ api: 'balance', token: { kind: ASKED, ...own } }),
  },
  {
    what: 'two credentials',
    method: 'Check',
    input: (at) => ({
      api: 'balance',
      credentials: {
        headers: [
          { name: 'X-Auth-Token', value: at.token },
          { name: 'X-Token', value: CANARY },
        ],
      },
    }),
  },
  {
    what: 'a batch with a bad check',
    method: 'CheckBatch',
    input: (at) => ({ checks: [check('X-Auth-Token', at.token), { api: '' }] }),
  },
  { what: 'a wrong password', method: 'Issue', input: ({ secrets }) => login(secrets.wrongPassword) },
  {
    what: 'a password and no permission',
    method: 'Issue',
    input: ({ secrets }) => login(secrets.alphaPassword, {}, { userName: 'alpha' }),
  },
  {
    what: 'a password as the name',
    method: 'Issue',
    input: ({ secrets: { password = '' } }) => login('x', {}, { userName: password }),
  },
  {
    what: 'a password as the account',
    method: 'Issue',
    input: ({ secrets: { password = '' } }) => login('x', {}, { account: password }),
  },
  { what: 'a password that is too long', method: 'Issue', input: () => login(CANARY.repeat(100)) },
  {
    what: 'a password for an unknown API',
    method: 'Issue',
    input: ({ secrets }) => ({
      ...login(secrets.password),
      scope: undefined as never,
      apis: { apis: [CANARY] },
    }),
  },
  {
    what: 'a password',
    method: 'Issue',
    input: ({ secrets }) => login(secrets.password),
    makes: ['issuedToken', 'value'],
  },
  {
    what: 'a password with a wrong caller token',
    method: 'Issue',
    input: ({ secrets }) => login(secrets.wrongPassword),
    headers: () => ({ authorization: `Bearer ${CANARY}` }),
  },
  {
    what: 'a profile',
    method: 'Issue',
    input: byProfile('job'),
    headers: asCaller,
    makes: ['tokenOfProfile', 'value'],
  },
  {
    what: 'a profile of the upstream',
    method: 'Issue',
    input: byProfile('upstream'),
    headers: asCaller,
    makes: ['upstreamProfileToken', 'value'],
  },
  ...['stale', 'variable', 'command', CANARY].map(
    (name): ContractRow => ({
      what: `the profile ${name === CANARY ? 'of a secret name' : name}`,
      method: 'Issue',
      input: byProfile(name),
      headers: asCaller,
    }),
  ),
  {
    what: 'a profile without a caller',
    method: 'Issue',
    input: byProfile('job'),
    headers: () => ({ authorization: `Basic ${CANARY}` }),
  },
  {
    what: 'a static token by its profile',
    method: 'Issue',
    input: () => ({ profile: 'static', apis: { apis: ['reports'] } }),
    headers: asCaller,
    makes: ['staticToken', 'value'],
  },
  {
    what: 'a revocation of no token',
    method: 'Revoke',
    input: () => ({ value: CANARY }),
    headers: asOperator,
  },
  {
    what: 'a revocation of no id',
    method: 'Revoke',
    input: () => ({ tokenId: CANARY }),
    headers: asOperator,
  },
  { what: 'a revocation by an unknown caller', method: 'Revoke', input: (at) => ({ value: at.revoked }) },
  {
    what: 'a revocation by another user',
    method: 'Revoke',
    input: (at) => ({ value: `${at.token}x` }),
    headers: () => ({ 'x-auth-token': CANARY }),
  },
  { what: 'a plan for a secret', method: 'Plan', input: () => ({ apis: [CANARY] }) },
  {
    what: 'secrets in other metadata',
    method: 'GetMatrix',
    input: () => ({}),
    headers: ({ secrets: { password = '' } }) => ({
      cookie: CANARY,
      [`x-${Buffer.from(CANARY).toString('hex')}`]: 'a',
      'a-bin': Buffer.from(password).toString('base64').replaceAll('=', ''),
      'x-request-id': CANARY,
    }),
  },
  {
    what: 'secrets as those of a sidecar that hands on a call',
    method: 'Revoke',
    input: (at) => ({ value: `${at.token}x` }),
    headers: () => ({
      'x-portcullis-forwarded': `address=${CANARY}&protocol=${CANARY}&connection=${CANARY}&vouched=true`,
      'x-portcullis-forwarder': `Bearer ${CANARY}`,
    }),
  },
  {
    what: 'a refused call with a secret as its id',
    method: 'GetAccount',
    input: () => job,
    headers: () => ({ 'x-request-id': CANARY, authorization: `Bearer ${CANARY}` }),
  },
  {
    what: 'an account for an unknown caller',
    method: 'ListAccounts',
    input: () => ({ pageToken: CANARY }),
    headers: asOperator,
  },
  {
    what: 'a new user',
    method: 'CreateServiceUser',
    input: () => ({ account: ACCOUNT, name: `made-${Math.random()}` }),
    headers: asOperator,
    makes: ['newPassword', 'password'],
  },
  {
    what: 'a new password',
    method: 'ReplaceServiceUserPassword',
    input: () => job,
    headers: asOperator,
    makes: ['replacedPassword', 'password'],
  },
  {
    what: 'a new static token',
    method: 'CreateStaticToken',
    input: () => ({ account: ACCOUNT, userName: 'owner', name: `made-${Math.random()}` }),
    headers: asOperator,
    makes: ['newStaticToken', 'value'],
  },
  {
    what: 'a token of the control panel',
    method: 'ReissueControlPanelUserToken',
    input: () => ({ account: ACCOUNT, name: 'owner' }),
    headers: asOperator,
    makes: ['panelToken', 'token', 'value'],
  },
  {
    what: 'an invitation',
    method: 'CreateInvitation',
    input: () => ({ account: ACCOUNT, userName: 'owner' }),
    headers: asOperator,
    makes: ['newInvitation', 'secret'],
  },
  {
    what: 'sessions',
    method: 'ListSessions',
    input: () => ({ account: ACCOUNT, userName: 'owner' }),
    headers: asOperator,
  },
  {
    what: 'static tokens',
    method: 'ListStaticTokens',
    input: () => ({ account: ACCOUNT, userName: 'owner' }),
    headers: asOperator,
  },
  { what: 'users', method: 'ListServiceUsers', input: () => ({ account: ACCOUNT }), headers: asOperator },
  {
    what: 'the audit trail',
    method: 'ListAuditRecords',
    input: () => ({ account: ACCOUNT, pageSize: 1000 }),
    headers: asOperator,
  },
  {
    what: 'a secret as a range of addresses',
    method: 'SetAddressRestriction',
    input: () => ({ account: ACCOUNT, ranges: [CANARY] }),
    headers: asOperator,
  },
  {
    what: 'an operation by a user',
    method: 'CreateProject',
    input: () => ({ account: ACCOUNT, name: 'a' }),
    headers: (at) => ({ 'x-auth-token': at.token }),
  },
]

/** Every call with its metadata and its trailer. */
async function call(
  transport: Transport,
  { method: name, input, headers, makes }: ContractRow,
  stage: Stage,
): Promise<unknown> {
  const method = methodOf(name)
  const message = fromJson(method.input, JSON.parse(JSON.stringify(input(stage))))
  const answer = await transport.unary(
    method as never,
    undefined,
    30_000,
    (headers ?? asCaller)(stage),
    message as never,
  )
  const json = toJson(method.output, answer.message as never, { alwaysEmitImplicit: true }) as JsonObject
  if (makes !== undefined) {
    const [secret, ...path] = makes
    const value = path.reduce<unknown>((found, key) => (found as JsonObject)[key], json)
    stage.secrets[secret] = secretOf(String(value))
  }
  return { json, header: answer.header, trailer: answer.trailer }
}

export function rowsOver(form: Form): Row[] {
  const transports = new WeakMap<Stage, Transport>()
  return ROWS.map((row) => ({
    what: `${form} ${row.method}: ${row.what}`,
    ask: (stage) => {
      const transport =
        transports.get(stage) ?? transportOf(form, { grpc: stage.running.address, http: stage.http })
      transports.set(stage, transport)
      return settled(call(transport, row, stage))
    },
    ...(row.makes && { rightly: { secrets: [row.makes[0]], because: 'it is made for the caller who asks' } }),
  }))
}
