/**
 * The messages between the primary and its workers. They use the channel that Node opens between the
 * processes.
 */
import type { LoginAttempt, LoginOutcome } from '../../authority/throttle.ts'
import type { CallErrorReason } from '../../base/call-error.ts'
import type { HealthState } from '../../base/health.ts'
import type { Metric } from '../../base/metrics.ts'
import type { Listener } from '../../base/net/connections.ts'
import { Secret } from '../../base/secret.ts'
import type { Config } from '../../config/config.ts'
import type { FeedRecord } from '../../directory/feed/touches.ts'

/** The argument that makes the single executable a worker. */
export const WORKER_WORD = '__worker'

/**
 * Number of the descriptor of a worker through which the primary asks whether a statement of SQLite runs.
 * The worker sends the question back while one does, or if one ran since the last question.
 */
export const STATEMENT_CHANNEL = 4

/** From a worker to the primary. */
export type FromWorker =
  /** The worker now listens to its channel. Messages that are sent earlier are lost. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly serving: WorkerServing }
  /** The health of the worker has changed. */
  | { readonly type: 'health'; readonly state: HealthState }
  /** The answer to `collect`. */
  | { readonly type: 'metrics'; readonly id: number; readonly metrics: readonly Metric[] }
  /** The worker cannot serve. It waits for `stop` before it ends, so that this message is not lost. */
  | { readonly type: 'start_failed'; readonly message: string }
  | ListenRequest
  /** The worker has the connection that the primary gave it last, and the primary can close its own copy. */
  | { readonly type: 'connection_taken'; readonly listener: Listener }
  /** The worker does not serve that connection. It is another worker's turn. */
  | { readonly type: 'connection_refused'; readonly listener: Listener }
  /** The worker takes no further connections. */
  | { readonly type: 'listener_closed'; readonly listener: Listener }
  | LoginRequest
  | LoginSettled
  /** The worker made a change. It waits until the other workers know of it. */
  | { readonly type: 'changed'; readonly id: number; readonly change: WorkerChange }
  /** The answer to `hear_change`. */
  | { readonly type: 'change_heard'; readonly id: number }
  /** The answer to `probe`. */
  | { readonly type: 'alive' }

/** From the primary to a worker. */
export type FromPrimary =
  /** @see StartOptions.again */
  | { readonly type: 'start'; readonly config: SentConfig; readonly again: boolean }
  /** Read the matrix file and the TLS certificates again. */
  | { readonly type: 'reload' }
  /** Write a diagnostic snapshot. */
  | { readonly type: 'diagnose' }
  /** Let calls finish, then end. */
  | { readonly type: 'stop' }
  | ListenAnswer
  /**
   * A connection for the worker, which comes with this message. The next one comes when the worker has
   * answered.
   */
  | { readonly type: 'connection'; readonly listener: Listener }
  | LoginAdmission
  /** The answer to `changed`. */
  | { readonly type: 'change_acknowledged'; readonly id: number }
  /** Another worker made a change. */
  | { readonly type: 'hear_change'; readonly id: number; readonly change: WorkerChange }
  /** Answer with `metrics`. */
  | { readonly type: 'collect'; readonly id: number }
  /** Answer with `alive`. */
  | { readonly type: 'probe' }

/** The directory's records of a change, or the digest of the token of an upstream that was revoked. */
export type WorkerChange = { readonly records: readonly FeedRecord[] } | { readonly token: string }

/** A worker asks for the connections of an address. The primary listens there for all workers. */
export interface ListenRequest {
  readonly type: 'listen'
  readonly id: number
  readonly listener: Listener
  readonly address: string
}

export type ListenAnswer = { readonly type: 'listening'; readonly id: number } & (
  | { readonly address: string; readonly error?: undefined }
  | { readonly address?: undefined; readonly error: string }
)

/** The addresses of a worker, and the digests of its rules. */
export interface WorkerServing {
  readonly grpcAddress: string
  readonly httpAddress?: string | undefined
  readonly egressAddress?: string | undefined
  readonly matrixDigest: string
  readonly rulesDigest: string
  readonly shadowDigest?: string | undefined
}

/** A worker asks the primary to admit a login, and waits for the answer. */
export interface LoginRequest {
  readonly type: 'login'
  /** Number of the login, unique within its worker. */
  readonly id: number
  readonly attempt: LoginAttempt
}

export interface LoginAdmission {
  readonly type: 'login'
  readonly id: number
  /** The parts of a `CallError`. Absent if the login is admitted. */
  readonly refusal?: {
    readonly message: string
    readonly reason: CallErrorReason
    readonly metadata: Readonly<Record<string, string>>
  }
}

/** The result of an admitted login. It has no answer. Until it arrives, the login counts as in progress. */
export interface LoginSettled {
  readonly type: 'login_settled'
  readonly id: number
  readonly outcome: LoginOutcome
}

/**
 * A configuration for the channel. Its only secret is in the clear, because no other process can read the
 * channel.
 */
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
