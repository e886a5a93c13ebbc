/** `portcullis plan`: the smallest set of tokens that opens the APIs of a job. */

import type { Command } from 'commander'
import type { Engine } from '../../../engine/index.ts'
import { carriageOf } from '../../../engine/places.ts'
import type { Plan, PlannedToken } from '../../../matrix/index.ts'
import { columns } from '../../base/text-table.ts'
import { addRulesOptions, type RulesOptions } from '../read-rules.ts'
import { EXIT } from '../terminal/errors.ts'
import { addHelpParts } from '../terminal/help.ts'
import { obtainedText } from '../terminal/obtained.ts'
import { print, printJson, STRICT_MODE } from '../terminal/output.ts'
import { paint } from '../terminal/terminal.ts'

export function addPlanCommand(program: Command): void {
  const command = program
    .command('plan')
    .description('Find the smallest set of tokens that opens these APIs.')
    .argument('<api...>', 'ids of the APIs that a job calls')
  addHelpParts(addRulesOptions(command), {
    examples: ['plan reports cdn iam', 'plan cdn --strict --json'],
    exitCodes: '0 every API is opened, 1 some API is opened by no kind, 2 no answer',
    notes: ['--json prints the message `PlanResponse` of the gRPC contract.'],
  }).action(async (apis: string[], options: RulesOptions) => {
    const { expectKnownId, readRules } = await import('../read-rules.ts')
    const { planTokens } = await import('../../../matrix/index.ts')
    const { engine } = readRules(options)
    for (const api of apis) expectKnownId('API', api, engine.apis.keys())
    const plan = planTokens(engine, apis)
    if (options.json) printJson(await planMessage(engine, plan))
    else print(describe(engine, plan))
    process.exitCode = plan.unopened.length === 0 ? EXIT.done : EXIT.denied
  })
}

/** The message of a sidecar with these rules, so that both commands and calls have the same fields. */
async function planMessage(engine: Engine, plan: Plan): Promise<object> {
  const { PlanResponse } = await import('../../../proto/gen/portcullis/v1/authorization.ts')
  const { planResponse } = await import('../../contract/responses.ts')
  return PlanResponse.decode(planResponse(engine, plan))
}

function describe({ strict }: Engine, { tokens, unopened, public: open }: Plan): string {
  const rows = tokens.map((token) => [
    token.kind.id,
    `in ${carriageOf(token.kind)}`,
    howToObtain(token),
    token.apis.join(', '),
  ])
  return [
    ...(rows.length > 0 ? [columns(rows)] : []),
    ...(open.length > 0 ? [`${paint('green', 'without a token:')} ${open.join(', ')}`] : []),
    ...(unopened.length > 0 ? [`${paint('red', 'opened by no kind:')} ${unopened.join(', ')}`] : []),
    ...(strict ? [`${paint('dim', 'mode')}  ${STRICT_MODE}`] : []),
  ].join('\n')
}

function howToObtain({ kind }: PlannedToken): string {
  if (kind.obtained.by !== 'issue') return obtainedText(kind.obtained)
  const permission = kind.permissionScopes
    .map((scope) => (scope === 'account' ? 'Account' : 'Projects'))
    .join(' or ')
  return permission === '' ? 'issue' : `issue; permission with scope ${permission}`
}
