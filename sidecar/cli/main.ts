/** Runs the command line: one command, its errors, its exit code. */
import { type Command, CommanderError } from 'commander'
import { namesMeant } from '../../engine/meant.ts'
import { emptyProgram, everyCommand } from './empty-program.ts'
import { EXIT, failWith, guardOutput, isInterruption } from './terminal/errors.ts'
import { COMPLETE, refuseEmptyValues } from './terminal/placeholders.ts'
import { forbidColor, processTerminal, type Terminal } from './terminal/terminal.ts'

/**
 * Runs the command that the program was started with, and sets the exit code: 0 allowed or done, 1 denied, 2
 * no answer.
 */
export async function main([, , ...words]: readonly string[]): Promise<void> {
  const given = words.slice(0, words.includes('--') ? words.indexOf('--') : words.length)
  // Read here, because commander stops reading at the first mistake.
  const json = given.includes('--json')
  if (given.includes('--no-color')) forbidColor()
  guardOutput(json)
  await runCommand(await programFor(words), words, json)
}

/** The commands that programs run often: each is loaded alone. */
const ALONE: Readonly<Record<string, () => Promise<(program: Command, terminal: Terminal) => void>>> = {
  serve: async () => (await import('./commands/serve.ts')).addServeCommand,
  check: async () => (await import('./commands/check.ts')).addCheckCommand,
  health: async () => (await import('./commands/health.ts')).addHealthCommand,
  issue: async () => (await import('./commands/issue.ts')).addIssueCommand,
  token: async () => (await import('./commands/issue.ts')).addTokenCommand,
}

/** The program with the commands that these words can be about. */
async function programFor([command = '']: readonly string[]): Promise<Command> {
  const add = Object.hasOwn(ALONE, command) ? await ALONE[command]?.() : undefined
  if (add === undefined) return (await import('./program.ts')).buildProgram()
  const program = emptyProgram()
  add(program, processTerminal)
  return program
}

/** @param json whether errors are printed as JSON */
export async function runCommand(program: Command, words: readonly string[], json: boolean): Promise<void> {
  let running: Command | undefined
  program.hook('preAction', (_program, command) => {
    running = command
    // The word to complete may be empty.
    if (command.name() !== COMPLETE) refuseEmptyValues(command)
  })
  let refusing = program
  for (const command of everyCommand(program))
    command.exitOverride((error) => {
      refusing = command
      throw error.code === 'commander.excessArguments' ? unknownCommand(command, error) : error
    })
  try {
    refuseHelpForUnknown(program, words)
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (isHelp(error)) process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.noAnswer
    else
      failWith(error, {
        json,
        flags: running?.options.map(({ long }) => long ?? '') ?? [],
        hint: error instanceof CommanderError ? hintFor(refusing) : undefined,
      })
    if (isInterruption(error)) process.kill(process.pid, 'SIGINT')
  }
}

/** Commander has printed the help or the version by now. */
function isHelp(error: unknown): error is CommanderError {
  return (
    error instanceof CommanderError &&
    ['commander.help', 'commander.helpDisplayed', 'commander.version'].includes(error.code)
  )
}

/** A group that does something by itself takes an unknown command for an argument too many. */
function unknownCommand(group: Command, error: CommanderError): CommanderError {
  if (group.commands.length === 0) return error
  const [given = ''] = group.args
  const near = namesMeant(given, namesIn(group))
  const meant = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`
  return new CommanderError(error.exitCode, 'commander.unknownCommand', `unknown command '${given}'${meant}`)
}

/** The text to type in place of a refused one. */
function hintFor(command: Command): string {
  const names = namesIn(command)
  if (names.length === 0) return `(see \`${pathOf(command)} --help\`)`
  const options = command.parent === null ? '--help, --version' : '--help'
  return `(commands: ${names.join(', ')}; options: ${options})`
}

function namesIn(group: Command): readonly string[] {
  return group.commands.filter((each) => !isHidden(each)).map((each) => each.name())
}

function isHidden(command: Command): boolean {
  return !command.parent?.createHelp().visibleCommands(command.parent).includes(command)
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** Commander would show the help of the whole program instead. */
function refuseHelpForUnknown(program: Command, [help, name]: readonly string[]): void {
  if (help !== 'help' || name === undefined || name.startsWith('-')) return
  if (!['help', ...program.commands.map((each) => each.name())].includes(name))
    program.error(`error: unknown command '${name}'`)
}
