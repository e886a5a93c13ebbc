/**
 * Where the packages run beside the Node of this checkout: an older Node of this machine, Bun and Deno; and
 * what looks at their types.
 */
import { cpSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { CommandFailed, installed, interopFolder, repository, run } from './command.ts'
import { missing } from './obtain.ts'

const FILES = ['package.json', 'package-lock.json'].map((name) => join(interopFolder, 'runtimes', name))

/** Programs by name; `undefined` where it cannot be had, and a printed line says why. */
export interface Runtimes {
  readonly bun: string | undefined
  readonly deno: string | undefined
  /** A program for Node. */
  readonly attw: string | undefined
}

/** Installs them at the first use. */
export async function installRuntimes(): Promise<Runtimes> {
  const folder = await unlessMissing('Bun, Deno and attw', () =>
    installed(
      'runtimes',
      FILES.map((path) => readFileSync(path, 'utf8')),
      async (folder) => {
        for (const path of FILES)
          cpSync(path, join(folder, path.slice(join(interopFolder, 'runtimes').length)))
        // The programs are in packages of their own for each platform; no script needs to put them anywhere.
        await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
      },
    ),
  )
  const found = (path: string) =>
    folder === undefined ? undefined : globSync(join(folder, 'node_modules', path))[0]
  return {
    bun: found('@oven/*/bin/bun'),
    deno: found('@deno/*/deno'),
    attw: found('@arethetypeswrong/cli/dist/index.js'),
  }
}

/**
 * A Node of this machine that is older than the checkout needs, and that the engine, the matrix and the
 * client run on.
 */
export async function findOlderNode(): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(repository))
  for (const path of folders.map((folder) => join(folder, 'node'))) {
    const version = await run(path, ['--version']).catch(() => '')
    if (/^v2[0-3]\./.test(version)) return path
  }
  missing('a Node from 20 to 23', 'none is on the PATH')
  return undefined
}

/** The result of obtaining from a registry; `undefined` where that fails, and a printed line says why. */
export async function unlessMissing<T>(what: string, obtain: () => Promise<T>): Promise<T | undefined> {
  try {
    return await obtain()
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    missing(what, error.message)
    return undefined
  }
}
