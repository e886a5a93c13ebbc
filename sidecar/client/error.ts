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

  /** @param asked whom, and how long they had; streams have no deadline */
  constructor(error: ServiceError, asked?: Asked) {
    super((asked && unansweredText(error, asked)) ?? (error.details || error.message))
    this.code = status[error.code] as keyof typeof status
    const { reason, metadata, violations } = detailsOf(error.metadata)
    this.reason = reason
    this.violations = violations
    this.metadata = metadata
  }
}

/** Whom a call was made to. */
export interface Asked {
  readonly address: string
  readonly deadlineMs?: number
}

/** What grpc-js says of its own connections, in words; `undefined` for what a sidecar said. */
function unansweredText({ code, details }: ServiceError, { address, deadlineMs }: Asked): string | undefined {
  if (code === status.DEADLINE_EXCEEDED && deadlineMs !== undefined)
    return `no answer from ${address} within ${deadlineMs} ms`
  if (code !== status.UNAVAILABLE || !/^(No connection established|Name resolution failed)/.test(details))
    return undefined
  const [, why] = CONNECTION_FAILURES.find(([pattern]) => pattern.test(details)) ?? []
  return `no sidecar answers at ${address} (${why ?? /\bE[A-Z]{3,}\b/.exec(details)?.[0] ?? 'no connection'})`
}

const CONNECTION_FAILURES: readonly (readonly [RegExp, string])[] = [
  [/^Name resolution failed/, 'no such host'],
  [/\bECONNREFUSED\b/, 'connection refused'],
  [/\bENOENT\b/, 'no such socket'],
  [/\bEACCES\b/, 'permission denied'],
  [/\bProtocol error\b/, 'something else than gRPC is there'],
]

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
