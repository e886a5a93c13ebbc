/** The code that `npm run mutants` changes, and the tests that must notice it. */

/** Files with the tests that judge them: the fewest and fastest that should, those first that find most. */
export interface Part {
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

export interface Area {
  /** Percent of its mutants that tests must kill, those that a comment names not counted. */
  readonly least: number
  readonly parts: readonly Part[]
}

const engine = (...names: readonly string[]) => names.map((name) => `engine/${name}.ts`)
const matrix = (...names: readonly string[]) => names.map((name) => `matrix/${name}.ts`)
const sidecar = (...names: readonly string[]) => names.map((name) => `sidecar/${name}.ts`)
const usecases = (...names: readonly string[]) => names.map((name) => `sidecar/usecases/${name}.ts`)
const panel = (...names: readonly string[]) => usecases(...names.map((name) => `control-panel/${name}`))
const administration = (...names: readonly string[]) =>
  usecases(...names.map((name) => `administration/${name}`))
const judges = (...names: readonly string[]) => names.map((name) => `test/${name}.test.ts`)

export const AREAS: Readonly<Record<string, Area>> = {
  engine: {
    least: 100,
    parts: [
      { files: engine('issuance'), tests: judges('engine/issuance') },
      { files: engine('messages'), tests: judges('engine/messages') },
      { files: engine('denial'), tests: judges('proxies/denial') },
      { files: engine('meant'), tests: judges('engine/messages') },
      { files: engine('cells'), tests: judges('engine/cells-of-both-modes', 'engine/compile') },
      { files: engine('credentials'), tests: judges('engine/credentials', 'engine/messages') },
      {
        files: engine('consistency'),
        tests: judges('engine/compile', 'matrix/carriage', 'matrix/broken-matrix'),
      },
      { files: engine('freeze'), tests: judges('engine/laws', 'engine/compile') },
      {
        files: engine('rule', 'situations', 'decide', 'table'),
        tests: judges(
          ...['engine/cells', 'engine/precedence', 'engine/scopes', 'engine/messages', 'engine/conflicts'],
          ...['engine/handles', 'engine/rule', 'engine/steps', 'engine/laws', 'engine/hostile'],
        ),
      },
    ],
  },
  /** The other files of the engine: what it takes to come from a matrix to the table. */
  compile: {
    least: 100,
    parts: [
      {
        files: engine('apis', 'conflicts', 'compile', 'reasons', 'large'),
        tests: judges(
          ...['engine/conflicts', 'engine/compile', 'engine/cells', 'engine/messages', 'engine/credentials'],
          ...['engine/handles', 'engine/steps', 'engine/laws', 'engine/rule', 'engine/digest'],
        ),
      },
      { files: engine('digest'), tests: judges('engine/digest') },
    ],
  },
  /** The readers of the tokens and the headers of others, besides engine/credentials.ts. */
  readers: {
    least: 100,
    parts: [
      { files: sidecar('base/request-target'), tests: judges('egress/request-target', 'routes/match') },
      {
        files: sidecar(
          ...[
            'contract/ext-authz/header-filter',
            'contract/ext-authz/request',
            'contract/ext-authz/request-trace',
          ],
          ...['base/request-id', 'base/trace-context'],
        ),
        tests: judges('ext-authz/header-filter', 'ext-authz/asked', 'base/carried-ids'),
      },
      {
        files: sidecar(
          ...['proxies/client-address', 'proxies/policy', 'proxies/identity-headers'],
          ...['proxies/proxied-request', 'egress/headers'],
        ),
        tests: judges('proxies/policy', 'proxies/identity', 'proxies/proxied-request', 'egress/headers'),
      },
      {
        files: sidecar('base/ip-address', 'base/forwarded-header'),
        tests: judges('base/ip-address', 'hub/forwarded-header'),
      },
      {
        files: sidecar('authority/upstream/token-answer', 'authority/kind-of-scope'),
        tests: judges('upstream/token-answer', 'usecases/issue'),
      },
      {
        files: sidecar(
          ...['authority/iam-claims', 'authority/iam-token', 'authority/own-form', 'authority/static-token'],
          ...['authority/token-status', 'authority/verified-token'],
        ),
        tests: judges(
          ...[
            'authority/iam-claims',
            'authority/iam-token',
            'authority/static-token',
            'authority/token-status',
          ],
        ),
      },
    ],
  },
  /** The rights of callers: checks, issuing and revocations. */
  usecases: {
    least: 100,
    parts: [
      {
        files: usecases('callers', 'change-rates', 'answer-basis'),
        tests: judges(...['usecases/callers', 'usecases/change-rates'], ...['usecases/answer-basis']),
      },
      { files: usecases('references', 'scopes-of-user', 'roles'), tests: judges('usecases/login-names') },
      { files: usecases('check'), tests: judges('usecases/check') },
      { files: usecases('issue', 'egress'), tests: judges('usecases/issue', 'usecases/egress') },
      {
        files: usecases('revocation-right', 'revoke', 'requester'),
        tests: judges('usecases/revocation-grounds', 'usecases/requester', 'usecases/revoke'),
      },
    ],
  },
  /** The control panel, who is let in first, and what is kept of the audit trail. */
  'control-panel': {
    least: 100,
    parts: [
      {
        files: panel('tail', 'operator'),
        tests: judges('control-panel/tail', 'control-panel/operator'),
      },
      { files: panel('search'), tests: judges('usecases/panel-search') },
      { files: usecases('intake'), tests: judges('control-panel/intake') },
      {
        files: usecases('retention'),
        tests: judges('usecases/retention'),
      },
      { files: usecases('timed'), tests: judges('usecases/timed') },
      {
        files: panel('log-in', 'confirm-session', 'session', 'panel-call', 'factors', 'second-factors'),
        tests: judges(
          ...['usecases/panel-log-in', 'usecases/panel-confirm', 'control-panel/second-factors'],
          ...['usecases/panel-session', 'usecases/panel-factors', 'control-panel/passkey-logins'],
          'control-panel/waiting-changes',
        ),
      },
    ],
  },
  /** The rights of administrators, and every operation of administration. */
  administration: {
    least: 100,
    parts: [
      { files: administration('authorize'), tests: judges('usecases/authorize') },
      { files: administration('paging'), tests: judges('usecases/paging') },
      {
        files: administration('operation', 'administer'),
        tests: judges(
          ...['usecases/administer', 'administration/operations'],
          ...['usecases/account-operations', 'usecases/user-operations'],
        ),
      },
      {
        files: administration('tokens', 'users'),
        tests: judges('usecases/user-operations', 'administration/operations'),
      },
      {
        files: administration('accounts'),
        tests: judges('usecases/account-operations', 'administration/operations'),
      },
      {
        files: administration('sessions'),
        tests: judges('usecases/session-operations', 'administration/operations'),
      },
      {
        files: administration('matrix'),
        tests: judges('usecases/matrix-operations', 'administration/operations'),
      },
      {
        files: administration('audit'),
        tests: judges('usecases/audit-trail', 'administration/operations'),
      },
    ],
  },
  /** The identity endpoint, the questions of proxies, and the comparison with a shadow matrix. */
  identity: {
    least: 100,
    parts: [
      {
        files: usecases('identity/identity-log-in', 'identity/subject-token'),
        tests: judges(
          ...['usecases/identity', 'identity/login', 'identity/tokens', 'identity/compatibility'],
          ...['identity/application-credentials', 'identity/validators', 'identity/addresses'],
          'identity/application-credential-tokens',
        ),
      },
      {
        files: usecases('identity/authenticate', 'identity/identity-token'),
        tests: judges('usecases/identity', 'identity/compatibility'),
      },
      {
        files: usecases('identity/own-application-credentials'),
        tests: judges(
          ...['usecases/application-credentials', 'identity/application-credentials'],
          'identity/application-credential-tokens',
        ),
      },
      { files: usecases('shadow-pair'), tests: judges('usecases/shadow-pair') },
      {
        files: usecases('compared-shadow'),
        tests: judges('usecases/compared-shadow', 'usecases/shadow-listener'),
      },
      { files: usecases('decide-proxied'), tests: judges('usecases/proxied-request') },
      {
        files: usecases('credential-search', 'plan', 'profiles', 'describe-tokens'),
        tests: judges('usecases/lookups', 'usecases/search'),
      },
      { files: usecases('capabilities'), tests: judges('health/one-matrix') },
    ],
  },
  /** The lines of the log, metrics and spans. */
  records: {
    least: 100,
    parts: [
      { files: usecases('trace'), tests: judges('usecases/trace') },
      { files: usecases('login-trace'), tests: judges('usecases/login-trace') },
      { files: usecases('call-tracing'), tests: judges('usecases/tracing') },
      { files: usecases('decision-meters'), tests: judges('usecases/meters') },
    ],
  },
  matrix: {
    least: 100,
    parts: [
      {
        files: matrix('query/parse', 'query/evaluate', 'query/vocabulary', 'query/index'),
        tests: judges('matrix/query'),
      },
      { files: matrix('derive'), tests: judges('matrix/derive', 'matrix/lint', 'matrix/appended-row') },
      { files: matrix('allowed-flips', 'flip-sides'), tests: judges('matrix/allowed-flips') },
      { files: matrix('kind-flips'), tests: judges('matrix/judged-fields', 'matrix/allowed-flips') },
      { files: matrix('compare', 'renames'), tests: judges('matrix/renames', 'matrix/compare') },
      { files: matrix('new-matrix'), tests: judges('matrix/new-matrix') },
      {
        files: matrix('lint', 'findings', 'lint-file', 'warnings', 'loose-rows'),
        tests: judges('matrix/lint', 'matrix/lint-file', 'matrix/findings', 'matrix/appended-row'),
      },
      { files: matrix('similar-ids'), tests: judges('matrix/findings') },
      { files: matrix('document/problems'), tests: judges('matrix/problems') },
      {
        files: matrix('load'),
        tests: judges(
          ...['matrix/lint-file', 'matrix/carriage', 'matrix/findings', 'matrix/broken-matrix'],
          'matrix/load',
        ),
      },
      {
        files: matrix('document/edit', 'document/edit-yaml'),
        tests: judges('matrix/edit-json', 'matrix/edit-yaml', 'matrix/edit-layouts'),
      },
      {
        files: matrix('document/json', 'document/form', 'document/places'),
        tests: judges('matrix/json', 'matrix/json-suite'),
      },
      { files: matrix('edits'), tests: judges('matrix/edits') },
      {
        files: matrix(
          ...['policy-tests/run', 'policy-tests/credential'],
          ...['policy-tests/document', 'policy-tests/problems'],
        ),
        tests: judges('matrix/policy-tests', 'matrix/policy-tests-problems'),
      },
      { files: matrix('policy-tests/coverage'), tests: judges('matrix/policy-tests-coverage') },
      { files: matrix('policy-tests/characterise'), tests: judges('matrix/characterise') },
      { files: matrix('plan', 'explain'), tests: judges('matrix/explain', 'matrix/plan') },
      { files: matrix('document/yaml'), tests: judges('matrix/yaml', 'matrix/forms') },
      { files: matrix('edit-file'), tests: judges('matrix/edit') },
    ],
  },
}
