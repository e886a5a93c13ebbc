/** The commands, as one program. Each command is a file, and loads what it needs when it runs. */
import { Command } from 'commander'
import { packageVersion } from '../base/package.ts'
import { addAdministrationCommands, OPERATOR_NOTE } from './administration.ts'
import { addAgentCommand } from './agent.ts'
import { addBackupCommands } from './backup.ts'
import { addCallerCommand } from './caller.ts'
import { addCheckCommand } from './check.ts'
import { addCompletionCommands } from './completion.ts'
import { addConfigCommand } from './config.ts'
import { addDirectoryCommand } from './directory.ts'
import { addDoctorCommand } from './doctor.ts'
import { addExplainCommand } from './explain.ts'
import { addHealthCommand } from './health.ts'
import { addHelpParts, GROUPS, title } from './help.ts'
import { addIssueCommand, addTokenCommand } from './issue.ts'
import { addKeysCommand } from './keys.ts'
import { addLintCommand } from './lint.ts'
import { addMatrixCommand } from './matrix.ts'
import { addMigrateCommand } from './migrate.ts'
import { addPlanCommand } from './plan.ts'
import { addProfileCommand } from './profile.ts'
import { addReplayCommand } from './replay.ts'
import { addRevokeCommand } from './revoke.ts'
import { addRouteCommand } from './route.ts'
import { addServeCommand } from './serve.ts'
import { processTerminal, type Terminal } from './terminal.ts'

/** @param terminal where destructive commands ask */
export function buildProgram(terminal: Terminal = processTerminal): Command {
  const program = new Command('portcullis')
    .description(
      'Decide which credential opens which product API, and obtain the right credential for a call.',
    )
    .version(packageVersion, '-V, --version', 'print the version')
    .option('--no-color', 'print no colours, as with NO_COLOR=1')
    .helpOption('-h, --help', 'print help')
    .configureHelp({ styleTitle: title })
    // Errors are printed where they are caught, as text or as JSON.
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  program.commandsGroup(GROUPS.ask)
  for (const add of [addCheckCommand, addIssueCommand, addTokenCommand, addRevokeCommand])
    add(program, terminal)
  program.commandsGroup(GROUPS.matrix)
  for (const add of [addMatrixCommand, addExplainCommand, addPlanCommand, addLintCommand, addReplayCommand])
    add(program)
  program.commandsGroup(GROUPS.run)
  for (const add of [addServeCommand, addAgentCommand, addDirectoryCommand, addKeysCommand, addCallerCommand])
    add(program, terminal)
  addHealthCommand(program)
  addBackupCommands(program, terminal)
  addMigrateCommand(program)
  addConfigCommand(program)
  addDoctorCommand(program)
  addProfileCommand(program)
  addRouteCommand(program)
  program.commandsGroup(GROUPS.administer)
  addAdministrationCommands(program, terminal)
  program.commandsGroup(GROUPS.shell)
  addCompletionCommands(program)
  program.helpCommand('help [command]', 'Print the help of a command.')
  return addHelpParts(program, {
    examples: ['serve --dev', 'check balance -H @token.txt', 'help check'],
    exitCodes: '0 allowed or done, 1 denied or problems found, 2 no answer',
    notes: [OPERATOR_NOTE],
  })
}

/** A command with all that is below it. */
export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}
