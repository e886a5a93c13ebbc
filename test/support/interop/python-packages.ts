/** Software from the Python package index, each in a separate virtual environment. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installed, repository, run } from './command.ts'

/** Compiling takes too long. */
const WHEELS_ONLY = ['--only-binary', ':all:']

/**
 * Installs packages, unless an earlier run has done it.
 *
 * @param name what is installed
 * @param packages with their versions, or the files that list them
 * @param python the program that makes the environment
 * @returns the folder of the programs, of which one is `python`
 * @throws CommandFailed where they cannot be installed
 */
export async function installedFromPython(
  name: string,
  packages: readonly string[] | { readonly files: readonly string[] },
  options: readonly string[] = WHEELS_ONLY,
  python = 'python3',
): Promise<string> {
  const [wanted, key] =
    'files' in packages
      ? [
          packages.files.flatMap((file) => ['--requirement', file]),
          packages.files.map((file) => readFileSync(file, 'utf8')),
        ]
      : [packages, packages]
  const version = await run(python, ['--version'])
  const folder = await installed(name, [version, ...key], async (folder) => {
    await run(python, ['-m', 'venv', folder])
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--no-input', ...options, ...wanted])
  })
  return join(folder, 'bin')
}

const client = join(repository, 'clients', 'python')

/** Installs what builds the Python client, as its project file says. @returns the folder of the programs */
export function pythonBuildTools(): Promise<string> {
  const [, list = ''] =
    /^requires = (\[.*\])$/m.exec(readFileSync(join(client, 'pyproject.toml'), 'utf8')) ?? []
  return installedFromPython('python-build', JSON.parse(list) as string[])
}

/** Makes the stubs of the Python client of this checkout, in its sources. @param tools that build it */
export async function makePythonStubs(tools: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const build = ['-m', 'hatchling', 'build', '--target', 'wheel:editable', '--directory', folder]
  await run(join(tools, 'python'), build, { cwd: client, env: { PYTHONDONTWRITEBYTECODE: '1' } })
  rmSync(folder, { recursive: true })
}
