/** `portcullis plan`: the smallest set of tokens that opens the APIs of a job. */
import type { Command } from 'commander'
import type { PlannedToken } from '../../matrix/index.ts'
import { columns } from '../base/text-table.ts'
import { EXIT, print, printJson } from './output.ts'
import { addRulesOptions, type RulesOptions } from './rules.ts'

export function addPlanCommand(program: Command): void {
  const command = program
    .command('plan')
    .description('Find the smallest set of tokens that opens these APIs. Asks no sidecar.')
    .argument('<api...>', 'ids of the apis that the job calls')
    .addHelpText('after', '\nExit codes: 0 there is a set, 1 some api is opened by no kind, 2 no answer.')
  addRulesOptions(command).action(async (apis: string[], options: RulesOptions) => {
    const { knownId, readRules } = await import('./rules.ts')
    const { planTokens } = await import('../../matrix/index.ts')
    const { engine } = readRules(options)
    for (const api of apis) knownId('api', api, engine.apis.keys())
    const { tokens, unopened } = planTokens(engine, apis)
    if (options.json) printJson({ tokens, unopened, digest: engine.digest })
    else {
      print(
        columns(
          tokens.map((token) => [
            token.kind.id,
            `in ${token.kind.header}`,
            howToObtain(token),
            token.apis.join(', '),
          ]),
        ),
      )
      if (unopened.length > 0) print(`opened by no kind: ${unopened.join(', ')}`)
    }
    process.exitCode = unopened.length === 0 ? EXIT.done : EXIT.denied
  })
}

function howToObtain({ kind }: PlannedToken): string {
  if (kind.obtained.by !== 'issue') return 'from the control panel (§4.2)'
  const permission = kind.permissionScopes
    .map((scope) => (scope === 'account' ? 'Account' : 'Projects'))
    .join(' or ')
  return permission === '' ? 'issue' : `issue; permission with scope ${permission}`
}
