/** Installs the packages of `bench/peers`, once for each state of its lockfile. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailed, run } from '../test/support/interop/command.ts'

/** Whether the packages are there, or the reason why not. */
export type Installed = { readonly ok: true } | { readonly ok: false; readonly why: string }

/**
 * @param folder with `package.json` and `package-lock.json`
 * @throws CommandFailed where the two do not fit each other: that is a mistake of ours and no reason to skip
 */
export async function installPeers(folder: string): Promise<Installed> {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  // Written by us when npm was done: of a half or another install it is missing or differs.
  const mark = join(folder, 'node_modules', '.installed-from')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return { ok: true }
  process.stderr.write('bench: installing the peers to measure beside, in bench/peers (npm ci)\n')
  try {
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  } catch (error) {
    if (!(error instanceof CommandFailed) || error.message.includes('EUSAGE')) throw error
    return { ok: false, why: reasonOf(error) }
  }
  writeFileSync(mark, digest)
  return { ok: true }
}

/** The command, and the last that it said: before that, package managers say much that is no reason. */
export function reasonOf({ message }: CommandFailed): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '' && !line.includes('complete log'))
  return [...new Set([lines.at(0), lines.at(-1)])].join(' … ')
}
