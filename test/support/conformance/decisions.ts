/** The answers of each of the rules to each question, as the engine decides it. */
import { CREDENTIAL_REASONS, type Engine, type Scope } from '../../../engine/index.ts'
import { ENGINES } from './rules.ts'

const SCOPES: readonly Scope[] = [
  { account: '' },
  { account: '', project: 'p' },
  { account: '1' },
  { account: '1', project: 'p' },
]
const TARGETS: readonly (Scope | undefined)[] = [
  undefined,
  ...[{ account: '1' }, { account: '1', project: 'p' }, { account: '1', project: 'q' }],
  ...[{ account: '2' }, { account: '2', project: 'p' }, { account: '' }, { account: '', project: 'p' }],
]
const CLAIMS = SCOPES.flatMap((scope) => TARGETS.map((target) => ({ scope, target })))
const QUESTIONS = [...CLAIMS, ...CREDENTIAL_REASONS.map((fault) => ({ fault }))]

export function* decisions(): Generator<object> {
  yield { questions: QUESTIONS }
  for (const [rules, engine] of Object.entries(ENGINES)) {
    const apis = [...engine.apis.keys(), 'no-such-api', '']
    for (const kind of [...engine.tokenKinds.keys(), 'no_such_kind', ''])
      yield* column(rules, engine, kind, apis)
    for (const api of apis) yield { rules, api, accepted: engine.apis.get(api)?.accepted ?? [] }
  }
}

/** APIs with the same answers share a line. */
function* column(rules: string, engine: Engine, kind: string, apis: readonly string[]): Generator<object> {
  const groups = Map.groupBy(apis, (api) => JSON.stringify(reasonsOf(engine, api, kind)))
  for (const [reasons, group] of groups) yield { rules, kind, apis: group, reasons: JSON.parse(reasons) }
}

function reasonsOf(engine: Engine, api: string, kind: string): string[] {
  return [
    ...CLAIMS.map(({ scope, target }) => engine.decide({ api, kind, scope, target }).reason),
    ...CREDENTIAL_REASONS.map((fault) => engine.deny(api, fault, kind).reason),
  ]
}
