/** Calls that a sidecar without a directory forwards to the one that it follows. */
import { CallError } from '../base/call-error.ts'

/** The secrets by which a call shows its caller, by the name of its header field. */
export type Presented = Readonly<Record<string, readonly string[]>>

/** Forwards a call of the contract. @throws CallError where it is refused, or no sidecar answers */
export type Forward = (path: string, request: Buffer, presented: Presented) => Promise<Buffer>

/** How a call has ended at the sidecar that has the directory. */
interface StatusElsewhere {
  /** Of gRPC. */
  readonly code: number
  readonly message: string
  /** An encoded `google.rpc.Status`. */
  readonly details: Buffer
}

/** The sidecar that has the directory has refused a call. Where it is not forwarded, it is as any error. */
export class RefusedElsewhere extends CallError {
  readonly status: StatusElsewhere

  constructor({ reason, metadata }: CallError, status: StatusElsewhere) {
    super(reason, status.message, { metadata })
    this.status = status
  }
}
