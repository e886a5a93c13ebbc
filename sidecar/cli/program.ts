/** The commands, as one program. Each command is a file, and loads what it needs when it runs. */
import { Command } from 'commander'
import { packageVersion } from '../base/package.ts'
import { addAdministrationCommands, OPERATOR_NOTE } from './administration/administration.ts'
import { addAgentCommand } from './commands/agent.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addCallerCommand } from './commands/caller.ts'
import { addCheckCommand } from './commands/check.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addConfigCommand } from './commands/config.ts'
import { addDirectoryCommand } from './commands/directory.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addHealthCommand } from './commands/health.ts'
import { addIssueCommand, addTokenCommand } from './commands/issue.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addLintCommand } from './commands/lint.ts'
import { addMatrixCommand } from './commands/matrix.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addPlanCommand } from './commands/plan.ts'
import { addProfileCommand } from './commands/profile.ts'
import { addReplayCommand } from './commands/replay.ts'
import { addRevokeCommand } from './commands/revoke.ts'
import { addRouteCommand } from './commands/route.ts'
import { addServeCommand } from './commands/serve.ts'
import { addHelpParts, GROUPS, title } from './terminal/help.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'

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
