/** The callers of the configuration, read again when its file, a token file or the administrator token changes. */
import { createHash } from 'node:crypto'
import { WatchedFile } from '../base/watched-file.ts'
import { administratorTokenFile, readAdministratorToken } from './administrator-token.ts'
import { rightsOf } from './caller-rights.ts'
import { type Config, readCallersOfFile } from './config.ts'
import { type ConfiguredCaller, readCallers } from './credentials.ts'

/** Time between two looks at each file, in milliseconds. */
const POLL_MS = 1000

export interface WatchedCallersOptions {
  readonly config: Config
  /** Names of the profiles that callers may be bound to. */
  readonly profiles: ReadonlySet<string>
  readonly onChanged: (callers: readonly ConfiguredCaller[]) => void
  /** The files cannot be used, so the callers stay as they are. */
  readonly onRefused: (error: Error) => void
  /** The token file of a caller was deleted, so the caller is withdrawn. */
  readonly onWithdrawn: (name: string) => void
}

export class WatchedCallers {
  readonly #options: WatchedCallersOptions
  readonly #files = new Map<string, WatchedFile<void>>()
  /** The callers at the start. */
  readonly initial: readonly ConfiguredCaller[]

  /** @throws ConfigError, or an Error about the administrator token */
  constructor(options: WatchedCallersOptions) {
    this.#options = options
    this.#watch(options.config.callers ?? [])
    this.initial = this.#read(options.config.callers ?? [])
  }

  /** Reads all files now. */
  reload(): void {
    const { config, onChanged, onRefused, onWithdrawn } = this.#options
    try {
      const configured = config.file === undefined ? [] : readCallersOfFile(config.file)
      // A watch begins before its file is read, so that no change is missed between the two.
      this.#watch(configured)
      onChanged(this.#read(configured, onWithdrawn))
    } catch (error) {
      onRefused(error as Error)
    }
  }

  close(): void {
    for (const file of this.#files.values()) file.close()
    this.#files.clear()
  }

  #read(
    configured: NonNullable<Config['callers']>,
    onWithdrawn?: (name: string) => void,
  ): ConfiguredCaller[] {
    const callers = readCallers(configured, this.#options.profiles, onWithdrawn)
    const administrator = this.#administrator(onWithdrawn)
    return administrator === undefined ? callers : [...callers, administrator]
  }

  /** The operator of the data folder: a user who can read that folder could change it anyway. */
  #administrator(onWithdrawn?: (name: string) => void): ConfiguredCaller | undefined {
    const { config, profiles } = this.#options
    if (!config.administrator_token) return undefined
    const name = 'administrator'
    try {
      const token = readAdministratorToken(config.data)
      const tokenSha256 = createHash('sha256').update(token.reveal()).digest('hex')
      const rights = rightsOf(['everything'])
      return { name, tokenSha256, certificateName: undefined, profiles, rights, expiresAtMs: undefined }
    } catch (error) {
      if (onWithdrawn === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      onWithdrawn(name)
      return undefined
    }
  }

  #watch(configured: NonNullable<Config['callers']>): void {
    const { config } = this.#options
    const paths = new Set([
      ...(config.file === undefined ? [] : [config.file]),
      ...(config.administrator_token ? [administratorTokenFile(config.data)] : []),
      ...configured.flatMap(({ token_file: path }) => path ?? []),
    ])
    for (const [path, file] of this.#files)
      if (!paths.has(path)) {
        file.close()
        this.#files.delete(path)
      }
    for (const path of paths) {
      if (this.#files.has(path)) continue
      const reload = () => this.reload()
      const file = new WatchedFile({
        path,
        pollMs: POLL_MS,
        read: () => {},
        onChanged: reload,
        onRefused: reload,
      })
      this.#files.set(path, file)
    }
  }
}
