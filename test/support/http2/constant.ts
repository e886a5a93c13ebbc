/** A server of HTTP/2 that answers every request with the same few bytes, however long the request is. */
import { createServer } from 'node:net'
import type { Application } from '../../../sidecar/transports/http2/application.ts'
import { RepeatedFields } from '../../../sidecar/transports/http2/hpack/encoder.ts'
import { Http2Server, type ServerOptions } from '../../../sidecar/transports/http2/http2-server.ts'
import type { Stream } from '../../../sidecar/transports/http2/stream.ts'

const HEADERS = new RepeatedFields([':status', '200'], ['content-type', 'text/plain'])
const TRAILERS = new RepeatedFields(['x-end', 'yes'])
const NO_PREFIX = Buffer.alloc(0)

export function constant(body: Buffer): Application<undefined> {
  const respond = (stream: Stream<undefined>) => stream.answer(HEADERS, NO_PREFIX, body, TRAILERS)
  return {
    readHead: () => undefined,
    open: (stream) => {
      if (stream.remoteEnded) respond(stream)
    },
    data: (stream, _bytes, start, end) => {
      if (stream.remoteEnded) respond(stream)
      else {
        stream.release(end - start)
        stream.expect(1)
      }
    },
    aborted: () => {},
    resume: () => {},
    late: () => {},
    turnEnds: () => {},
  }
}

/** Serves an application on a free port. */
export async function serve<Head>(app: Application<Head>, options?: ServerOptions) {
  const http2 = new Http2Server(app, options)
  const server = createServer({ noDelay: true }, (socket) =>
    http2.accept(socket, { address: socket.remoteAddress }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    http2,
    port,
    close: async () => {
      server.close()
      await http2.close(1_000)
    },
  }
}
