/** `portcullis matrix`: the table, readable in a terminal. */
import type { Command } from 'commander'
import { columns } from '../base/text-table.ts'
import { print } from './output.ts'
import { addRulesOptions, type RulesOptions } from './rules.ts'

export function addMatrixCommand(program: Command): void {
  const command = program
    .command('matrix')
    .description('Show which API accepts which kind of token, with the conflicts of the source.')
  addRulesOptions(command).action(async (options: RulesOptions) => {
    const { readRules } = await import('./rules.ts')
    const { matrixTable } = await import('./matrix-table.ts')
    const { matrix, engine } = readRules(options)
    if (options.json) {
      // With the keys of a matrix file.
      print(JSON.stringify({ digest: engine.digest, strict: engine.strict, ...matrix }))
      return
    }
    const others = engine.conflicts.filter((conflict) => conflict.cells.length === 0)
    print(matrixTable(engine))
    if (others.length > 0) {
      print('\nconflicts that put no cell in doubt:')
      print(
        columns(
          others.map((conflict) => ['  ', conflict.id, conflict.type, `the ${conflict.resolution} rules`]),
        ),
      )
    }
    print(`\n${engine.digest}${engine.strict ? ', strict' : ''}`)
  })
}
