/** Accepts connections, from the operating system or from another process, with or without TLS. */
import { createServer as createNetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { addressInUse } from '../../base/address.ts'
import { type CertificateName, namesOfCertificate } from '../../base/certificate-name.ts'
import type { Certificates, WatchedCertificates } from '../../base/certificates.ts'
import { listenOn } from '../../base/listen.ts'
import type { Http2Server } from '../../http2/server.ts'
import type { ClientConnection } from '../call.ts'
import type { TransportOptions } from '../transport.ts'
import type { CallHead } from './head.ts'

/** How long a handshake of TLS may take, in milliseconds, and how many there may be at the same time. */
const HANDSHAKE_MS_MAX = 10_000
const HANDSHAKES_MAX = 512

/** The protocol that both sides must agree on during the handshake (RFC 9113, §3.2). */
const ALPN = 'h2'

export interface Listener {
  /** The address with the port that was bound. */
  readonly address: string
  /** Accepts no more connections. */
  close(): void
}

/** @throws Error if the address is in use, or cannot be bound */
export async function listen(
  http2: Http2Server<CallHead>,
  options: Pick<TransportOptions, 'address' | 'certificates' | 'connections'>,
): Promise<Listener> {
  const { address, certificates, connections } = options
  const tls = certificates && new TlsAcceptor(http2, certificates)
  const take = (socket: Socket) => {
    socket.setNoDelay(true)
    if (tls === undefined) http2.accept(socket, plainConnection(socket))
    else tls.accept(socket)
  }
  if (connections !== undefined) {
    const listening = await connections.listen('grpc', address, take)
    return closing(listening.address, [listening], tls)
  }
  try {
    const { servers, bound } = await listenOn('grpc', address, () =>
      createNetServer({ allowHalfOpen: true }, take),
    )
    return closing(bound, servers, tls)
  } catch (error) {
    tls?.close()
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw addressInUse({ listener: 'grpc', address })
    throw error
  }
}

function closing(
  address: string,
  listening: readonly { close(): unknown }[],
  tls: TlsAcceptor | undefined,
): Listener {
  return {
    address,
    close: () => {
      for (const each of listening) each.close()
      tls?.close()
    },
  }
}

function plainConnection({ remoteAddress }: Socket): ClientConnection {
  return { address: remoteAddress, certificateNames: [] }
}

/** Makes secure connections of plain ones. */
class TlsAcceptor {
  readonly #http2: Http2Server<CallHead>
  readonly #server: TlsServer
  readonly #unfollow: () => void
  readonly #handshaking = new Set<Duplex>()

  constructor(http2: Http2Server<CallHead>, certificates: WatchedCertificates) {
    this.#http2 = http2
    this.#server = createTlsServer({
      ...contextOf(certificates.current),
      ALPNProtocols: [ALPN],
      requestCert: true,
      rejectUnauthorized: true,
      handshakeTimeout: HANDSHAKE_MS_MAX,
      allowHalfOpen: true,
    })
    this.#server.on('secureConnection', (socket) => this.#secured(socket))
    // Node closes the connection.
    this.#server.on('tlsClientError', () => {})
    this.#unfollow = certificates.follow((changed) => this.#server.setSecureContext(contextOf(changed)))
  }

  accept(socket: Socket): void {
    // A handshake costs more than a call, and holds memory before anybody is known.
    const bound = this.#http2.boundReached(socket.remoteAddress)
    if (bound !== undefined || this.#handshaking.size >= HANDSHAKES_MAX) {
      this.#http2.exceeded(bound ?? 'connections')
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    this.#handshaking.add(socket)
    socket.once('close', () => this.#handshaking.delete(socket))
    this.#server.emit('connection', socket)
  }

  close(): void {
    this.#unfollow()
  }

  #secured(socket: TLSSocket): void {
    if (socket.alpnProtocol === ALPN && socket.authorized)
      this.#http2.accept(socket, secureConnection(socket))
    else socket.destroy()
  }
}

const TLS_VERSION_MIN = 'TLSv1.2'

function contextOf({ certificate, key, clientCa }: Certificates) {
  // Without authorities no client gets in.
  return { cert: certificate, key, ca: clientCa ?? Buffer.alloc(0), minVersion: TLS_VERSION_MIN } as const
}

/** The names of the certificate are read when somebody asks, which costs more than a check. */
function secureConnection(socket: TLSSocket): ClientConnection {
  let names: readonly CertificateName[] | undefined
  return {
    address: socket.remoteAddress,
    get certificateNames() {
      names ??= namesOfCertificate(socket.getPeerCertificate().subjectaltname)
      return names
    },
  }
}
