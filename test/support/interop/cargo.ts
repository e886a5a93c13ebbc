/** Rust's tool. Its compiled programs are kept outside the checkout. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { CACHE, type CommandOptions, repository, run } from './command.ts'

const checkout = createHash('sha256').update(repository).digest('hex').slice(0, 16)

/** Where it compiles. Cargo knows what is current, but takes a crate of another checkout for the same. */
export const cargoFolder = join(CACHE, `cargo-${checkout}`)

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
