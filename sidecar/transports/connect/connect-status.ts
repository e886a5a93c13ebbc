/** How a call ends, in the words of Connect and of gRPC-Web. No other file chooses them. */
import { fromBinary } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { type CallStatus, STATUS } from '../../contract/call.ts'
import { statusFields } from '../grpc-fields.ts'
import type { Descriptors } from './json-codec.ts'

type Code = keyof typeof STATUS

interface CodeRow {
  /** The name of the code in Connect's protocol. */
  readonly name: string
  /** Status of the answer to a call with one message. A stream answers 200, and ends with the error. */
  readonly http: number
}

/** The table of Connect's protocol, by the codes of gRPC. */
const CODES: Readonly<Record<Exclude<Code, 'OK'>, CodeRow>> = {
  CANCELLED: { name: 'canceled', http: 499 },
  UNKNOWN: { name: 'unknown', http: 500 },
  INVALID_ARGUMENT: { name: 'invalid_argument', http: 400 },
  DEADLINE_EXCEEDED: { name: 'deadline_exceeded', http: 504 },
  NOT_FOUND: { name: 'not_found', http: 404 },
  ALREADY_EXISTS: { name: 'already_exists', http: 409 },
  PERMISSION_DENIED: { name: 'permission_denied', http: 403 },
  RESOURCE_EXHAUSTED: { name: 'resource_exhausted', http: 429 },
  FAILED_PRECONDITION: { name: 'failed_precondition', http: 400 },
  ABORTED: { name: 'aborted', http: 409 },
  OUT_OF_RANGE: { name: 'out_of_range', http: 400 },
  UNIMPLEMENTED: { name: 'unimplemented', http: 501 },
  INTERNAL: { name: 'internal', http: 500 },
  UNAVAILABLE: { name: 'unavailable', http: 503 },
  DATA_LOSS: { name: 'data_loss', http: 500 },
  UNAUTHENTICATED: { name: 'unauthenticated', http: 401 },
}

const ROWS: ReadonlyMap<number, CodeRow> = new Map(
  Object.entries(CODES).map(([code, row]) => [STATUS[code as Code], row]),
)

/** An error of a call with one message: the status of HTTP. */
export function httpStatusOf({ code }: CallStatus): number {
  return rowOf(code).http
}

function rowOf(code: number): CodeRow {
  return ROWS.get(code) ?? CODES.UNKNOWN
}

/** Connect's error: the body of the answer, or a part of the last message of a stream. */
export function errorOf({ code, message, details }: CallStatus, descriptors: Descriptors): object {
  return {
    code: rowOf(code).name,
    message,
    ...(details && { details: anysIn(details).map((any) => detailOf(any, descriptors)) }),
  }
}

/** A detail with its bytes for programs, and its JSON for people. */
function detailOf({ typeUrl, value }: { typeUrl: string; value: Uint8Array }, descriptors: Descriptors) {
  const type = typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
  const debug = descriptors.debug(type, value)
  return {
    type,
    value: Buffer.from(value).toString('base64').replace(/=+$/, ''),
    ...(debug !== undefined && { debug }),
  }
}

/** Field of the details in `google.rpc.Status`. */
const DETAILS = 3

/** The details of an encoded `google.rpc.Status`. */
function anysIn(status: Buffer) {
  const anys = []
  const reader = new BinaryReader(status)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === DETAILS) anys.push(fromBinary(AnySchema, reader.bytes()))
    else reader.skip(type, field)
  }
  return anys
}

/** Flags of an envelope: the last one of an answer of Connect, and the one with the trailers of gRPC-Web. */
const END_OF_STREAM = 0x02
const TRAILERS = 0x80

/** The end of a stream of Connect. @param status absent: no error */
export function connectEnd(status: CallStatus | undefined, descriptors: Descriptors): Buffer {
  const end = status === undefined ? {} : { error: errorOf(status, descriptors) }
  return envelope(Buffer.from(JSON.stringify(end)), END_OF_STREAM)
}

/** The end of a call of gRPC-Web: its trailers, in the body. */
export function grpcWebEnd(status: CallStatus = { code: STATUS.OK, message: '' }): Buffer {
  const lines = statusFields(status).map(([name, value]) => `${name}: ${value}\r\n`)
  return envelope(Buffer.from(lines.join('')), TRAILERS)
}

/** Bytes with their length before them. */
export function envelope(bytes: Buffer, flags = 0): Buffer {
  const whole = Buffer.allocUnsafe(5 + bytes.length)
  whole.writeUInt8(flags)
  whole.writeUInt32BE(bytes.length, 1)
  bytes.copy(whole, 5)
  return whole
}
