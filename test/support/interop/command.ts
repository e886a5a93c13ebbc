/** Runs commands to their end, and keeps what was installed for the next run. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HANGS_MS } from '../suite/resources.ts'

/** The checkout. */
export const repository = join(import.meta.dirname, '..', '..', '..')

/** Installed programs are kept outside the checkout, so that another checkout finds them, too. */
export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'portcullis')

/** The folder of the interoperability tests. */
export const interopFolder = join(repository, 'test', 'interop')

/** Program → the Debian package that brings it, where that has another name. */
const PACKAGES: Readonly<Record<string, string>> = {
  go: 'golang-go',
  h2load: 'nghttp2-client',
  java: 'default-jdk-headless',
  javac: 'default-jdk-headless',
  mvn: 'maven',
}

/** A command that did not succeed: what was run, and what it said. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
}

/** The error that `execFile` throws. */
interface Failure extends Error {
  readonly stdout?: string
  readonly stderr?: string
  readonly killed?: boolean
  readonly code?: string | number
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
  { cwd = repository, env = {}, msMax = HANGS_MS }: CommandOptions = {},
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
    const { stdout = '', stderr = '', message, killed, code } = error as Failure
    if (code === 'ENOENT' && !existsSync(command))
      throw new CommandFailed(
        `\`${command}\` is not installed; Debian has it as ${PACKAGES[command] ?? command}`,
      )
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
  const folder = join(CACHE, `${name}-${digest.slice(0, 16)}`)
  const complete = join(folder, 'complete')
  while (!existsSync(complete)) {
    const release = lock(`${folder}.lock`)
    if (release === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      continue
    }
    try {
      if (existsSync(complete)) break
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true })
      await install(folder)
      writeFileSync(complete, '')
    } finally {
      release()
    }
  }
  return folder
}

/**
 * Several files of tests, or runs of other checkouts, may install the same. The lock of a process that has
 * ended does not count.
 *
 * @returns what releases it, or `undefined` where another process has it
 */
function lock(path: string): (() => void) | undefined {
  mkdirSync(CACHE, { recursive: true })
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
  } catch {
    const holder = Number(existsSync(path) ? readFileSync(path, 'utf8') : 0)
    if (holder > 0 && !existsSync(`/proc/${holder}`) && existsSync('/proc/self'))
      rmSync(path, { force: true })
    return undefined
  }
  return () => rmSync(path, { force: true })
}
