/** Translates errors to gRPC statuses, with `google.rpc` details in the trailer. No other file does. */

import { BadRequest, ErrorInfo, RetryInfo } from '../../proto/gen/google/rpc/error_details.ts'
import { Status } from '../../proto/gen/google/rpc/status.ts'
import { CallError, callError } from '../base/call-error.ts'
import { type CallStatus, STATUS } from './call.ts'

/** `domain` of every `google.rpc.ErrorInfo` that Portcullis sends. */
const ERROR_DOMAIN = 'portcullis'

/**
 * How a call ends. An unknown error becomes `INTERNAL` without its cause, which the caller must log.
 *
 * @param requestId by which an operator finds the line of the log
 */
export function statusOfError(error: unknown, requestId?: string): CallStatus {
  const failed = error instanceof CallError ? error : callError('INTERNAL', {})
  const { message, reason, violations, metadata: facts } = failed
  const code = STATUS[failed.code]
  const details = [
    ErrorInfo.encode({
      reason,
      domain: ERROR_DOMAIN,
      metadata: { ...facts, ...(requestId !== undefined && { request_id: requestId }) },
    }).finish(),
  ].map((value) => ({ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: Buffer.from(value) }))
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
  const exhausted = failed.code === 'RESOURCE_EXHAUSTED' && failed.row.retry
  const seconds = facts.retry_after_seconds ?? (exhausted ? '1' : undefined)
  if (seconds !== undefined)
    details.push({
      typeUrl: 'type.googleapis.com/google.rpc.RetryInfo',
      value: Buffer.from(RetryInfo.encode({ retryDelay: { seconds: Number(seconds), nanos: 0 } }).finish()),
    })
  return { code, message, details: Buffer.from(Status.encode({ code, message, details }).finish()) }
}
