/** Installs the packages of `bench/peers`, once for each version of the lockfile. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandFailed, run } from './command.ts'

/** Whether the packages are installed, and otherwise why not. */
export type Installed = { readonly ok: true } | { readonly ok: false; readonly why: string }

/**
 * @param folder holds `package.json` and `package-lock.json`
 * @throws CommandFailed if the two files contradict each other: that is a mistake of ours and no reason to
 *   skip
 */
export async function installPeers(folder: string): Promise<Installed> {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  // We write this file when npm is done. It is missing or differs after an unfinished or an older install.
  const mark = join(folder, 'node_modules', '.installed-from')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return { ok: true }
  process.stderr.write('bench: installing the software to compare with, in bench/peers (npm ci)\n')
  try {
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
  } catch (error) {
    if (!(error instanceof CommandFailed) || error.message.includes('EUSAGE')) throw error
    return { ok: false, why: reasonOf(error) }
  }
  writeFileSync(mark, digest)
  return { ok: true }
}

/** The command and the last line that it printed. Package managers print much before the reason. */
export function reasonOf({ message }: CommandFailed): string {
  const lines = message.split('\n').filter((line) => line.trim() !== '' && !line.includes('complete log'))
  return [...new Set([lines.at(0), lines.at(-1)])].join(' … ')
}
