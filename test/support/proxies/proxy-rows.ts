/** What clients behind an Envoy ask for, one row for each way in which it ends. */
import { ACCOUNT, OTHER_ACCOUNT } from '../sidecar/sidecar.ts'
import { iam, ofPanel, type People } from './behind-envoy.ts'
import type { HeaderList } from './ext-authz.ts'

/** A request of a client, and what is decided about it. */
export interface Row {
  readonly what: string
  readonly headers?: HeaderList
  /** What Envoy's route says; default: `balance`. */
  readonly context?: Readonly<Record<string, string>>
  /** Address that Envoy got the request from. */
  readonly from?: string
  /** Of the answer to the client; `undefined`: the request passes. */
  readonly status: number | undefined
  readonly reason: string
}

const BALANCE = { api: 'balance' }

export const rowsOf = ({ account, project, revoked, restricted, staticToken }: People): readonly Row[] => [
  { what: 'an account-scoped token', headers: [iam(account)], status: undefined, reason: 'ALLOWED' },
  {
    what: 'a project-scoped token for its project',
    headers: [iam(project)],
    context: { api: 'cdn', account: ACCOUNT, project: 'alpha' },
    status: undefined,
    reason: 'ALLOWED',
  },
  {
    what: 'a static token, for its account',
    headers: [ofPanel(staticToken)],
    context: { api: 'reports', account: ACCOUNT },
    status: undefined,
    reason: 'ALLOWED',
  },
  {
    what: 'an API that is not there',
    headers: [iam(account)],
    context: { api: 'nosuch' },
    status: 403,
    reason: 'UNKNOWN_API',
  },
  { what: 'no credential', status: 401, reason: 'CREDENTIAL_MISSING' },
  { what: 'an empty credential', headers: [iam('')], status: 401, reason: 'CREDENTIAL_MISSING' },
  {
    what: 'the same credential twice',
    headers: [iam(account), iam(account)],
    status: 401,
    reason: 'CREDENTIAL_AMBIGUOUS',
  },
  {
    what: 'a credential that the client joined by a comma',
    headers: [iam(`${account},x`)],
    status: 401,
    reason: 'CREDENTIAL_AMBIGUOUS',
  },
  {
    what: 'credentials in both headers',
    headers: [iam(account), ofPanel(staticToken)],
    status: 401,
    reason: 'CREDENTIAL_AMBIGUOUS',
  },
  {
    what: 'a credential with letters that are not ASCII',
    headers: [iam('tökén')],
    status: 401,
    reason: 'CREDENTIAL_MALFORMED',
  },
  {
    what: 'a token in the wrong header',
    headers: [ofPanel(account)],
    status: 401,
    reason: 'WRONG_HEADER',
  },
  { what: 'an unknown token', headers: [iam('eyJ.eyJ.x')], status: 401, reason: 'CREDENTIAL_INVALID' },
  { what: 'a revoked token', headers: [iam(revoked)], status: 401, reason: 'CREDENTIAL_REVOKED' },
  {
    what: 'a client outside the addresses of the account',
    headers: [iam(restricted)],
    from: '198.51.100.1',
    status: 403,
    reason: 'ADDRESS_NOT_ALLOWED',
  },
  {
    what: 'a client whose address Envoy does not know',
    headers: [iam(restricted)],
    from: '/run/client.sock',
    status: 403,
    reason: 'ADDRESS_NOT_ALLOWED',
  },
  {
    what: 'a client that claims an address of the account',
    headers: [iam(restricted), ['x-forwarded-for', '203.0.113.1']],
    from: '198.51.100.1',
    status: 403,
    reason: 'ADDRESS_NOT_ALLOWED',
  },
  {
    what: 'a client inside the addresses of the account',
    headers: [iam(restricted)],
    from: '203.0.113.1',
    status: undefined,
    reason: 'ALLOWED',
  },
  {
    what: 'a client inside, behind two proxies of the operator',
    headers: [
      iam(restricted),
      ['x-forwarded-for', '198.51.100.1, 203.0.113.1'],
      ['x-forwarded-for', '10.0.0.1'],
    ],
    context: { ...BALANCE, trusted_hops: '2' },
    from: '10.0.0.2',
    status: undefined,
    reason: 'ALLOWED',
  },
  {
    what: 'a kind that the API does not accept',
    headers: [ofPanel(staticToken)],
    context: { api: 'cloud-projects' },
    status: 403,
    reason: 'TOKEN_KIND_NOT_ACCEPTED',
  },
  {
    what: 'a resource of another account',
    headers: [iam(account)],
    context: { ...BALANCE, account: OTHER_ACCOUNT },
    status: 403,
    reason: 'ACCOUNT_MISMATCH',
  },
  {
    what: 'a resource of another project',
    headers: [iam(project)],
    context: { api: 'cdn', account: ACCOUNT, project: 'beta' },
    status: 403,
    reason: 'PROJECT_MISMATCH',
  },
]
