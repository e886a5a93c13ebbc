/** Asking before something is destroyed. */
import type { Command } from 'commander'
import { CommandError } from './errors.ts'
import { forTerminal, type Terminal } from './terminal.ts'

export interface ConfirmOptions {
  readonly yes?: boolean
}

/** The option of every command that may ask. */
export function addConfirmOption(command: Command): Command {
  return command.option('-y, --yes', 'do not ask for confirmation (without a terminal it never asks)')
}

/**
 * Asks on a terminal whether to go on. Scripts have no terminal, so they are never asked.
 *
 * @param question returns what to ask; `undefined` where nothing would be destroyed
 * @throws CommandError `NOT_CONFIRMED` for any other answer than yes
 */
export async function confirm(
  terminal: Terminal,
  { yes = false }: ConfirmOptions,
  question: () => string | undefined | Promise<string | undefined>,
): Promise<void> {
  if (yes || !terminal.interactive) return
  const text = await question()
  if (text === undefined) return
  const answer = await terminal.ask(`${forTerminal(text)} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim()))
    throw new CommandError('NOT_CONFIRMED', 'not confirmed, so nothing was changed')
}
