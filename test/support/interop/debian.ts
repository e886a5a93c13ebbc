/** Programs of Debian's packages, unpacked into separate folders. */
import { globSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CommandFailed, installed, run } from './command.ts'

/** Whether the machine has it. */
export async function exists(program: string): Promise<boolean> {
  try {
    await run(program, ['--version'])
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

/** The variable by which libraries are found that `unpacked` put there. */
export function librariesIn(root: string): Readonly<Record<string, string>> {
  return { LD_LIBRARY_PATH: globSync(join(root, 'usr/lib/*-linux-gnu*')).join(delimiter) }
}

/** h2load: that of the machine, or that of Debian. @throws CommandFailed where it is not to be had */
export async function installH2load(): Promise<(args: readonly string[]) => Promise<string>> {
  if (await exists('h2load')) return (args) => run('h2load', args)
  const root = await unpacked('h2load', ['nghttp2-client', 'libev4', 'libjemalloc2'])
  return (args) => run(join(root, 'usr/bin/h2load'), args, { env: librariesIn(root) })
}
