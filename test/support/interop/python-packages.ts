/** Software from the Python package index, each in a virtual environment of its own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installed, run } from './command.ts'

/** Compiling takes longer than anybody waits. */
const WHEELS_ONLY = ['--only-binary', ':all:']

/**
 * Installs packages, unless an earlier run has done it.
 *
 * @param name what is installed
 * @param packages with their versions, or the files that list them
 * @returns the folder of the programs, of which one is `python`
 * @throws CommandFailed where they cannot be installed
 */
export async function installedFromPython(
  name: string,
  packages: readonly string[] | { readonly files: readonly string[] },
  options: readonly string[] = WHEELS_ONLY,
): Promise<string> {
  const [wanted, key] =
    'files' in packages
      ? [
          packages.files.flatMap((file) => ['--requirement', file]),
          packages.files.map((file) => readFileSync(file, 'utf8')),
        ]
      : [packages, packages]
  const version = await run('python3', ['--version'])
  const folder = await installed(name, [version, ...key], async (folder) => {
    await run('python3', ['-m', 'venv', folder])
    const python = join(folder, 'bin', 'python')
    await run(python, ['-m', 'pip', 'install', '--no-input', ...options, ...wanted])
  })
  return join(folder, 'bin')
}
