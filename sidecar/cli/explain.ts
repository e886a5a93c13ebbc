/** `portcullis explain`: why an API takes a kind of token or not, down to the words of the source. */
import type { Command } from 'commander'
import type { Decision, Engine, Matrix, Statement, TokenKind } from '../../engine/index.ts'
import { columns } from '../base/text-table.ts'
import { EXIT, print, printJson } from './output.ts'
import { addRulesOptions, type RulesOptions } from './rules.ts'

interface Explanation {
  readonly kind: string
  readonly decision: Decision
  /** What the prose says about this kind and this API. */
  readonly statements: readonly Statement[]
}

export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description(
      'Say why an API takes a kind of token or not, with the words of the source. Asks no sidecar.',
    )
    .argument('<api>', 'id of the api, for example audit-logs')
    .argument('[kind]', 'id of the token kind (default: all of them)')
    .addHelpText('after', '\nExit codes: 0 accepted (or no kind given), 1 not accepted, 2 no answer.')
  addRulesOptions(command).action(async (api: string, kind: string | undefined, options: RulesOptions) => {
    const { knownId, readRules } = await import('./rules.ts')
    const { matrix, engine } = readRules(options)
    knownId('api', api, engine.apis.keys())
    if (kind !== undefined) knownId('token kind', kind, engine.tokenKinds.keys())
    const kinds = [...engine.tokenKinds.values()].filter((each) => kind === undefined || each.id === kind)
    const explanations = kinds.map((each) => explain(matrix, engine, api, each))
    if (options.json) printJson(explanations)
    else print(explanations.map((each) => describe(matrix, api, each)).join('\n\n'))
    if (kind !== undefined) process.exitCode = explanations[0]?.decision.allowed ? EXIT.done : EXIT.denied
  })
}

function explain(matrix: Matrix, engine: Engine, api: string, kind: TokenKind): Explanation {
  // Only the matrix is asked, so any scope that fits the kind will do.
  const scope = kind.scopeLevel === 'project' ? { account: 'any', project: 'any' } : { account: 'any' }
  return {
    kind: kind.id,
    decision: engine.decide({ api, kind: kind.id, scope }),
    statements: matrix.statements.filter(({ claim }) => speaksOf(claim, api, kind.id)),
  }
}

function speaksOf(claim: Statement['claim'], api: string, kind: string): boolean {
  if (claim.type === 'row_repeated') return claim.api === api
  if (!('apis' in claim) || claim.kind !== kind) return false
  // A list that is complete says something of what it leaves out.
  return claim.apis.includes(api) || (claim.type === 'manages' && claim.complete)
}

function describe(matrix: Matrix, api: string, { kind, decision, statements }: Explanation): string {
  const row = matrix.apis.find((each) => each.id === api)
  const rows = [
    [decision.allowed ? 'accepted' : 'refused', `${kind}${decision.allowed ? '' : `: ${decision.reason}`}`],
    ['', decision.message],
    ['table', `${row?.section}: ${row?.title} ${row?.accepts.includes(kind) ? '✓' : '✗'}`],
    ...statements.map(({ section, text, claim }) => [
      'prose',
      `${section}${silent(claim, api) ? ' (does not name it)' : ''}: ${text}`,
    ]),
    ...decision.conflicts.map(({ id, type, resolution, reason }) => [
      'conflict',
      `${id} (${type}; the ${resolution} rules): ${reason}`,
    ]),
  ]
  return columns(rows)
}

function silent(claim: Statement['claim'], api: string): boolean {
  return 'apis' in claim && !claim.apis.includes(api)
}
