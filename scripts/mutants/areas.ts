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
const usecases = (...names: readonly string[]) => names.map((name) => `sidecar/usecases/${name}.ts`)
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
  /** What reads the tokens and the headers of others, besides engine/credentials.ts. */
  readers: {
    least: 53,
    parts: [
      {
        files: sidecar('base/request-target'),
        tests: judges('egress/request-target', 'routes/match'),
      },
      { files: sidecar('contract/ext-authz/header-filter'), tests: judges('ext-authz/header-filter') },
      { files: sidecar('proxies/client-address'), tests: judges('proxies/policy') },
      {
        files: sidecar('authority/upstream/token-answer'),
        tests: judges('upstream/names', 'upstream/upstream-verifier'),
      },
      {
        files: sidecar('authority/iam-claims', 'authority/iam-token', 'authority/own-form'),
        tests: judges('sidecar/forged-tokens', 'sidecar/claims', 'sidecar/token-names', 'sidecar/signatures'),
      },
    ],
  },
  /** The use cases on which safety depends. docs/decide/assurance.md names those that are missing. */
  usecases: {
    least: 100,
    parts: [
      {
        files: usecases('callers', 'change-rates', 'answer-basis', 'decision-search'),
        tests: judges(
          ...['usecases/callers', 'usecases/change-rates'],
          ...['usecases/answer-basis', 'usecases/decision-search'],
        ),
      },
      { files: usecases('references', 'scopes', 'roles'), tests: judges('usecases/login-names') },
      { files: usecases('check'), tests: judges('usecases/check') },
      { files: usecases('issue', 'egress'), tests: judges('usecases/issue', 'usecases/egress') },
      {
        files: usecases('revocation-right', 'revoke', 'requester'),
        tests: judges('sidecar/revocation-grounds', 'usecases/requester', 'usecases/revoke'),
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
