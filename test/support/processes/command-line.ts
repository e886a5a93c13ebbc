/** The command line in this process: for commands that need no separate process. */
import type { Command } from 'commander'
import { vi } from 'vitest'
import { runCommand } from '../../../sidecar/cli/main.ts'
import { buildProgram } from '../../../sidecar/cli/program.ts'
import type { Terminal } from '../../../sidecar/cli/terminal/terminal.ts'
import { HANGS_MS } from '../suite/resources.ts'
import type { Ended } from './processes.ts'

/** Without a user: scripts run so. */
const NO_TERMINAL: Terminal = {
  interactive: false,
  ask: () => Promise.reject(new Error('the user could not be asked')),
  askSecret: () => Promise.reject(new Error('the user could not be asked')),
}

/** A terminal whose user gives these answers, one after the other. */
export class FakeTerminal implements Terminal {
  readonly interactive = true
  /** The questions so far. */
  readonly questions: string[] = []
  readonly #answers: string[]

  constructor(...answers: string[]) {
    this.#answers = answers
  }

  async ask(question: string): Promise<string> {
    this.questions.push(question)
    const answer = this.#answers.shift()
    if (answer === undefined) throw new Error(`one question too many: ${question}`)
    return answer
  }

  askSecret(question: string): Promise<string> {
    return this.ask(question)
  }
}

/** The program with a default of `--deadline` that only ends what hangs. Its help shows the real one. */
function patient<Program extends ReturnType<typeof buildProgram>>(program: Program): Program {
  if (program.getOptionValue('deadline') !== undefined)
    program.setOptionValueWithSource('deadline', HANGS_MS, 'default')
  for (const each of program.commands) patient(each)
  return program
}

/**
 * Runs a command, and returns what it printed and its exit code. One at a time: it takes over the output of
 * the process.
 */
export function command(words: readonly string[], terminal: Terminal = NO_TERMINAL): Promise<Ended> {
  return ended(buildProgram(terminal), words)
}

/** The same for a program that has not every command. */
export async function ended(program: Command, words: readonly string[]): Promise<Ended> {
  const before = process.exitCode
  // `serve` sets it before it reads its configuration.
  const umask = process.umask()
  let stdout = ''
  let stderr = ''
  const writes = [
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      stdout += chunk
      return true
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      stderr += chunk
      return true
    }),
  ]
  process.exitCode = 0
  try {
    await runCommand(patient(program), words, words.includes('--json'))
    return { code: Number(process.exitCode), stdout, stderr }
  } finally {
    process.exitCode = before
    process.umask(umask)
    for (const write of writes) write.mockRestore()
  }
}
