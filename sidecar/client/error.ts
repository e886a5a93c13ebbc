/** The error of the client: there is no answer, and this is why. */
import { type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { BadRequest, ErrorInfo } from '../gen/google/rpc/error_details.ts'
import { Status } from '../gen/google/rpc/status.ts'

/** There is no answer; treat it as a denial. */
export class PortcullisError extends Error {
  override readonly name = 'PortcullisError'
  /** gRPC status name, for example `UNAVAILABLE` or `DEADLINE_EXCEEDED`. */
  readonly code: keyof typeof status
  /** Machine-readable reason of the sidecar, for example `LOGIN_FAILED`; empty where it did not get that far. */
  readonly reason: string
  /** Fields of the request that are not as expected. */
  readonly violations: readonly { readonly field: string; readonly description: string }[]
  /** Further facts, for example the plan for APIs that no single token opens. */
  readonly metadata: Readonly<Record<string, string>>

  constructor(error: ServiceError) {
    super(error.details || error.message)
    this.code = status[error.code] as keyof typeof status
    const { reason, metadata, violations } = detailsOf(error.metadata)
    this.reason = reason
    this.violations = violations
    this.metadata = metadata
  }
}

function detailsOf(
  trailer: Metadata | undefined,
): Pick<PortcullisError, 'reason' | 'violations' | 'metadata'> {
  let reason = ''
  let metadata: Record<string, string> = {}
  let violations: { field: string; description: string }[] = []
  const [bytes] = trailer?.get('grpc-status-details-bin') ?? []
  if (Buffer.isBuffer(bytes))
    for (const { typeUrl, value } of Status.decode(bytes).details) {
      if (typeUrl.endsWith('/google.rpc.ErrorInfo')) ({ reason, metadata } = ErrorInfo.decode(value))
      if (typeUrl.endsWith('/google.rpc.BadRequest'))
        violations = BadRequest.decode(value).fieldViolations.map(({ field, description }) => ({
          field,
          description,
        }))
    }
  return { reason, violations, metadata }
}
