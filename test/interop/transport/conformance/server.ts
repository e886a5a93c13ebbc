/**
 * A server for Connect's conformance runner: it reads from standard input what server is wanted, starts it,
 * and prints where it listens. Arguments: the transport, the folder with the protos, and for HTTP their
 * descriptors.
 */
import { buffer } from 'node:stream/consumers'
import { conformanceMethods, loadProtos, type Wishes } from './service.ts'

interface ServerRequest {
  readonly use_tls: boolean
  readonly client_tls_cert: Buffer
  readonly message_receive_limit: number
  readonly server_creds: { readonly cert: Buffer; readonly key: Buffer } | null
}

const [transport = '', protos = '', descriptors = ''] = process.argv.slice(2)
const type = loadProtos(protos)

const input = await buffer(process.stdin)
const asked = type('ServerCompatRequest').deserialize(input.subarray(4)) as unknown as ServerRequest
const { use_tls: useTls, client_tls_cert: clientCa, server_creds: own, message_receive_limit: limit } = asked
const wishes: Wishes = {
  maxMessageBytes: limit === 0 ? undefined : limit,
  ...(useTls &&
    own && {
      tls: { certificate: own.cert, key: own.key, clientCa: clientCa.length === 0 ? undefined : clientCa },
    }),
}
const methods = conformanceMethods(type)
const port = await serve()
const answer = type('ServerCompatResponse').serialize({
  host: '127.0.0.1',
  port,
  ...(own && useTls && { pem_cert: own.cert }),
})
const length = Buffer.alloc(4)
length.writeUInt32BE(answer.length)
process.stdout.write(Buffer.concat([length, answer]))
process.once('SIGTERM', () => process.exit(0))

async function serve(): Promise<number> {
  if (transport === 'sockets') return (await import('./sockets.ts')).serveOnSockets(methods, wishes)
  if (transport === 'http') return (await import('./http.ts')).serveOverHttp(methods, wishes, descriptors)
  throw new Error(`no transport ${transport}`)
}
