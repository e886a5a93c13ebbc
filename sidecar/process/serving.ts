/** A running sidecar, and its options. */
import type { Logger } from 'pino'
import type { Administration } from '../authority/administration/administration.ts'
import type { LoginThrottle } from '../authority/throttle.ts'
import type { HealthState } from '../base/health.ts'
import type { Metric } from '../base/metrics.ts'
import type { ConnectionSource } from '../base/net/connections.ts'
import type { ChangeAuthor } from '../directory/author.ts'
import type { Siblings } from '../directory/open-directory.ts'
import type { HttpTimeLimits } from '../http/options.ts'
import type { Rules } from '../rules/rules.ts'
import type {
  OperationName,
  OperationRequest,
  OperationResult,
} from '../usecases/administration/administer.ts'
import type { Shadow } from '../usecases/shadow.ts'
import type { Addresses } from './open/open-servers.ts'
import type { TokenSiblings } from './open/profiles-in-force.ts'

/** A running server: one sidecar, or several of them in workers. */
export interface Serving extends Addresses {
  /** Address of the health listener: `HOST:PORT` or `unix:PATH`; `undefined` if it is off. */
  readonly healthAddress: string | undefined
  /** Digest of the current matrix. With workers it is the digest from the time when they became ready. */
  readonly matrixDigest: string
  /** Digest of the exact rules: of that matrix and the mode. */
  readonly rulesDigest: string
  /** Digest of the matrix beside it, from the time when it became ready; `undefined`: there is none. */
  readonly shadowDigest: string | undefined
  /**
   * Reads again the matrix files, the TLS certificates, the callers of the configuration and the secrets of
   * proxies.
   */
  reload(): void
  /** Writes a snapshot for the operator into the data folder; with workers, one of each. */
  diagnose(): void
  /** Lets calls finish, then closes. May be called more than once. */
  close(): Promise<void>
}

/** A sidecar that runs in this process. */
export interface Sidecar extends Serving {
  readonly rules: Rules
  /** `undefined`: no second matrix is computed beside the one in force. */
  readonly shadow: Shadow | undefined
  readonly administration: Administration
  /**
   * Administers the directory by an operation of the contract. The program has every right.
   *
   * @throws CallError
   */
  run<Name extends OperationName>(
    author: ChangeAuthor,
    operation: Name,
    request: OperationRequest<Name>,
  ): Promise<OperationResult<Name>>
  /** The metrics of this process; none where they are off. */
  metrics(): readonly Metric[]
}

export interface StartOptions {
  /** Receives the health at each change. */
  readonly onHealth?: (state: HealthState) => void
  /** Whether metrics are counted; default: whether the configuration has a listener for them. */
  readonly metrics?: boolean
  /** Destination of log lines; default: standard error. */
  readonly log?: Logger
  /** Wall clock, in milliseconds since the epoch. */
  readonly now?: () => number
  /** Counts failed logins; default: a throttle of this process. */
  readonly failedLogins?: LoginThrottle
  /**
   * Other processes on this host that use the same shared directory and the same upstreams; default: none.
   */
  readonly siblings?: Siblings & TokenSiblings
  /** Whether it takes the place of one that served with the same configuration. */
  readonly again?: boolean
  /** Accepts the connections; default: this process does. */
  readonly connections?: ConnectionSource
  /** Times that are not part of the configuration. Tests shorten those that they would wait for. */
  readonly times?: {
    /** Time between two looks at the file of signing keys, in milliseconds; default: 1,000. */
    readonly keyPollMs?: number
    /** How slow an HTTP client may be; default: 5 seconds for the headers, 10 for the request. */
    readonly http?: Partial<HttpTimeLimits>
  }
}
