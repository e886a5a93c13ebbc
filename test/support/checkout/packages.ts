/**
 * The files that a user gets of a package: the tarball that `npm pack` makes, unpacked where npm would put
 * it. Of the dependencies only those that it declares are beside it, linked from this checkout, so that no
 * registry is needed.
 * needed.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { PACKAGES } from '../../../scripts/packages.ts'
import { ROOT } from './sources.ts'

/** Folders of the packages in the checkout. */
export const FOLDERS: readonly string[] = PACKAGES.map(({ folder }) => folder)

/** The fields of package.json that the tests look at. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies?: Readonly<Record<string, string>>
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
}

/** Without the variables that npm sets for the tests; on the Node that runs the tests. */
export const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
}

/**
 * Packs every package into `destination`, as a release would.
 *
 * @param variables further ones of the environment
 * @returns folder → path of its tarball
 */
export function packAll(
  destination: string,
  variables: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, string> {
  const workspaces = FOLDERS.flatMap((folder) => ['--workspace', folder])
  execFileSync('npm', ['pack', '--silent', '--pack-destination', destination, ...workspaces], {
    cwd: ROOT,
    env: { ...environment, ...variables },
    stdio: 'pipe',
  })
  return new Map(
    FOLDERS.map((folder) => {
      const { name, version } = manifestOf(folder)
      return [folder, join(destination, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)]
    }),
  )
}

/** An empty project with these packages. @returns its folder */
export function projectWith(
  folder: string,
  tarballs: ReadonlyMap<string, string>,
  packages: readonly string[],
): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  for (const each of packages) {
    const { name, dependencies = {} } = manifestOf(each)
    const installed = join(folder, 'node_modules', name)
    for (const [path, { content, mode }] of filesOf(tarballs.get(each) ?? '')) {
      mkdirSync(dirname(join(installed, path)), { recursive: true })
      writeFileSync(join(installed, path), content)
      chmodSync(join(installed, path), mode)
    }
    for (const dependency of Object.keys(dependencies)) link(folder, dependency)
  }
  return folder
}

function link(project: string, dependency: string): void {
  const path = join(project, 'node_modules', dependency)
  mkdirSync(dirname(path), { recursive: true })
  try {
    symlinkSync(join(ROOT, 'node_modules', dependency), path)
  } catch (error) {
    // Two packages may need the same one.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

export interface PackedFile {
  readonly content: Buffer
  readonly mode: number
}

/**
 * The files of a package's tarball, by their paths in the package: 512 bytes of header each, then the content
 * (POSIX ustar).
 */
export function filesOf(tarball: string): ReadonlyMap<string, PackedFile> {
  const bytes = gunzipSync(readFileSync(tarball))
  const files = new Map<string, PackedFile>()
  let at = 0
  while (bytes[at] !== undefined && bytes[at] !== 0) {
    const text = (from: number, length: number) =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0.*/s, '')
    const size = Number.parseInt(text(124, 12), 8)
    const type = text(156, 1)
    if (type !== '0') throw new Error(`a package holds files alone, and this is of type ${type}`)
    const path = [text(345, 155), text(0, 100)].filter((part) => part !== '').join('/')
    const content = bytes.subarray(at + 512, at + 512 + size)
    files.set(path.replace(/^package\//, ''), { content, mode: Number.parseInt(text(100, 8), 8) })
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}
