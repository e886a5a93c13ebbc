/** Runs commands to their end, and keeps what was installed for the next run. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The checkout. */
export const repository = join(import.meta.dirname, '..', '..', '..')

/** The folder of the interoperability tests. */
export const interopFolder = join(repository, 'test', 'interop')

/** Longer than any install takes; what hangs for as long is given up. */
const COMMAND_MS_MAX = 600_000

/** A command that did not succeed: what was run, and what it said. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/** What `execFile` throws. */
interface Failure extends Error {
  readonly stdout?: string
  readonly stderr?: string
  readonly killed?: boolean
}

export interface CommandOptions {
  readonly cwd?: string
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Default: longer than any install takes. */
  readonly msMax?: number
}

/**
 * Runs a command without standard input.
 *
 * @returns what it printed on standard output
 * @throws CommandFailed where it cannot be run, fails or hangs
 */
export async function run(
  command: string,
  args: readonly string[],
  { cwd = repository, env = {}, msMax = COMMAND_MS_MAX }: CommandOptions = {},
): Promise<string> {
  const running = promisify(execFile)(command, args, {
    cwd,
    env: { ...process.env, ...env },
    timeout: msMax,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  })
  running.child.stdin?.end()
  try {
    return (await running).stdout
  } catch (error) {
    const { stdout = '', stderr = '', message, killed } = error as Failure
    const said = killed ? `no end after ${msMax / 1000} s` : `${stderr}${stdout}`.trim() || message
    throw new CommandFailed(`\`${[command, ...args].join(' ')}\` failed: ${said}`)
  }
}

/** Runs buf, which is installed at the first use. */
export function runBuf(args: readonly string[], options?: CommandOptions): Promise<string> {
  return run(process.execPath, [join(repository, 'scripts', 'buf.ts'), ...args], options)
}

/**
 * The folder where something is installed: of an earlier run if that one came to its end.
 *
 * @param name what is installed
 * @param key everything that decides what is installed
 * @param install installs into the folder
 */
export async function installed(
  name: string,
  key: readonly string[],
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const digest = createHash('sha256')
    .update(JSON.stringify([process.platform, process.arch, ...key]))
    .digest('hex')
  const cache = join(repository, 'node_modules', '.cache', 'portcullis-interop')
  const folder = join(cache, `${name}-${digest.slice(0, 16)}`)
  const complete = join(folder, 'complete')
  if (!existsSync(complete)) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await install(folder)
    writeFileSync(complete, '')
  }
  return folder
}
