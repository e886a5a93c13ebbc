/** A flood of HTTP/2: what is sent, and how. */
import type { Bound } from '../../../sidecar/transports/http2/protocol.ts'

export interface Flood {
  /** Sent after the preface. */
  readonly opening: Buffer
  /** The bytes to repeat, for the stream of that number; absent: nothing. */
  readonly frames?: (stream: number) => Buffer
  /** Connections at the same time; absent: 2. */
  readonly connections?: number
  /** Whether the attacker reads what it gets; absent: yes. */
  readonly reads?: false
  /** The log's count because of it; absent: it stays below every bound, and nothing is refused. */
  readonly bound?: Bound
  /**
   * Time between two writes of the frames, one by one, in milliseconds; absent: as fast as they are taken.
   */
  readonly everyMs?: number
}
