/**
 * The answer to one request: the path that nearly every call takes. It makes nothing that outlives the call.
 */

import type { CallStatus, StatusOf, UnaryMethod } from '../../contract/call.ts'
import { prefixOf } from '../framed-messages.ts'
import { statusFields } from '../grpc-fields.ts'
import { RepeatedFields } from '../http2/hpack/encoder.ts'
import { ANSWER_FIELDS, type CallStream } from './head.ts'

export interface GrpcSettings {
  readonly maxMessageBytes: number
  readonly statusOf: StatusOf
  /** Other metadata is not kept. */
  readonly metadataNames: ReadonlySet<string>
}

export const HEADERS = new RepeatedFields(...ANSWER_FIELDS)
export const TRAILERS_OK = new RepeatedFields(['grpc-status', '0'])

/** Runs the handler. @returns undefined: it has thrown, and the call has ended */
export function runUnary(
  stream: CallStream,
  handle: UnaryMethod,
  request: Buffer,
  { statusOf }: GrpcSettings,
): Buffer | Promise<Buffer> | undefined {
  try {
    return handle(request, stream.head)
  } catch (error) {
    failBeforeAnswer(stream, statusOf(error, stream.head))
    return undefined
  }
}

export function answer(stream: CallStream, response: Buffer): void {
  stream.answer(HEADERS, prefixOf(response), response, TRAILERS_OK)
}

/** Ends a call that has had no response: the status is in the only header fields (trailers-only). */
export function failBeforeAnswer(stream: CallStream, status: CallStatus): void {
  stream.sendHeaders([...ANSWER_FIELDS, ...statusFields(status)])
  stream.end()
}
