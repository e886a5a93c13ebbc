/** What `npm run mutants` changes, and which tests must notice it. */

/** Files with the tests that judge them: the fewest and fastest that should, those first that find most. */
export interface Part {
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

export interface Area {
  /** Percent of its mutants that tests must kill, those that are named in `survivors.ts` not counted. */
  readonly least: number
  readonly parts: readonly Part[]
}

const engine = (...names: readonly string[]) => names.map((name) => `engine/${name}.ts`)
const matrix = (...names: readonly string[]) => names.map((name) => `matrix/${name}.ts`)
const sidecar = (...names: readonly string[]) => names.map((name) => `sidecar/${name}.ts`)
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
    least: 0,
    parts: [
      {
        files: engine('apis', 'conflicts', 'compile', 'reasons', 'large'),
        tests: judges(
          ...['engine/cells', 'engine/compile', 'engine/messages', 'engine/conflicts', 'engine/rule'],
          ...['engine/digest', 'engine/steps', 'engine/laws', 'engine/handles'],
        ),
      },
      { files: engine('digest'), tests: judges('engine/digest') },
    ],
  },
  /** What reads the tokens and the headers of others, besides engine/credentials.ts. */
  readers: {
    least: 100,
    parts: [
      { files: sidecar('base/request-target'), tests: judges('egress/request-target', 'routes/match') },
      {
        files: sidecar(
          ...['contract/ext-authz/header-filter', 'contract/ext-authz/request', 'contract/ext-authz/trace'],
          ...['base/request-id', 'base/trace-context'],
        ),
        tests: judges('ext-authz/header-filter', 'ext-authz/asked', 'sidecar/carried-ids'),
      },
      {
        files: sidecar(
          ...['proxies/client-address', 'proxies/policy', 'proxies/identity-headers'],
          ...['proxies/proxied-request', 'egress/headers'],
        ),
        tests: judges('proxies/policy', 'proxies/identity', 'proxies/proxied-request', 'egress/headers'),
      },
      { files: sidecar('authority/upstream/token-answer'), tests: judges('upstream/token-answer') },
      {
        files: sidecar(
          ...['authority/iam-claims', 'authority/iam-token', 'authority/own-form', 'authority/static-token'],
          ...['authority/token-status', 'authority/verified-token'],
        ),
        tests: judges(
          ...['sidecar/iam-claims', 'sidecar/iam-token', 'sidecar/static-token', 'sidecar/token-status'],
        ),
      },
    ],
  },
  matrix: {
    least: 0,
    parts: [
      { files: matrix('query/parse', 'query/evaluate', 'query/vocabulary'), tests: judges('matrix/query') },
      { files: matrix('derive'), tests: judges('matrix/derive', 'matrix/appended-row') },
      { files: matrix('allowed-flips'), tests: judges('matrix/allowed-flips') },
      { files: matrix('compare', 'renames', 'similar-ids'), tests: judges('matrix/compare') },
      { files: matrix('plan', 'explain'), tests: judges('matrix/plan') },
      {
        files: matrix('lint', 'findings', 'lint-file', 'warnings', 'loose-rows'),
        tests: judges('matrix/lint', 'matrix/findings', 'matrix/lint-file'),
      },
      {
        files: matrix('load', 'document/problems', 'document/schema'),
        tests: judges('matrix/load', 'matrix/broken-matrix', 'matrix/carriage'),
      },
      {
        files: matrix('document/json', 'document/yaml', 'document/form', 'document/places', 'yaml'),
        tests: judges('matrix/broken-json', 'matrix/forms', 'matrix/json-suite', 'matrix/edit'),
      },
      {
        files: matrix('edits', 'edit-file', 'document/edit', 'document/edit-yaml'),
        tests: judges('matrix/edit'),
      },
      {
        files: matrix(
          ...['policy-tests/characterise', 'policy-tests/coverage', 'policy-tests/credential'],
          ...['policy-tests/document', 'policy-tests/problems', 'policy-tests/run'],
        ),
        tests: judges('matrix/policy-tests', 'matrix/policy-tests-coverage'),
      },
    ],
  },
}
