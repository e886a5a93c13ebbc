/** Passwords of profiles: as they were read, or as a program prints them. */
import { execFile } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { callError } from '../../base/call-error.ts'
import { Secret } from '../../base/secret.ts'
import { SECRET_EXPECTED, secretLine } from '../../base/secret-text.ts'

/** A password, and the version that cached tokens of it are known by. */
export interface VersionedPassword {
  readonly value: Secret
  readonly version: string
}

export interface PasswordSource {
  /** The password that is used now; `undefined`: it must be obtained. */
  readonly current: VersionedPassword | undefined
  /**
   * Obtains the password.
   *
   * @param refused the version that was refused at a login: the source looks for a newer one
   * @throws CallError
   */
  obtain(refused?: string): Promise<VersionedPassword>
}

/** A password that changes only with the configuration. */
export function fixedPassword(value: Secret): PasswordSource {
  const current = versioned(value)
  return { current, obtain: () => Promise.resolve(current) }
}

export interface CommandTimes {
  /** How long a password is used before the program runs again, in milliseconds. */
  readonly intervalMs: number
  /** How long the program may take, in milliseconds. */
  readonly timeoutMs: number
  readonly monotonicMs: () => number
}

const TIMES: CommandTimes = {
  intervalMs: 300_000,
  timeoutMs: 10_000,
  monotonicMs: () => performance.now(),
}

/** Most that a program may print, in bytes. */
const OUTPUT_BYTES_MAX = 65_536

/**
 * The password that a program prints. It runs at the first login, again after a refused login, and once in a
 * while.
 */
export class PasswordCommand implements PasswordSource {
  readonly #profile: string
  readonly #command: readonly string[]
  readonly #times: CommandTimes
  #current: VersionedPassword | undefined
  #obtainedMs = Number.NEGATIVE_INFINITY
  #running: Promise<VersionedPassword> | undefined

  /** @param profile name of the profile, for errors @param command the program and its arguments */
  constructor(profile: string, command: readonly string[], times: Partial<CommandTimes> = {}) {
    this.#profile = profile
    this.#command = command
    this.#times = { ...TIMES, ...times }
  }

  get current(): VersionedPassword | undefined {
    // A new password is looked for beside the calls, which use the old one meanwhile. If that is refused, the
    // program runs again.
    if (this.#current !== undefined && this.#age() > this.#times.intervalMs) {
      this.#obtainedMs = this.#times.monotonicMs()
      this.#run().catch(() => {})
    }
    return this.#current
  }

  obtain(refused?: string): Promise<VersionedPassword> {
    const { current } = this
    return current === undefined || current.version === refused ? this.#run() : Promise.resolve(current)
  }

  #age(): number {
    return this.#times.monotonicMs() - this.#obtainedMs
  }

  /** One run at a time: calls that come meanwhile wait for it. */
  #run(): Promise<VersionedPassword> {
    this.#running ??= this.#output().then(
      (value) => {
        this.#running = undefined
        this.#obtainedMs = this.#times.monotonicMs()
        this.#current = versioned(value)
        return this.#current
      },
      (error) => {
        this.#running = undefined
        throw error
      },
    )
    return this.#running
  }

  #output(): Promise<Secret> {
    const [program = '', ...args] = this.#command
    const { timeoutMs } = this.#times
    return new Promise((resolve, reject) => {
      const fail = (problem: string) =>
        reject(callError('PROFILE_PASSWORD_UNAVAILABLE', { profile: this.#profile, problem }))
      const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: OUTPUT_BYTES_MAX } as const
      const options = { ...limits, encoding: 'buffer' } as const
      // The errors that the program prints may quote secrets, so they are dropped.
      const child = execFile(program, args, options, (error, stdout) => {
        const line = secretLine(stdout)
        if (error !== null) fail(problemOf(error, timeoutMs))
        else if (line === undefined) fail(`printed what is not ${SECRET_EXPECTED}`)
        else if (line === '') fail('printed nothing in its first line')
        else resolve(new Secret(line))
      })
      child.stdin?.end()
      child.stdin?.on('error', () => {})
    })
  }
}

function problemOf(error: { code?: unknown; killed?: boolean; signal?: unknown }, timeoutMs: number): string {
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${OUTPUT_BYTES_MAX} bytes`
  if (error.killed) return `did not end within ${timeoutMs} ms`
  if (typeof error.code === 'string') return `cannot be run (${error.code})`
  return `ended with ${error.code === undefined || error.code === null ? String(error.signal) : `code ${error.code}`}`
}

/** Keyed, so that a version says nothing about the password. */
const VERSION_KEY = randomBytes(32)

function versioned(value: Secret): VersionedPassword {
  return { value, version: createHmac('sha256', VERSION_KEY).update(value.reveal()).digest('base64') }
}
