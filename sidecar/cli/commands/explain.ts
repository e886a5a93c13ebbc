/** `portcullis explain`: why an API accepts a kind of token or not, with the words of the source. */
import type { Command } from 'commander'
import type { Matrix } from '../../../engine/index.ts'
import { type CellExplanation, explainCell, leavesOut } from '../../../matrix/explain.ts'
import { columns } from '../../base/text-table.ts'
import { addRulesOptions, type RulesOptions } from '../read-rules.ts'
import { EXIT } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { print, printJson, STRICT_MODE } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description('Explain why an API accepts a kind of token or not, with the words of the source.')
    .argument('<api>', 'id of the API, for example audit-logs')
    .argument('[kind]', 'id of the token kind (default: all of them)')
  addHelpParts(addRulesOptions(command), {
    examples: ['explain audit-logs', 'explain audit-logs iam_token_project_scoped --strict'],
    exitCodes: '0 accepted, or no kind was given; 1 not accepted; 2 no answer',
    notes: [SOURCE_NOTE],
  }).action(async (api: string, kind: string | undefined, options: RulesOptions) => {
    const { expectKnownId, readRules } = await import('../read-rules.ts')
    const { matrix, engine } = readRules(options)
    expectKnownId('API', api, engine.apis.keys())
    if (kind !== undefined) expectKnownId('token kind', kind, engine.tokenKinds.keys())
    const kinds = [...engine.tokenKinds.values()].filter((each) => kind === undefined || each.id === kind)
    const explanations = kinds.map((each) => explainCell(matrix, engine, api, each))
    if (options.json) printJson(explanations)
    else print(explanations.map((each) => describe(matrix, api, each)).join('\n\n'))
    if (kind !== undefined) process.exitCode = explanations[0]?.decision.allowed ? EXIT.done : EXIT.denied
  })
}

/** The meaning of a section number in the output. */
const SOURCE_NOTE =
  'The source is the document that the matrix is made from. A section of it is written with §.'

function describe(matrix: Matrix, api: string, { kind, decision, statements }: CellExplanation): string {
  const row = matrix.apis.find((each) => each.id === api)
  const rows = [
    decision.allowed
      ? [paint('green', 'accepted'), kind]
      : [paint('red', 'refused'), `${kind}: ${decision.reason}`],
    ['', decision.message],
    [
      paint('dim', 'table'),
      `${row?.section} of the source: ${row?.title} ${row?.accepts.includes(kind) ? '✓' : '✗'}`,
    ],
    ...decision.advice.map((note) => [paint('dim', 'note'), note]),
    ...(row?.public ? [[paint('dim', 'public'), 'a request without a token is allowed']] : []),
    ...statements.map(({ section, text, claim }) => [
      paint('dim', 'prose'),
      `${section} of the source${leavesOut(claim, api) ? ' (does not name the API)' : ''}: ${text}`,
    ]),
    ...decision.conflicts.map(({ id, type, resolution, reason }) => [
      paint('dim', 'conflict'),
      `${id} (${type}; the ${resolution} decides): ${reason}`,
    ]),
    ...(decision.strict ? [[paint('dim', 'mode'), STRICT_MODE]] : []),
  ]
  return columns(rows)
}
