/** Calls that a sidecar without a directory hands on to the one that it follows. */

/** What a call presents to say who makes it, by the name of its header field. */
export type Presented = Readonly<Record<string, readonly string[]>>

/** Hands on a call of the contract. @throws RefusedElsewhere, or CallError where no sidecar answers */
export type Forward = (path: string, request: Buffer, presented: Presented) => Promise<Buffer>

/** The sidecar that has the directory has refused a call. */
export class RefusedElsewhere extends Error {
  override readonly name = 'RefusedElsewhere'
  /** Of gRPC. */
  readonly code: number
  /** An encoded `google.rpc.Status`. */
  readonly details: Buffer

  constructor(code: number, message: string, details: Buffer) {
    super(message)
    this.code = code
    this.details = details
  }
}
