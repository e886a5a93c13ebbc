/**
 * `portcullis completion`: completion for shells. The answers come from the definitions of the commands
 * themselves.
 */
import { Argument, type Command, type Option } from 'commander'
import { addHelpParts } from '../terminal/help.ts'
import { collect, print } from '../terminal/output.ts'
import { COMPLETE, placeholderOf, type Source } from '../terminal/placeholders.ts'
import { SCRIPTS } from './completion-scripts.ts'

export function addCompletionCommands(program: Command): void {
  const command = program
    .command('completion')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
  addHelpParts(command, {
    examples: ['completion bash', 'completion zsh', 'completion fish'],
    notes: [
      'To load it, put one of these lines into the start file of the shell:',
      '  bash (~/.bashrc):                  source <(portcullis completion bash)',
      '  zsh (~/.zshrc, after compinit):    source <(portcullis completion zsh)',
      '  fish (~/.config/fish/config.fish): portcullis completion fish | source',
    ],
  }).action((shell: keyof typeof SCRIPTS) => print(SCRIPTS[shell].trimEnd()))

  program
    .command(COMPLETE, { hidden: true })
    .description('Print what can stand in place of the last word, for the completion scripts.')
    .argument('[words...]')
    .action(async (words: string[]) => print(answerText(await complete(program, words))))
}

/** A completion in place of a word. */
export interface Completion {
  readonly candidates: readonly Candidate[]
  /** Whether the shell is to offer paths as well. */
  readonly paths: 'files' | 'folders' | 'none'
}

interface Candidate {
  readonly value: string
  readonly description: string
}

/**
 * @param words what was typed after the name of the program, up to the word to complete, which may be empty
 */
export async function complete(program: Command, words: readonly string[]): Promise<Completion> {
  const current = words.at(-1) ?? ''
  const { command, parent, operands, options, awaiting, onlyOperands } = walk(program, words.slice(0, -1))
  if (awaiting !== undefined) return valuesOf(awaiting.flags, awaiting.argChoices, current)
  const dashed = current.startsWith('-') && !onlyOperands
  const [flag = '', value] = current.split(/=(.*)/s)
  const option = dashed && value !== undefined ? optionOf(command, flag) : undefined
  if (option !== undefined) return valuesOf(option.flags, option.argChoices, current, `${flag}=`)
  const unused = () => matching(optionCandidates(command, options), current)
  if (dashed) return unused()

  // Commander's own command `help` takes the name of a command.
  if (command.name() === 'help') return matching(commandCandidates(parent), current)
  if (command.commands.length > 0 && operands.length === 0)
    return matching(commandCandidates(command), current)
  const argument = argumentAt(command, operands.length)
  if (argument === undefined) return unused()
  const found = await valuesOf(argument.name(), argument.argChoices, current)
  const remaining = found.candidates.filter((each) => !operands.includes(each.value))
  return { ...found, candidates: remaining }
}

/** Where the words lead. */
interface Place {
  readonly command: Command
  readonly parent: Command
  readonly operands: readonly string[]
  /** The options that were given. */
  readonly options: readonly Option[]
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined
  /** Whether `--` was given. */
  readonly onlyOperands: boolean
}

function walk(program: Command, words: readonly string[]): Place {
  let command = program
  let parent = program
  let awaiting: Option | undefined
  let onlyOperands = false
  const operands: string[] = []
  const options: Option[] = []
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined
    else if (word === '--' && !onlyOperands) onlyOperands = true
    else if (/^-./.test(word) && !onlyOperands) {
      const [flag = '', value] = word.split('=')
      const option = optionOf(command, flag)
      if (option === undefined) continue
      options.push(option)
      if (option.required && value === undefined) awaiting = option
    } else {
      const below =
        operands.length === 0
          ? command
              .createHelp()
              .visibleCommands(command)
              .find((each) => each.name() === word)
          : undefined
      if (below === undefined) operands.push(word)
      else {
        parent = command
        command = below
      }
    }
  }
  return { command, parent, operands, options, awaiting, onlyOperands }
}

/** An option of the command, or of a command above it. */
function optionOf(command: Command, flag: string): Option | undefined {
  const own = command
    .createHelp()
    .visibleOptions(command)
    .find((option) => [option.long, option.short].includes(flag))
  return own ?? (command.parent === null ? undefined : optionOf(command.parent, flag))
}

function optionCandidates(command: Command, given: readonly Option[]): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .filter((option) => option.parseArg === collect || !given.some((each) => each.flags === option.flags))
    .map((option) => ({ value: option.long ?? option.short ?? '', description: option.description }))
}

function commandCandidates(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ value: each.name(), description: each.description() }))
}

/** The last argument may take any number of values. */
function argumentAt(command: Command, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1)
  return command.registeredArguments[index] ?? (last?.variadic ? last : undefined)
}

/** @param text flags of an option or name of an argument @param before what precedes the value in the word */
async function valuesOf(
  text: string,
  choices: readonly string[] | undefined,
  current: string,
  before = '',
): Promise<Completion> {
  const source = choices ?? placeholderOf(text)?.source
  if (source === 'files' || source === 'folders') return { candidates: [], paths: source }
  const candidates = source === undefined ? [] : await candidatesOf(source)
  return matching(
    candidates.map(({ value, description }) => ({ value: `${before}${value}`, description })),
    current,
  )
}

async function candidatesOf(source: Exclude<Source, 'files' | 'folders'>): Promise<Candidate[]> {
  if (typeof source !== 'string') return source.map((value) => ({ value, description: '' }))
  const { supportMatrix } = await import('../../../matrix/index.ts')
  const rows = source === 'apis' ? supportMatrix.apis : supportMatrix.tokenKinds
  return rows.map(({ id, title }) => ({ value: id, description: title }))
}

function matching(candidates: readonly Candidate[], current: string): Completion {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), paths: 'none' }
}

/** A line for each candidate, with its description behind a tab; the last line is about paths. */
function answerText({ candidates, paths }: Completion): string {
  return [...candidates.map(({ value, description }) => `${value}\t${description}`), `:${paths}`].join('\n')
}
