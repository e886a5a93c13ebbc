/**
 * The callers, profiles and upstreams of the configuration, read again when its file, a file with a secret or
 * the administrator token changes.
 */
import { createHash } from 'node:crypto'
import { WatchedFile } from '../base/watched-file.ts'
import { administratorTokenFile, readAdministratorToken } from './administrator-token.ts'
import { rightsOf } from './caller-rights.ts'
import { type Config, type CredentialsConfig, readCredentialsOfFile } from './config.ts'
import { type ConfiguredCaller, readCallers } from './configured-callers.ts'
import { type ConfiguredCredentials, filesOfProfiles, readProfiles } from './profiles-config.ts'

/** Time between two looks at each file, in milliseconds. */
const POLL_MS = 1000

export interface WatchedCredentialsOptions {
  readonly config: Config
  readonly onCallers: (callers: readonly ConfiguredCaller[]) => void
  /** The files cannot be used, so the callers stay as they are. */
  readonly onRefused: (error: Error) => void
  /** The profiles and the upstreams, whether or not they changed. */
  readonly onProfiles: (credentials: ConfiguredCredentials) => void
  /**
   * A profile or an upstream cannot be used, so all of them stay as they are. The callers are followed
   * anyway.
   */
  readonly onProfilesRefused: (error: Error) => void
  /** The token file of a caller was deleted, so the caller is withdrawn. */
  readonly onWithdrawn: (name: string) => void
}

export class WatchedCredentials {
  readonly #options: WatchedCredentialsOptions
  readonly #files = new Map<string, WatchedFile<void>>()
  /** The credentials at the start. */
  readonly initial: ConfiguredCredentials & { readonly callers: readonly ConfiguredCaller[] }

  /** @throws ConfigError, or an Error about the administrator token */
  constructor(options: WatchedCredentialsOptions) {
    this.#options = options
    this.#watch(options.config)
    this.initial = { ...readProfiles(options.config), callers: this.#readCallers(options.config) }
  }

  /** Reads all files now. */
  reload(): void {
    const { config, onRefused, onProfiles, onProfilesRefused, onCallers, onWithdrawn } = this.#options
    let configured: CredentialsConfig
    try {
      configured = config.file === undefined ? {} : readCredentialsOfFile(config.file)
      // A watch begins before its file is read, so that no change is missed between the two.
      this.#watch(configured)
      onCallers(this.#readCallers(configured, onWithdrawn))
    } catch (error) {
      onRefused(error as Error)
      return
    }
    try {
      onProfiles(readProfiles(configured))
    } catch (error) {
      onProfilesRefused(error as Error)
    }
  }

  close(): void {
    for (const file of this.#files.values()) file.close()
    this.#files.clear()
  }

  #readCallers(
    configured: CredentialsConfig,
    onWithdrawn?: (name: string) => void,
  ): readonly ConfiguredCaller[] {
    const profiles = new Set(Object.keys(configured.profiles ?? {}))
    const callers = readCallers(configured.callers ?? [], profiles, onWithdrawn)
    const administrator = this.#administrator(profiles, onWithdrawn)
    return administrator === undefined ? callers : [...callers, administrator]
  }

  /** The operator of the data folder: a user who can read that folder could change it anyway. */
  #administrator(
    profiles: ReadonlySet<string>,
    onWithdrawn?: (name: string) => void,
  ): ConfiguredCaller | undefined {
    const { config } = this.#options
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

  #watch(configured: CredentialsConfig): void {
    const { config } = this.#options
    const paths = new Set([
      ...(config.file === undefined ? [] : [config.file]),
      ...(config.administrator_token ? [administratorTokenFile(config.data)] : []),
      ...(configured.callers ?? []).flatMap(({ token_file: path }) => path ?? []),
      ...filesOfProfiles(configured),
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
