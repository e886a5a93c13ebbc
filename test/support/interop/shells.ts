/** zsh and fish: of the machine, or of the packages of Debian, unpacked into a separate folder. */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { exists, librariesIn, unpacked } from './debian.ts'

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
  return {
    command: join(root, 'usr/bin/fish'),
    env: librariesIn(root),
    prelude: `set -p fish_function_path '${join(root, 'usr/share/fish/functions')}'`,
  }
}
