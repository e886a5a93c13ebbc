/**
 * zsh and fish: those of the machine, or those of the packages of Debian, unpacked into a folder of their
 * own.
 */
import { globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CommandFailed, installed, run } from './command.ts'

/** A shell, and what it needs to run from where it is. */
export interface Shell {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  /** Lines for the beginning of a script: where the shell finds its own parts. */
  readonly prelude: string
}

/** @throws CommandFailed where it is neither on this machine nor to be had */
export async function installZsh(): Promise<Shell> {
  if (await exists('zsh')) return { command: 'zsh', env: {}, prelude: '' }
  const root = await unpacked('zsh', ['zsh', 'zsh-common'])
  const [modules = ''] = globSync(join(root, 'usr/lib/*/zsh/*'))
  return { command: join(root, 'bin/zsh'), env: {}, prelude: `module_path=('${modules}')` }
}

/** @throws CommandFailed where it is neither on this machine nor to be had */
export async function installFish(): Promise<Shell> {
  if (await exists('fish')) return { command: 'fish', env: {}, prelude: '' }
  const root = await unpacked('fish', ['fish', 'fish-common', 'libpcre2-32-0'])
  const libraries = globSync(join(root, 'usr/lib/*-linux-gnu*')).join(delimiter)
  return {
    command: join(root, 'usr/bin/fish'),
    env: { LD_LIBRARY_PATH: libraries },
    prelude: `set -p fish_function_path '${join(root, 'usr/share/fish/functions')}'`,
  }
}

async function exists(shell: string): Promise<boolean> {
  try {
    await run(shell, ['--version'])
    return true
  } catch (error) {
    if (error instanceof CommandFailed) return false
    throw error
  }
}

/** The folder with what packages of Debian hold. @throws CommandFailed where they are not to be had */
export function unpacked(name: string, packages: readonly string[]): Promise<string> {
  return installed(name, packages, async (folder) => {
    await run('apt-get', ['download', ...packages], { cwd: folder })
    for (const file of globSync('*.deb', { cwd: folder }))
      await run('dpkg-deb', ['--extract', file, '.'], { cwd: folder })
  })
}
