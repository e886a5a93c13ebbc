/**
 * The oracle of the 90 cells: the table of §5.4 as the source prints it, read by a parser of a few lines.
 * It shares nothing with `matrix/support-matrix.json`, so that a slip in either one shows.
 */

/** §5.4 of the source, verbatim. */
const PRINTED_TABLE = `
| API | Account-scoped IAM token | Project-scoped IAM token | Static token |
|---|---|---|---|
| IAM (users and roles) | ✓ | ✗ | ✗ |
| Federations | ✓ | ✗ | ✗ |
| Balance | ✓ | ✗ | ✓ |
| Statistics | ✓ | ✗ | ✓ |
| Reports | ✗ | ✗ | ✓ |
| Transactions | ✗ | ✗ | ✓ |
| Dedicated servers | ✓ | ✓ | ✗ |
| Cloud platform projects and resources | ✓ | ✓ | ✗ |
| Project quotas and limits | ✓ | ✓ | ✗ |
| Direct public IP addresses of cloud servers | ✗ | ✓ | ✗ |
| Private DNS | ✗ | ✓ | ✗ |
| Managed databases | ✗ | ✓ | ✗ |
| Managed Kubernetes | ✗ | ✓ | ✗ |
| Container registry | ✗ | ✓ | ✗ |
| Secrets | ✗ | ✓ | ✗ |
| Certificates | ✗ | ✓ | ✗ |
| Automated-issuance certificates | ✗ | ✓ | ✗ |
| Object storage, swift-style API | ✗ | ✓ | ✗ |
| Object storage API | ✗ | ✓ | ✗ |
| Global router | ✓ | ✗ | ✗ |
| CDN | ✗ | ✓ | ✗ |
| DNS hosting (actual) | ✗ | ✓ | ✗ |
| DNS hosting (legacy) | ✓ | ✗ | ✓ |
| Email service | ✗ | ✓ | ✗ |
| IP address management | ✗ | ✗ | ✓ |
| Audit logs | ✓ | ✗ | ✗ |
| Business-application cloud (1C) | ✗ | ✓ | ✗ |
| Mobile farm | ✓ | ✓ | ✗ |
| Tickets | ✗ | ✗ | ✓ |
| Attachments | ✗ | ✗ | ✓ |
`

/** Printed title → api id (DESIGN §4). */
const API_IDS: ReadonlyMap<string, string> = new Map([
  ['IAM (users and roles)', 'iam'],
  ['Federations', 'federations'],
  ['Balance', 'balance'],
  ['Statistics', 'statistics'],
  ['Reports', 'reports'],
  ['Transactions', 'transactions'],
  ['Dedicated servers', 'dedicated-servers'],
  ['Cloud platform projects and resources', 'cloud-projects'],
  ['Project quotas and limits', 'cloud-quotas'],
  ['Direct public IP addresses of cloud servers', 'direct-public-ips'],
  ['Private DNS', 'private-dns'],
  ['Managed databases', 'managed-databases'],
  ['Managed Kubernetes', 'managed-kubernetes'],
  ['Container registry', 'container-registry'],
  ['Secrets', 'secrets'],
  ['Certificates', 'certificates'],
  ['Automated-issuance certificates', 'automated-certificates'],
  ['Object storage, swift-style API', 'object-storage-swift'],
  ['Object storage API', 'object-storage'],
  ['Global router', 'global-router'],
  ['CDN', 'cdn'],
  ['DNS hosting (actual)', 'dns-hosting'],
  ['DNS hosting (legacy)', 'dns-hosting-legacy'],
  ['Email service', 'email'],
  ['IP address management', 'ip-address-management'],
  ['Audit logs', 'audit-logs'],
  ['Business-application cloud (1C)', 'business-cloud-1c'],
  ['Mobile farm', 'mobile-farm'],
  ['Tickets', 'tickets'],
  ['Attachments', 'attachments'],
])

/** Column heading → the identifier of §1, with the header of §5.2 that carries it. */
const KINDS: ReadonlyMap<string, { id: string; header: string; bound: 'account' | 'project' }> = new Map([
  ['Account-scoped IAM token', { id: 'iam_token_account_scoped', header: 'X-Auth-Token', bound: 'account' }],
  ['Project-scoped IAM token', { id: 'iam_token_project_scoped', header: 'X-Auth-Token', bound: 'project' }],
  ['Static token', { id: 'static_token', header: 'X-Token', bound: 'account' }],
])

/** One cell of the table. */
export interface PrintedCell {
  readonly api: string
  /** As the source prints it. */
  readonly title: string
  readonly kind: string
  readonly header: string
  readonly accepted: boolean
}

/** All cells, row by row as the source prints them. */
export function cells(): readonly PrintedCell[] {
  const [heading, , ...rows] = PRINTED_TABLE.trim().split('\n').map(columnsOf)
  const kinds = (heading ?? []).slice(1).map((title) => found(KINDS, title))
  return rows.flatMap(([title = '', ...marks]) =>
    kinds.map(({ id, header }, column) => ({
      api: found(API_IDS, title),
      title,
      kind: id,
      header,
      accepted: acceptedBy(marks[column]),
    })),
  )
}

/** Ids of the APIs, in the order of the source. */
export const printedApis = (): readonly string[] => [...new Set(cells().map((cell) => cell.api))]

/** Ids of the token kinds, in the order of the source. */
export const printedKinds = (): readonly string[] => [...new Set(cells().map((cell) => cell.kind))]

/** A scope that fits a kind: what such a token is bound to (§1). */
export function scopeFor(kind: string): { readonly account: string; readonly project?: string } {
  const bound = [...KINDS.values()].find((each) => each.id === kind)?.bound
  return bound === 'project' ? { account: '123456', project: 'alpha' } : { account: '123456' }
}

function columnsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((column) => column.trim())
}

function acceptedBy(mark: string | undefined): boolean {
  if (mark === '✓') return true
  if (mark === '✗') return false
  throw new Error(`a cell is marked ${mark}, which is neither ✓ nor ✗`)
}

function found<T>(map: ReadonlyMap<string, T>, title: string): T {
  const value = map.get(title)
  if (value === undefined) throw new Error(`the oracle knows no \`${title}\``)
  return value
}
