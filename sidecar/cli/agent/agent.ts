/** The token agent: keeps tokens fresh in files, each by itself, and follows its configuration. */
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { AgentConfig, AgentToken } from '../../config/agent-config.ts'
import { type Clock, systemClock } from './agent-clock.ts'
import { Keeper } from './keeper.ts'
import { type FileAccess, numberOf } from './token-file.ts'
import type { TokenSource } from './token-source.ts'

export interface AgentOptions {
  /** Reads the configuration. @throws Error if it cannot be used */
  readonly readConfig: () => AgentConfig
  /** Connects to the sidecar of a configuration. */
  readonly openSource: (config: AgentConfig) => TokenSource
  readonly log: Logger
  /** Called while a file has no good token, again and again. */
  readonly onWithoutToken?: ((file: string) => void) | undefined
  readonly clock?: Clock
  /** From 0 to less than 1. */
  readonly random?: () => number
}

/** A token that is kept fresh. */
interface Kept {
  readonly token: AgentToken
  readonly stop: AbortController
  readonly ended: Promise<void>
}

export class Agent {
  readonly #options: AgentOptions
  #config: AgentConfig
  #access: ReadonlyMap<AgentToken, FileAccess>
  #source: TokenSource
  #kept: readonly Kept[] = []

  /** @throws ConfigError, or an Error that names a user or a group */
  constructor(options: AgentOptions) {
    this.#options = options
    this.#config = options.readConfig()
    this.#access = accessOf(this.#config)
    this.#source = options.openSource(this.#config)
  }

  /**
   * Writes every file once. Returns those that could not be written, or whose application was not notified.
   */
  async once(): Promise<string[]> {
    const keepers = this.#config.tokens.map((token) => this.#keeperOf(token))
    await Promise.all(keepers.map((keeper) => keeper.step()))
    this.#source.close()
    return this.#config.tokens.flatMap(({ file }, index) => (keepers[index]?.isDone ? [] : [file]))
  }

  start(): void {
    this.#kept = this.#config.tokens.map((token) => this.#keep(token))
  }

  /**
   * Reads the configuration again. Unchanged parts go on undisturbed. One that cannot be used changes
   * nothing.
   */
  reload(): void {
    const { readConfig, openSource, log } = this.#options
    let config: AgentConfig
    let access: ReadonlyMap<AgentToken, FileAccess>
    try {
      config = readConfig()
      access = accessOf(config)
    } catch (error) {
      log.error(
        { problem: (error as Error).message },
        'the configuration cannot be used; the last good one stays in force',
      )
      return
    }
    const { tokens: earlier, ...rest } = this.#config
    const { tokens, ...now } = config
    const isSameSource = isDeepStrictEqual(rest, now)
    const left = isSameSource
      ? this.#kept.filter(({ token }) => tokens.some((each) => isDeepStrictEqual(each, token)))
      : []
    for (const kept of this.#kept) if (!left.includes(kept)) kept.stop.abort()
    if (!isSameSource) {
      this.#source.close()
      this.#source = openSource(config)
    }
    this.#config = config
    this.#access = access
    this.#kept = tokens.map(
      (token) => left.find((kept) => isDeepStrictEqual(kept.token, token)) ?? this.#keep(token),
    )
    log.info({ files: tokens.length, before: earlier.length }, 'the configuration was read again')
  }

  /** Ends. The files stay as they are. */
  async close(): Promise<void> {
    for (const { stop } of this.#kept) stop.abort()
    this.#source.close()
    await Promise.all(this.#kept.map(({ ended }) => ended))
  }

  #keep(token: AgentToken): Kept {
    const stop = new AbortController()
    const onWithoutToken = () => this.#options.onWithoutToken?.(token.file)
    return { token, stop, ended: this.#keeperOf(token).run(stop.signal, onWithoutToken) }
  }

  #keeperOf(token: AgentToken): Keeper {
    const { log, clock = systemClock, random = Math.random } = this.#options
    const { checkIntervalMs } = this.#config
    const access = this.#access.get(token) as FileAccess
    return new Keeper({ token, access, source: this.#source, clock, random, checkIntervalMs, log })
  }
}

/** @throws Error that names the key of a user or group that is not there */
function accessOf({ tokens }: AgentConfig): ReadonlyMap<AgentToken, FileAccess> {
  return new Map(
    tokens.map((token, index) => {
      const { mode, owner, group } = token
      const find = (key: 'owner' | 'group', name: string | number | undefined) => {
        try {
          return name === undefined ? undefined : numberOf(key === 'owner' ? 'passwd' : 'group', name)
        } catch (error) {
          throw new Error(`tokens[${index}].${key}: ${(error as Error).message}`)
        }
      }
      return [token, { mode, uid: find('owner', owner), gid: find('group', group) }]
    }),
  )
}
