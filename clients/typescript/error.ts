/** The error of the client: why there is no answer. */
import type { Metadata, ServiceError, status } from '@grpc/grpc-js'
import { BadRequest, ErrorInfo } from '../../proto/gen/google/rpc/error_details.ts'
import { Status } from '../../proto/gen/google/rpc/status.ts'

type StatusName = keyof typeof status

/**
 * The names of the status codes of gRPC, in the order of their numbers. To load grpc-js for them would take a
 * tenth of a second.
 */
const STATUS_NAMES: readonly StatusName[] = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
]

/** The call got no answer. Treat it as a denial. */
export class PortcullisError extends Error {
  override readonly name = 'PortcullisError'
  /** gRPC status name, for example `UNAVAILABLE` or `DEADLINE_EXCEEDED`. */
  readonly code: StatusName
  /** The sidecar's machine-readable reason, for example `LOGIN_FAILED`. Empty if no sidecar answered. */
  readonly reason: string
  /** Fields of the request that are not as expected. */
  readonly violations: readonly { readonly field: string; readonly description: string }[]
  /** Further facts, for example a plan for APIs that no single token opens. */
  readonly metadata: Readonly<Record<string, string>>

  /** @param call the sidecar's address and the deadline of the call */
  constructor(error: Failure, call?: AttemptedCall) {
    super((call && connectionErrorText(error, call)) ?? (error.details || error.message))
    this.code = STATUS_NAMES[error.code] as StatusName
    const { reason, metadata, violations } = detailsOf(error.metadata)
    this.reason = reason
    this.violations = violations
    this.metadata = metadata
  }
}

/** The used parts of an error of grpc-js. */
type Failure = Pick<ServiceError, 'code' | 'details' | 'message'> & {
  readonly metadata?: Pick<Metadata, 'get'>
}

/** The error of a call of a client that was closed. */
export function closedError(): PortcullisError {
  return errorWith('CANCELLED', 'the client is closed')
}

/** The error of a call that its signal has ended. */
export function cancelledError(): PortcullisError {
  return errorWith('CANCELLED', 'Cancelled on client')
}

/** The error of a call that has waited for an answer for too long. */
export function lateError(call: AttemptedCall): PortcullisError {
  return errorWith('DEADLINE_EXCEEDED', '', call)
}

/** The error of an answer that the contract does not allow. */
export function wrongAnswerError(expected: string): PortcullisError {
  return errorWith('INTERNAL', `the sidecar sent an answer that cannot be: expected ${expected}`)
}

function errorWith(name: StatusName, details: string, call?: AttemptedCall): PortcullisError {
  return new PortcullisError({ code: STATUS_NAMES.indexOf(name), details, message: details }, call)
}

/** A call that failed. */
export interface AttemptedCall {
  readonly address: string
  /** Absent for streams, which have no deadline. */
  readonly deadlineMs?: number
}

/** Explains a connection error of grpc-js. `undefined` if the error came from a sidecar. */
function connectionErrorText(
  { code, details }: Failure,
  { address, deadlineMs }: AttemptedCall,
): string | undefined {
  const name = STATUS_NAMES[code]
  if (name === 'DEADLINE_EXCEEDED' && deadlineMs !== undefined)
    return `no answer from ${address} within ${deadlineMs} ms`
  if (name !== 'UNAVAILABLE' || !/^(No connection established|Name resolution failed)/.test(details))
    return undefined
  const [, cause] = CONNECTION_FAILURES.find(([pattern]) => pattern.test(details)) ?? []
  return `no sidecar answers at ${address} (${cause ?? /\bE[A-Z]{3,}\b/.exec(details)?.[0] ?? 'no connection'})`
}

const CONNECTION_FAILURES: readonly (readonly [RegExp, string])[] = [
  [/^Name resolution failed/, 'no such host'],
  [/\bECONNREFUSED\b/, 'connection refused'],
  [/\bENOENT\b/, 'no such socket'],
  [/\bEACCES\b/, 'permission denied'],
  [/\bProtocol error\b/, 'the server does not speak gRPC'],
  [
    /wrong version number|alert protocol version/,
    'the server does not speak TLS, or no common version of it',
  ],
  [/ALTNAME_INVALID/, 'its certificate has another name than the host; expected the server name of `tls`'],
  [/certificate has expired|not yet valid/, 'its certificate is not valid now'],
  [
    /self-signed|unable to (get|verify)/,
    'its certificate is signed by no authority that is trusted here; expected one of `ca`',
  ],
  [/alert certificate required|alert handshake failure/, 'it expects a client certificate'],
  [/alert (bad certificate|unknown ca|.*certificate)/, 'it does not accept the client certificate'],
  [
    /Failed to connect|\bECONNRESET\b|\bEPIPE\b/,
    'it ended the connection: it may expect TLS, or another client certificate',
  ],
]

function detailsOf(
  trailer: Failure['metadata'],
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
