/**
 * The questions that every protocol is asked. The reasons of the 90 cells come from the table as the source
 * prints it. Those of all other rows are written down here. No reason comes from the code under test.
 */
import type { CredentialReason, Reason, Scope } from '../../engine/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { cells, type PrintedCell, scopeFor } from '../support/matrices/oracle.ts'
import { ACCOUNT, OTHER_ACCOUNT } from '../support/sidecar/sidecar.ts'
import type { People } from './people.ts'

export type Header = readonly [name: string, value: string]

/** The facts of a token that an authority verifies, or did once. */
interface Known {
  readonly kind: string
  readonly scope: Scope
  readonly holder: string
}

export interface Question {
  readonly what: string
  readonly api: string
  /** The headers of the request as they arrived; or claims that the caller trusts. */
  readonly subject:
    | { readonly headers: readonly Header[] }
    | { readonly claims: { readonly kind: string; readonly scope: Scope } }
  readonly target?: Scope
  readonly clientAddress?: string
  /** The fault of the credential. Then `known` says whose it was, if it had an owner. */
  readonly fault?: CredentialReason
  readonly known?: Known
  readonly reason: Reason
}

const INSIDE = '203.0.113.7'
const OUTSIDE = '198.51.100.7'

const OWN: Scope = { account: ACCOUNT }
const ALPHA: Scope = { account: ACCOUNT, project: 'alpha' }
const BETA: Scope = { account: ACCOUNT, project: 'beta' }
const OTHER: Scope = { account: OTHER_ACCOUNT }
const OTHER_ALPHA: Scope = { account: OTHER_ACCOUNT, project: 'alpha' }

/** The conflicts of §5.4 that bear on a cell: strict mode denies it. */
const CONTESTED: ReadonlySet<string> = new Set([
  'audit-logs iam_token_account_scoped',
  'cdn iam_token_project_scoped',
  'mobile-farm iam_token_project_scoped',
])

/** The facts of a genuine token of each kind. */
const GENUINE: Readonly<Record<string, Known>> = {
  [ACCOUNT_KIND]: { kind: ACCOUNT_KIND, scope: scopeFor(ACCOUNT_KIND), holder: 'service_user' },
  [PROJECT_KIND]: { kind: PROJECT_KIND, scope: scopeFor(PROJECT_KIND), holder: 'service_user' },
  [STATIC_KIND]: { kind: STATIC_KIND, scope: scopeFor(STATIC_KIND), holder: 'control_panel_user' },
}

/** Every cell, with a genuine token in its header. */
export function cellQuestions(people: People, strict: boolean): readonly Question[] {
  return cells().map((cell) => ({
    what: `a genuine ${cell.kind} for ${cell.api}`,
    api: cell.api,
    subject: { headers: [[cell.header, people.genuine[cell.kind] ?? '']] },
    known: GENUINE[cell.kind] as Known,
    reason: printedReason(cell, strict),
  }))
}

function printedReason({ api, kind, accepted }: PrintedCell, strict: boolean): Reason {
  if (!accepted) return 'TOKEN_KIND_NOT_ACCEPTED'
  return strict && CONTESTED.has(`${api} ${kind}`) ? 'CONTESTED' : 'ALLOWED'
}

type Row = readonly [
  what: string,
  reason: Reason,
  api: string,
  headers: readonly Header[],
  more?: Pick<Question, 'target' | 'clientAddress' | 'known' | 'fault'>,
]

/** Everything but the cells. They have the same answer in both modes, but for the name of the rules. */
export function otherQuestions(people: People): readonly Question[] {
  const rows = [...faults(people), ...headerNames(people), ...targets(people), ...addresses(people)]
  return [
    ...rows.map(([what, reason, api, headers, more]): Question => {
      const fault = isFault(reason) ? { fault: reason } : {}
      return { what, reason, api, subject: { headers }, ...fault, ...more }
    }),
    ...claimQuestions(),
  ]
}

const FAULTS = [
  ...['CREDENTIAL_MISSING', 'CREDENTIAL_AMBIGUOUS', 'CREDENTIAL_MALFORMED', 'WRONG_HEADER'],
  ...['CREDENTIAL_INVALID', 'CREDENTIAL_EXPIRED', 'CREDENTIAL_REVOKED', 'ADDRESS_NOT_ALLOWED'],
]

function isFault(reason: Reason): reason is CredentialReason {
  return FAULTS.includes(reason)
}

/** With a wrong checksum. */
const mistyped = (value: string) => `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`
const iam = (value: string): Header => ['X-Auth-Token', value]
const ofPanel = (value: string): Header => ['X-Token', value]
const known = (kind: string, more: Partial<Known> = {}) => ({
  known: { ...(GENUINE[kind] as Known), ...more },
})
const ofAccount = known(ACCOUNT_KIND)
const ofProject = known(PROJECT_KIND)
const ofStatic = known(STATIC_KIND)

/** Faults of a credential, and of the API. */
function faults({ genuine, expired, revoked, revokedProject, panel }: People): readonly Row[] {
  const { account, project, fixed } = tokensOf(genuine)
  return [
    ['no header at all', 'CREDENTIAL_MISSING', 'balance', []],
    ['headers without a credential', 'CREDENTIAL_MISSING', 'balance', [['Authorization', account]]],
    ['an empty header', 'CREDENTIAL_MISSING', 'cdn', [iam('')]],
    ['an empty header beside a good one', 'CREDENTIAL_MISSING', 'balance', [iam(''), ofPanel(fixed)]],
    ['both headers', 'CREDENTIAL_AMBIGUOUS', 'balance', [iam(account), ofPanel(fixed)]],
    ['the same header twice', 'CREDENTIAL_AMBIGUOUS', 'balance', [iam(account), iam(account)]],
    ['a header twice, first empty', 'CREDENTIAL_AMBIGUOUS', 'balance', [iam(''), iam(account)]],
    ['a header twice, empty both times', 'CREDENTIAL_AMBIGUOUS', 'balance', [iam(''), iam('')]],
    ['two tokens in two spellings', 'CREDENTIAL_AMBIGUOUS', 'cdn', [iam(account), ['x-auth-token', project]]],
    ['two tokens joined by a comma', 'CREDENTIAL_AMBIGUOUS', 'balance', [iam(`${account}, ${account}`)]],
    ['a comma behind the token', 'CREDENTIAL_AMBIGUOUS', 'balance', [ofPanel(`${fixed},`)]],
    ['a blank inside', 'CREDENTIAL_MALFORMED', 'balance', [iam(`${account} x`)]],
    ['a letter beyond ASCII', 'CREDENTIAL_MALFORMED', 'tickets', [ofPanel(`${fixed}é`)]],
    [
      '10,000 characters that are not a token',
      'CREDENTIAL_INVALID',
      'balance',
      [iam(`eyJ${'a'.repeat(9_997)}`)],
    ],
    ['an IAM token in X-Token', 'WRONG_HEADER', 'balance', [ofPanel(account)]],
    ['a project token in X-Token', 'WRONG_HEADER', 'cdn', [ofPanel(project)]],
    ['a static token in X-Auth-Token', 'WRONG_HEADER', 'balance', [iam(fixed)]],
    ['an unknown token', 'CREDENTIAL_INVALID', 'balance', [iam('eyJ.eyJ.x')]],
    ['a forged signature', 'CREDENTIAL_INVALID', 'balance', [iam(`${account.slice(0, -8)}AAAAAAAA`)]],
    ['a word in X-Token', 'CREDENTIAL_INVALID', 'reports', [ofPanel('gibberish')]],
    ['a static token with a wrong end', 'CREDENTIAL_INVALID', 'balance', [ofPanel(mistyped(fixed))]],
    ['the same in X-Auth-Token', 'WRONG_HEADER', 'balance', [iam(mistyped(fixed))]],
    ['a revoked token in X-Token', 'WRONG_HEADER', 'balance', [ofPanel(revoked)]],
    ['an expired token', 'CREDENTIAL_EXPIRED', 'balance', [iam(expired)], ofAccount],
    ['an expired token that is not accepted', 'CREDENTIAL_EXPIRED', 'reports', [iam(expired)], ofAccount],
    ['a revoked token', 'CREDENTIAL_REVOKED', 'balance', [iam(revoked)], ofAccount],
    ['a revoked token that is not accepted', 'CREDENTIAL_REVOKED', 'reports', [iam(revoked)], ofAccount],
    ['a revoked token of a project', 'CREDENTIAL_REVOKED', 'cdn', [iam(revokedProject)], ofProject],
    ['an unknown API', 'UNKNOWN_API', 'nosuch', [iam(account)], ofAccount],
    ['an unknown API without a credential', 'UNKNOWN_API', 'nosuch', [], { fault: 'CREDENTIAL_MISSING' }],
    ['an API in capitals', 'UNKNOWN_API', 'BALANCE', [ofPanel(fixed)], ofStatic],
    ['a name that every object has', 'UNKNOWN_API', 'constructor', [ofPanel(fixed)], ofStatic],
    ['an API with a blank, a slash and a letter', 'UNKNOWN_API', 'a b/../é', [ofPanel(fixed)], ofStatic],
    [
      'a token of a control panel user, for testing',
      'ALLOWED',
      'iam',
      [iam(panel)],
      known(ACCOUNT_KIND, { holder: 'control_panel_user' }),
    ],
    [
      'a token of a control panel user that is not accepted',
      'TOKEN_KIND_NOT_ACCEPTED',
      'tickets',
      [iam(panel)],
      known(ACCOUNT_KIND, { holder: 'control_panel_user' }),
    ],
  ]
}

/** The names of headers in every case, and what surrounds a credential. */
function headerNames({ genuine }: People): readonly Row[] {
  const { account, project, fixed } = tokensOf(genuine)
  return [
    ...['X-Auth-Token', 'x-auth-token', 'X-AUTH-TOKEN', 'x-AUTH-tOKEN'].map(
      (name): Row => [`an IAM token in ${name}`, 'ALLOWED', 'balance', [[name, account]], ofAccount],
    ),
    ...['X-Token', 'x-token', 'X-TOKEN'].map(
      (name): Row => [`a static token in ${name}`, 'ALLOWED', 'tickets', [[name, fixed]], ofStatic],
    ),
    ['blanks around a token', 'ALLOWED', 'cloud-quotas', [iam(` \t${project} `)], ofProject],
    [
      'other headers around a credential',
      'ALLOWED',
      'balance',
      [['Accept', '*/*'], ['X-Request-Id', '1'], iam(account), ['X-Portcullis-Kind', 'static_token']],
      ofAccount,
    ],
    ['a name with underscores', 'CREDENTIAL_MISSING', 'balance', [['X_Auth_Token', account]]],
    [
      'a name with underscores beside a good one',
      'ALLOWED',
      'balance',
      [
        ['X_Auth_Token', account],
        ['X-Token', fixed],
      ],
      ofStatic,
    ],
    ['a longer name', 'CREDENTIAL_MISSING', 'balance', [['X-Auth-Token-2', account]]],
  ]
}

/** The owner of the resource: the reasons of the rule, in its order. */
function targets({ genuine }: People): readonly Row[] {
  const { account, project, fixed } = tokensOf(genuine)
  return [
    ['its own account', 'ALLOWED', 'balance', [iam(account)], { ...ofAccount, target: OWN }],
    ['a project of its account', 'ALLOWED', 'iam', [iam(account)], { ...ofAccount, target: BETA }],
    ['another account', 'ACCOUNT_MISMATCH', 'balance', [iam(account)], { ...ofAccount, target: OTHER }],
    [
      'a project of another account',
      'ACCOUNT_MISMATCH',
      'iam',
      [iam(account)],
      { ...ofAccount, target: OTHER_ALPHA },
    ],
    ['its own project', 'ALLOWED', 'secrets', [iam(project)], { ...ofProject, target: ALPHA }],
    ['another project', 'PROJECT_MISMATCH', 'secrets', [iam(project)], { ...ofProject, target: BETA }],
    ['no project', 'PROJECT_MISMATCH', 'secrets', [iam(project)], { ...ofProject, target: OWN }],
    [
      'a project of the same name in another account',
      'ACCOUNT_MISMATCH',
      'secrets',
      [iam(project)],
      { ...ofProject, target: OTHER_ALPHA },
    ],
    ['the account of a static token', 'ALLOWED', 'reports', [ofPanel(fixed)], { ...ofStatic, target: OWN }],
    ['a project and a static token', 'ALLOWED', 'tickets', [ofPanel(fixed)], { ...ofStatic, target: BETA }],
    [
      'another account and a static token',
      'ACCOUNT_MISMATCH',
      'tickets',
      [ofPanel(fixed)],
      { ...ofStatic, target: OTHER },
    ],
    [
      'another account and a kind that is not accepted',
      'TOKEN_KIND_NOT_ACCEPTED',
      'reports',
      [iam(account)],
      { ...ofAccount, target: OTHER },
    ],
    ['a target without a credential', 'CREDENTIAL_MISSING', 'secrets', [], { target: ALPHA }],
  ]
}

/** Where the client is, for an account that lets in `INSIDE` alone. */
function addresses({ restricted }: People): readonly Row[] {
  const from = (clientAddress: string | undefined) => ({
    ...known(ACCOUNT_KIND, { scope: { account: 'restricted' } }),
    ...(clientAddress !== undefined && { clientAddress }),
  })
  return [
    ['an address that is allowed', 'ALLOWED', 'balance', [iam(restricted)], from(INSIDE)],
    ['the same, as IPv6 has it', 'ALLOWED', 'balance', [iam(restricted)], from(`::ffff:${INSIDE}`)],
    ['an address that is not', 'ADDRESS_NOT_ALLOWED', 'balance', [iam(restricted)], from(OUTSIDE)],
    ['one of the machine itself', 'ADDRESS_NOT_ALLOWED', 'reports', [iam(restricted)], from('127.0.0.1')],
    ['one of IPv6', 'ADDRESS_NOT_ALLOWED', 'balance', [iam(restricted)], from('2001:db8::10')],
    ['an unknown place', 'ADDRESS_NOT_ALLOWED', 'balance', [iam(restricted)], from(undefined)],
  ]
}

function claimQuestions(): readonly Question[] {
  const rows: readonly (readonly [
    what: string,
    reason: Reason,
    api: string,
    kind: string,
    Scope,
    target?: Scope,
  ])[] = [
    ['a claim that is accepted', 'ALLOWED', 'balance', ACCOUNT_KIND, OWN],
    ['a claim that is not', 'TOKEN_KIND_NOT_ACCEPTED', 'cdn', STATIC_KIND, OWN],
    ['a claim of an unknown kind', 'UNKNOWN_TOKEN_KIND', 'balance', 'password', OWN],
    ['a claim of a project without one', 'INVALID_SCOPE', 'cdn', PROJECT_KIND, OWN],
    ['a claim of an account with a project', 'INVALID_SCOPE', 'balance', ACCOUNT_KIND, ALPHA],
    ['a claim about an unknown API', 'UNKNOWN_API', 'nosuch', ACCOUNT_KIND, OWN],
    ['a claim and its account', 'ALLOWED', 'reports', STATIC_KIND, OWN, OWN],
    ['a claim and another account', 'ACCOUNT_MISMATCH', 'reports', STATIC_KIND, OWN, OTHER],
    ['a claim and another project', 'PROJECT_MISMATCH', 'secrets', PROJECT_KIND, ALPHA, BETA],
  ]
  return rows.map(([what, reason, api, kind, scope, target]) => ({
    ...{ what, reason, api, subject: { claims: { kind, scope } } },
    ...(target !== undefined && { target }),
  }))
}

function tokensOf(genuine: People['genuine']) {
  const { [ACCOUNT_KIND]: account = '', [PROJECT_KIND]: project = '', [STATIC_KIND]: fixed = '' } = genuine
  return { account, project, fixed }
}
