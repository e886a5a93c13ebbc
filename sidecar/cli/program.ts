/** The commands, as one program. Each command is a file, and loads what it needs when it runs. */
import type { Command } from 'commander'
import { addAdministrationCommands, OPERATOR_NOTE } from './administration/administration-commands.ts'
import { addAgentCommand } from './commands/agent.ts'
import { addBackupCommands } from './commands/backup.ts'
import { addCallerCommand } from './commands/caller.ts'
import { addCheckCommand } from './commands/check.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addConfigCommand } from './commands/config.ts'
import { addDecisionsCommand } from './commands/decisions.ts'
import { addDirectoryCommand } from './commands/directory.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addExplainCommand } from './commands/explain.ts'
import { addHealthCommand } from './commands/health.ts'
import { addIssueCommand, addTokenCommand } from './commands/issue.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addMatrixCommand } from './commands/matrix/matrix.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addPlanCommand } from './commands/plan.ts'
import { addProfileCommand } from './commands/profile.ts'
import { addReplayCommand } from './commands/replay.ts'
import { addRevokeCommand } from './commands/revoke.ts'
import { addRouteCommand } from './commands/route.ts'
import { addServeCommand } from './commands/serve.ts'
import { emptyProgram } from './empty-program.ts'
import { addHelpParts, GROUPS } from './terminal/help.ts'
import { processTerminal, type Terminal } from './terminal/terminal.ts'

/** @param terminal where destructive commands ask */
export function buildProgram(terminal: Terminal = processTerminal): Command {
  const program = emptyProgram()
  program.commandsGroup(GROUPS.ask)
  for (const add of [addCheckCommand, addIssueCommand, addTokenCommand, addRevokeCommand])
    add(program, terminal)
  program.commandsGroup(GROUPS.matrix)
  for (const add of [addMatrixCommand, addExplainCommand, addPlanCommand, addReplayCommand])
    add(program, terminal)
  program.commandsGroup(GROUPS.run)
  for (const add of [addServeCommand, addAgentCommand, addDirectoryCommand, addKeysCommand, addCallerCommand])
    add(program, terminal)
  addHealthCommand(program)
  addDecisionsCommand(program, terminal)
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
