/** PostgreSQL's programs and PgBouncer: where they are, or Debian's packages, which are installed. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { HANGS_MS } from '../suite/resources.ts'

/** The folder of the programs, or the reason why they are missing. */
export type Programs =
  | { readonly ok: true; readonly folder: string }
  | { readonly ok: false; readonly why: string }

export function obtainPostgres(): Promise<Programs> {
  return obtain('postgresql', 'initdb', found)
}

export function obtainPgBouncer(): Promise<Programs> {
  return obtain('pgbouncer', 'pgbouncer', () => folderOf('pgbouncer', ['/usr/sbin']))
}

async function obtain(
  debianPackage: string,
  program: string,
  find: () => string | undefined,
): Promise<Programs> {
  const there = find()
  if (there !== undefined) return { ok: true, folder: there }
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return { ok: false, why: `there is no ${program} on the path, and only root can install it with apt-get` }
  try {
    await aptGet('update')
    await aptGet('install', '-y', '--no-install-recommends', debianPackage)
  } catch (error) {
    return { ok: false, why: `apt-get could not install it: ${(error as Error).message.trim()}` }
  }
  const folder = find()
  return folder === undefined
    ? { ok: false, why: `the package that apt-get installed has no ${program}` }
    : { ok: true, folder }
}

/** The first folder of the path, or else of the others, that has the program. */
function folderOf(program: string, others: readonly string[]): string | undefined {
  return [...(process.env.PATH ?? '').split(':'), ...others].find((folder) =>
    existsSync(`${folder}/${program}`),
  )
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
  // A link may be alone where it is; the other programs are beside the one that it leads to.
  return program && dirname(realpathSync(program))
}

async function aptGet(...args: readonly string[]): Promise<void> {
  // Other tests may install something, too.
  await promisify(execFile)('apt-get', ['-o', 'DPkg::Lock::Timeout=600', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  })
}
