/** The decision log as use cases see it. */
import type { IpAddress } from '../base/ip-address.ts'
import type { DecisionListener } from './asker.ts'
import type { DecisionSearch } from './decision-search.ts'

/** How a question came. */
export type Protocol =
  | 'grpc'
  | 'grpc-batch'
  | 'grpc-stream'
  | 'connect'
  | 'ext_authz'
  | 'ext_authz-http'
  | 'authorize'
  | 'authzen'

/** The asker, and its protocol. */
export interface AskerFacts {
  readonly protocol: Protocol
  /** Of the caller; `undefined`: a Unix socket, or none is known. */
  readonly address: IpAddress | undefined
  /** Name of the caller in the configuration; `undefined`: nothing identifies them. */
  readonly name: string | undefined
  /** The values of the header `traceparent` (W3C Trace Context). */
  readonly traceparent: readonly string[]
  /** The values of the header `x-request-id`. */
  readonly requestIds: readonly string[]
  /** Whether a request that is denied passes anyway, because proxies are only observed. */
  readonly observed?: boolean
}

/**
 * Is shown a line as soon as it is made: the bytes from `start` to `end`, with the end of the line. They are
 * others after the call, so a reader that wants to keep a line copies it.
 */
export type LineFollower = (bytes: Buffer, start: number, end: number) => void

export interface DecisionLog {
  /** Searches the lines that this host has kept; `undefined`: they go elsewhere. */
  readonly search: DecisionSearch | undefined
  /** How many of a hundred decisions have a line that allow and are not contested. All others have one. */
  readonly samplePercent: number
  /** Gets every line; `undefined`: no follower, which costs nothing. It must not throw. */
  follower: LineFollower | undefined
  /**
   * @param next hears of those decisions that have their line, or need none; `undefined`: no further listener
   */
  listener(facts: AskerFacts, next: DecisionListener | undefined): DecisionListener
  /**
   * Listeners for the contexts of calls. Calls with the same context have the same one, which costs less than
   * one for each of them.
   *
   * @param factsOf what the context of a call says
   * @param next as of `listener`
   */
  listeners<Context extends object>(
    factsOf: (context: Context) => AskerFacts,
    next: DecisionListener | undefined,
  ): (context: Context) => DecisionListener
}
