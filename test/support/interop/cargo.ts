/** Rust's tool. What it compiles is kept outside the checkout, so that another checkout finds it, too. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type CommandOptions, run } from './command.ts'

/** Where it compiles. It knows itself what is still current. */
export const cargoFolder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'portcullis',
  'cargo',
)

/**
 * Runs cargo.
 *
 * @returns what it printed on standard output
 * @throws CommandFailed where it cannot be run or fails
 */
export function cargo(args: readonly string[], { cwd, env = {} }: CommandOptions = {}): Promise<string> {
  return run('cargo', args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...env, CARGO_TARGET_DIR: cargoFolder },
  })
}
