/** What the primary and its workers say to each other, over the channel that Node opens between them. */
import type { LoginAttempt, LoginOutcome } from '../authority/throttle.ts'
import type { CallErrorReason } from '../base/call-error.ts'
import { Secret } from '../base/secret.ts'
import type { Config } from '../config/config.ts'

/** From a worker to the primary. */
export type FromWorker =
  /** It listens to its channel; what is sent before that is lost. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly listening: Listening }
  /** It cannot serve; it waits to be told to stop, so that this is heard. */
  | { readonly type: 'refused'; readonly message: string }
  | LoginQuestion
  | LoginSettled
  /** It changed the directory, and waits until the others have forgotten what they remember of it. */
  | { readonly type: 'changed'; readonly id: number }
  /** The answer to `forget`. */
  | { readonly type: 'forgotten'; readonly id: number }
  /** The answer to `probe`. */
  | { readonly type: 'alive' }

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
  /** The answer to `changed`. */
  | { readonly type: 'change_heard'; readonly id: number }
  /** Another worker changed the directory. */
  | { readonly type: 'forget'; readonly id: number }
  /** Give a sign of life. */
  | { readonly type: 'probe' }

/** Where a worker serves, and by which rules. */
export interface Listening {
  readonly grpcAddress: string
  readonly httpAddress?: string | undefined
  readonly matrixDigest: string
}

/** A worker asks the primary to admit a login, and waits for the answer. */
export interface LoginQuestion {
  readonly type: 'login'
  /** Of the login, among those of its worker. */
  readonly id: number
  readonly attempt: LoginAttempt
}

export interface LoginAnswer {
  readonly type: 'login'
  readonly id: number
  /** The parts of a `CallError`; absent: admitted. */
  readonly refusal?: {
    readonly message: string
    readonly reason: CallErrorReason
    readonly metadata: Readonly<Record<string, string>>
  }
}

/** What became of a login that was admitted. Nobody waits for an answer: its place is taken until this has arrived. */
export interface LoginSettled {
  readonly type: 'login_settled'
  readonly id: number
  readonly outcome: LoginOutcome
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
