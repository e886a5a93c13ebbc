/** Runs before the first test: finds PostgreSQL's programs, or installs Debian's package. If both fail, a printed line says why. */
import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

/** The folder of PostgreSQL's programs, or the reason why they are missing. */
export type Programs =
  | { readonly ok: true; readonly folder: string }
  | { readonly ok: false; readonly why: string }

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: Programs
  }
}

/** After this time an installation that hangs is given up. */
const INSTALL_MS_MAX = 300_000

export default async function setup(project: TestProject): Promise<void> {
  const programs = await obtain()
  if (!programs.ok)
    process.stderr.write(`interop: every test that needs PostgreSQL is skipped: ${programs.why}\n`)
  project.provide('postgres', programs)
}

async function obtain(): Promise<Programs> {
  const there = found()
  if (there !== undefined) return { ok: true, folder: there }
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return { ok: false, why: 'there is no initdb on the path, and only root can install it with apt-get' }
  try {
    await aptGet('update')
    await aptGet('install', '-y', '--no-install-recommends', 'postgresql')
  } catch (error) {
    return { ok: false, why: `apt-get could not install it: ${(error as Error).message.trim()}` }
  }
  const folder = found()
  return folder === undefined
    ? { ok: false, why: 'the package that apt-get installed has no initdb' }
    : { ok: true, folder }
}

/** Finds the programs on the path, or the newest version in Debian's folder. */
function found(): string | undefined {
  const onPath = (process.env.PATH ?? '').split(':').map((folder) => `${folder}/initdb`)
  const debian = globSync('/usr/lib/postgresql/*/bin/initdb').toSorted((one, other) =>
    other.localeCompare(one, 'en', { numeric: true }),
  )
  const program = [...onPath, ...debian].find(
    (path) => existsSync(path) && existsSync(`${dirname(path)}/postgres`),
  )
  return program && dirname(program)
}

async function aptGet(...args: readonly string[]): Promise<void> {
  await promisify(execFile)('apt-get', args, {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_MS_MAX,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  })
}
