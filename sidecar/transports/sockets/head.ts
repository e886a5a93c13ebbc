/** The facts in the header fields of a call: the method, the deadline, and the caller. */

import {
  type CallContext,
  type ClientConnection,
  type MetadataName,
  type Method,
  type Methods,
  STATUS,
} from '../../contract/call.ts'
import { statusFields, timeoutMs } from '../grpc-fields.ts'
import type { HeaderList } from '../http2/hpack/decoder.ts'
import type { Field } from '../http2/hpack/encoder.ts'
import type { HeaderField } from '../http2/hpack/header-field.ts'
import type { Stream } from '../http2/stream.ts'

/** The fields of every answer of gRPC. */
export const ANSWER_FIELDS: readonly Field[] = [
  [':status', '200'],
  ['content-type', 'application/grpc+proto'],
]

/** Content types whose messages are protobuf. */
const CONTENT_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/i

/** Encodings of messages that are understood. */
const ENCODINGS = ['identity', 'gzip']

/** The whole answer to a call that is refused. */
export interface Refusal {
  readonly fields: readonly Field[]
  /** For people. A client of gRPC gets none. */
  readonly body: Buffer | undefined
}

export type CallStream = Stream<CallHead>

/** The head of a call. Calls with equal fields on a connection share it. */
export class CallHead implements CallContext {
  readonly connection: ClientConnection
  /** By their names; a name that the call does not have is missing. */
  readonly #metadata = new Map<string, string[]>()
  /** undefined: the call is refused. */
  readonly method: Method | undefined
  readonly refusal: Refusal | undefined
  /** Until when the client waits, from the beginning of the call, in milliseconds. */
  readonly timeoutMs: number
  /** Whether messages may be compressed. */
  readonly gzip: boolean

  /**
   * @param metadataNames what handlers ask for. The other fields are not held while the call is open: a
   *   client could make that many.
   */
  constructor(
    { fields, tooLarge }: HeaderList,
    methods: Methods,
    connection: ClientConnection,
    metadataNames: ReadonlySet<string>,
  ) {
    this.connection = connection
    for (const { name, value } of fields) if (metadataNames.has(name)) this.#keep(name, value)
    const timeout = firstValue(fields, 'grpc-timeout')
    const parsed = timeout === undefined ? Number.POSITIVE_INFINITY : timeoutMs(timeout)
    this.timeoutMs = parsed ?? 0
    this.gzip = firstValue(fields, 'grpc-encoding') === 'gzip'
    const method = methods.get(firstValue(fields, ':path') ?? '')
    this.refusal = tooLarge
      ? refused(STATUS.RESOURCE_EXHAUSTED, 'the metadata is larger than the server accepts')
      : (httpRefusal(fields) ?? grpcRefusal(fields, method, parsed))
    this.method = this.refusal === undefined ? method : undefined
  }

  metadata(name: MetadataName): readonly string[] {
    return this.#metadata.get(name) ?? NO_VALUES
  }

  #keep(name: string, value: string): void {
    const values = this.#metadata.get(name)
    if (values === undefined) this.#metadata.set(name, [value])
    else values.push(value)
  }
}

const NO_VALUES: readonly string[] = []

function firstValue(fields: readonly HeaderField[], name: string): string | undefined {
  for (const field of fields) if (field.name === name) return field.value
  return undefined
}

/** A client that does not speak gRPC gets an answer of HTTP. */
function httpRefusal(fields: readonly HeaderField[]): Refusal | undefined {
  if (firstValue(fields, ':method') !== 'POST') return notGrpc([':status', '405'], ['allow', 'POST'])
  return CONTENT_TYPE.test(firstValue(fields, 'content-type') ?? '') ? undefined : notGrpc([':status', '415'])
}

function grpcRefusal(
  fields: readonly HeaderField[],
  method: Method | undefined,
  timeout: number | undefined,
): Refusal | undefined {
  // The path is not repeated: a client may have put a credential there.
  if (method === undefined) return refused(STATUS.UNIMPLEMENTED, 'the server does not implement the method')
  if (timeout === undefined)
    return refused(
      STATUS.INTERNAL,
      'grpc-timeout: expected up to eight digits and a unit of H, M, S, m, u, n',
    )
  const encoding = firstValue(fields, 'grpc-encoding')
  if (encoding === undefined || ENCODINGS.includes(encoding)) return undefined
  return refused(STATUS.UNIMPLEMENTED, `grpc-encoding: expected one of ${ENCODINGS.join(', ')}`, [
    'grpc-accept-encoding',
    ENCODINGS.join(','),
  ])
}

function refused(code: number, message: string, ...more: Field[]): Refusal {
  return { fields: [...ANSWER_FIELDS, ...statusFields({ code, message }), ...more], body: undefined }
}

const NOT_GRPC = Buffer.from('expected a call of gRPC: POST with the content type application/grpc\n')

function notGrpc(...fields: Field[]): Refusal {
  return { fields: [...fields, ['content-type', 'text/plain']], body: NOT_GRPC }
}
