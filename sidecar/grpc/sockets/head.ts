/** What the header fields of a call say: which method, until when, and who calls. */
import type { HeaderList } from '../../http2/hpack/decoder.ts'
import type { Field } from '../../http2/hpack/encoder.ts'
import type { HeaderField } from '../../http2/hpack/header-field.ts'
import type { Stream } from '../../http2/stream.ts'
import { type CallContext, type ClientConnection, type Method, type Methods, STATUS } from '../call.ts'
import { statusFields, timeoutMs } from './text.ts'

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
  readonly #fields: readonly HeaderField[]
  /** undefined: the call is refused. */
  readonly method: Method | undefined
  readonly refusal: Refusal | undefined
  /** Until when the client waits, from the beginning of the call, in milliseconds. */
  readonly timeoutMs: number
  /** Whether messages may be compressed. */
  readonly gzip: boolean

  constructor({ fields, tooLarge }: HeaderList, methods: Methods, connection: ClientConnection) {
    this.connection = connection
    this.#fields = fields
    const timeout = this.#value('grpc-timeout')
    const parsed = timeout === undefined ? Number.POSITIVE_INFINITY : timeoutMs(timeout)
    this.timeoutMs = parsed ?? 0
    this.gzip = this.#value('grpc-encoding') === 'gzip'
    const method = methods.get(this.#value(':path') ?? '')
    this.refusal = tooLarge
      ? refused(STATUS.RESOURCE_EXHAUSTED, 'the metadata is larger than the server accepts')
      : (this.#httpRefusal() ?? this.#refusal(method, parsed))
    this.method = this.refusal === undefined ? method : undefined
  }

  metadata(name: string): readonly string[] {
    const values: string[] = []
    for (const field of this.#fields) if (field.name === name) values.push(field.value)
    return values
  }

  #value(name: string): string | undefined {
    for (const field of this.#fields) if (field.name === name) return field.value
    return undefined
  }

  /** A client that does not speak gRPC gets an answer of HTTP. */
  #httpRefusal(): Refusal | undefined {
    if (this.#value(':method') !== 'POST') return notGrpc([':status', '405'], ['allow', 'POST'])
    return CONTENT_TYPE.test(this.#value('content-type') ?? '') ? undefined : notGrpc([':status', '415'])
  }

  #refusal(method: Method | undefined, timeout: number | undefined): Refusal | undefined {
    // The path is not repeated: somebody may have put a credential there.
    if (method === undefined) return refused(STATUS.UNIMPLEMENTED, 'the server does not implement the method')
    if (timeout === undefined)
      return refused(
        STATUS.INTERNAL,
        'grpc-timeout: expected up to eight digits and a unit of H, M, S, m, u, n',
      )
    const encoding = this.#value('grpc-encoding')
    if (encoding === undefined || ENCODINGS.includes(encoding)) return undefined
    return refused(STATUS.UNIMPLEMENTED, `grpc-encoding: expected one of ${ENCODINGS.join(', ')}`, [
      'grpc-accept-encoding',
      ENCODINGS.join(','),
    ])
  }
}

function refused(code: number, message: string, ...more: Field[]): Refusal {
  return { fields: [...ANSWER_FIELDS, ...statusFields({ code, message }), ...more], body: undefined }
}

const NOT_GRPC = Buffer.from('expected a call of gRPC: POST with the content type application/grpc\n')

function notGrpc(...fields: Field[]): Refusal {
  return { fields: [...fields, ['content-type', 'text/plain']], body: NOT_GRPC }
}
