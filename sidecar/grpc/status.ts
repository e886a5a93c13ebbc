/** Translates errors to gRPC statuses, with `google.rpc` details in the trailer. No other file does. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { CallError, callError, type ErrorCode } from '../base/call-error.ts'
import { BadRequest, ErrorInfo, RetryInfo } from '../gen/google/rpc/error_details.ts'
import { Status } from '../gen/google/rpc/status.ts'

/** `domain` of every `google.rpc.ErrorInfo` that Portcullis sends. */
export const ERROR_DOMAIN = 'portcullis'

/** Makes the error that grpc-js sends. An unknown error becomes `INTERNAL` without its cause, which the caller must log. */
export function serviceError(error: unknown): Pick<ServiceError, 'code' | 'details' | 'metadata'> & Error {
  const failed = error instanceof CallError ? error : callError('INTERNAL', {})
  const { message, reason, violations, metadata: facts } = failed
  const code = statusOf(failed.code)
  const details = [ErrorInfo.encode({ reason, domain: ERROR_DOMAIN, metadata: { ...facts } }).finish()].map(
    (value) => ({ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: Buffer.from(value) }),
  )
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, expected }) => ({
      field,
      description: `expected ${expected}`,
      reason: 'INVALID_FIELD',
      localizedMessage: undefined,
    }))
    details.push({
      typeUrl: 'type.googleapis.com/google.rpc.BadRequest',
      value: Buffer.from(BadRequest.encode({ fieldViolations }).finish()),
    })
  }
  const { retry_after_seconds: seconds } = facts
  if (seconds !== undefined)
    details.push({
      typeUrl: 'type.googleapis.com/google.rpc.RetryInfo',
      value: Buffer.from(RetryInfo.encode({ retryDelay: { seconds: Number(seconds), nanos: 0 } }).finish()),
    })
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(Status.encode({ code, message, details }).finish()))
  return Object.assign(new Error(message), { code, details: message, metadata })
}

function statusOf(code: ErrorCode): status {
  switch (code) {
    case 'INVALID_ARGUMENT':
      return status.INVALID_ARGUMENT
    case 'UNAUTHENTICATED':
      return status.UNAUTHENTICATED
    case 'PERMISSION_DENIED':
      return status.PERMISSION_DENIED
    case 'FAILED_PRECONDITION':
      return status.FAILED_PRECONDITION
    case 'NOT_FOUND':
      return status.NOT_FOUND
    case 'ALREADY_EXISTS':
      return status.ALREADY_EXISTS
    case 'RESOURCE_EXHAUSTED':
      return status.RESOURCE_EXHAUSTED
    case 'UNAVAILABLE':
      return status.UNAVAILABLE
    case 'CANCELLED':
      return status.CANCELLED
    case 'INTERNAL':
      return status.INTERNAL
  }
}
