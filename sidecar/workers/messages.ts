/** What the primary and its workers say to each other, over the channel that Node opens between them. */
import type { Config } from '../config/config.ts'
import type { ErrorCode } from '../errors.ts'
import { Secret } from '../secret.ts'

/** From a worker to the primary. */
export type FromWorker =
  /** It listens to its channel; what is sent before that is lost. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly listening: Listening }
  /** It cannot serve; it waits to be told to stop, so that this is heard. */
  | { readonly type: 'refused'; readonly message: string }
  | LoginQuestion

/** From the primary to a worker. */
export type FromPrimary =
  | {
      readonly type: 'start'
      readonly config: SentConfig
      /** Whether another worker listens on the addresses already. */
      readonly addressesHeld: boolean
    }
  /** Read the matrix file again. */
  | { readonly type: 'reload' }
  /** Let calls finish, then end. */
  | { readonly type: 'stop' }
  | LoginAnswer

/** Where a worker serves, and by which rules. */
export interface Listening {
  readonly grpcAddress: string
  readonly httpAddress?: string | undefined
  readonly matrixDigest: string
}

/** A call of `LoginThrottle`, which the primary answers. */
export interface LoginQuestion {
  readonly type: 'login'
  /** Comes back with the answer. */
  readonly id: number
  readonly call: 'admit' | 'failed' | 'succeeded'
  readonly login: readonly [account: string, userName: string, address: string]
}

export interface LoginAnswer {
  readonly type: 'login'
  readonly id: number
  /** The parts of a `NoAnswer`; absent: let through, or counted. */
  readonly refusal?: {
    readonly code: ErrorCode
    readonly message: string
    readonly reason: string
    readonly metadata: Readonly<Record<string, string>>
  }
}

/** A configuration as it crosses the channel, which nobody else can read: its one secret is in the clear. */
export type SentConfig = Omit<Config, 'directory'> & {
  readonly directory: Omit<Config['directory'], 'url'> & { readonly url?: string | undefined }
}

export function sentConfig(config: Config): SentConfig {
  const { url, ...directory } = config.directory
  return { ...config, directory: { ...directory, url: url?.reveal() } }
}

export function receivedConfig(sent: SentConfig): Config {
  const { url, ...directory } = sent.directory
  return { ...sent, directory: { ...directory, ...(url !== undefined && { url: new Secret(url) }) } }
}
