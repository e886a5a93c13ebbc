/**
 * The requests of clients behind an Envoy: those that pass, and those that depend on the way through Envoy.
 * The table of `test/parity` has every reason.
 */
import { ACCOUNT, OTHER_ACCOUNT } from '../sidecar/sidecar.ts'
import { iam, ofPanel, type People } from './behind-envoy.ts'
import type { HeaderList } from './ext-authz.ts'

/** A request of a client, and what is decided about it. */
export interface Row {
  readonly what: string
  readonly headers?: HeaderList
  /** The API that Envoy's route names; default: `balance`. */
  readonly context?: Readonly<Record<string, string>>
  /** Address that Envoy got the request from. */
  readonly from?: string
  /** Of the answer to the client; `undefined`: the request passes. */
  readonly status: number | undefined
  readonly reason: string
}

const BALANCE = { api: 'balance' }

export const rowsOf = ({ account, project, restricted, staticToken }: People): readonly Row[] => [
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
  { what: 'no credential', status: 401, reason: 'CREDENTIAL_MISSING' },
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
    what: 'a resource of another account',
    headers: [iam(account)],
    context: { ...BALANCE, account: OTHER_ACCOUNT },
    status: 403,
    reason: 'ACCOUNT_MISMATCH',
  },
]
