/** The command line. Each command is a file; what it needs is loaded when it runs. */
import { Command, CommanderError } from 'commander'
import { packageVersion } from '../base/package.ts'
import { addAdministrationCommands } from './administration.ts'
import { addCheckCommand } from './check.ts'
import { addDirectoryCommand } from './directory.ts'
import { addExplainCommand } from './explain.ts'
import { addIssueCommand } from './issue.ts'
import { addKeysCommand } from './keys.ts'
import { addLintCommand } from './lint.ts'
import { addMatrixCommand } from './matrix.ts'
import { EXIT, failWith, guardOutput } from './output.ts'
import { addPlanCommand } from './plan.ts'
import { refuseEmpty } from './refuse-empty.ts'
import { addRevokeCommand } from './revoke.ts'
import { addServeCommand } from './serve.ts'

/** Runs one command and sets the exit code: 0 allowed or done, 1 denied, 2 no answer. */
export async function main(argv: readonly string[]): Promise<void> {
  guardOutput()
  let running: Command | undefined
  const program = new Command('portcullis')
    .description(
      'Decides which credential opens which product API, and obtains the right credential for a call.',
    )
    .version(packageVersion)
    .addHelpText('after', '\nExit codes: 0 allowed or done, 1 denied or problems found, 2 no answer.')
    .exitOverride()
    .hook('preAction', (_program, command) => {
      running = command
      refuseEmpty(command)
    })
  for (const add of [
    addServeCommand,
    addCheckCommand,
    addIssueCommand,
    addExplainCommand,
    addMatrixCommand,
    addLintCommand,
    addPlanCommand,
    addRevokeCommand,
    addDirectoryCommand,
    addKeysCommand,
    addAdministrationCommands,
  ])
    add(program)
  sayWhatThereIs(program)
  try {
    refuseHelpOnNothing(program, argv)
    await program.parseAsync(argv)
  } catch (error) {
    // Commander has already printed its help or its complaint.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.noAnswer
    else
      failWith(
        error,
        running?.options.map(({ long }) => long ?? ''),
      )
  }
}

/** After a complaint about a command: which there are, where it has some. */
function sayWhatThereIs(command: Command): void {
  for (const each of [command, ...command.commands])
    if (each.commands.length > 0)
      each.showHelpAfterError(
        `(commands: ${each.commands.map((one) => one.name()).join(', ')}; options: --help${each === command ? ', --version' : ''})`,
      )
}

/** Commander would show the help of the whole instead. */
function refuseHelpOnNothing(program: Command, [, , ...words]: readonly string[]): void {
  const [help, name] = words
  if (help !== 'help' || name === undefined || name.startsWith('-')) return
  if (!['help', ...program.commands.map((each) => each.name())].includes(name))
    program.error(`error: unknown command '${name}'`)
}
