/** gRPC with methods of every kind, for tests of damaged bytes. */
import { type Method, type Methods, STATUS, StatusError } from '../../../sidecar/contract/call.ts'
import type { Application } from '../../../sidecar/transports/http2/application.ts'
import { GrpcApplication } from '../../../sidecar/transports/sockets/application.ts'

/**
 * @param answer of each method that answers with something of its own
 * @param more methods beside them
 */
export function everyKind(
  answer: Buffer,
  more: readonly [path: string, Method][] = [],
): Application<unknown> {
  const methods: Methods = new Map<string, Method>([
    ...more,
    ['/unary', { type: 'unary', handle: () => answer }],
    [
      '/fails',
      {
        type: 'unary',
        handle: () => {
          throw new StatusError({ code: STATUS.NOT_FOUND, message: 'nothing' })
        },
      },
    ],
    ['/stream', { type: 'server_stream', handle: (_request, responses) => responses.write(answer) }],
    [
      '/bidi',
      {
        type: 'bidi',
        handle: (responses) => ({
          next: (request) => responses.write(request),
          end: () => responses.end(),
        }),
      },
    ],
  ])
  return new GrpcApplication(methods, {
    maxMessageBytes: 1_000,
    statusOf: (error) => {
      if (error instanceof StatusError) return error.status
      throw error
    },
    metadataNames: new Set(),
  }) as Application<unknown>
}
