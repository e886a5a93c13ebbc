/** Accepts connections, from the operating system or from another process, with or without TLS. */
import type { Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { type CertificateName, namesOfCertificate } from '../base/certificate-name.ts'
import { ipAddress } from '../base/ip-address.ts'
import { BySocket } from '../base/net/by-socket.ts'
import type { Certificates, WatchedCertificates } from '../base/net/certificates.ts'
import {
  ConnectionTable,
  connectionSource,
  type HeldConnection,
  type TableBound,
} from '../base/net/connection-table.ts'
import { ownConnections } from '../base/net/listen.ts'
import type { ClientConnection } from '../contract/call.ts'
import type { TransportOptions } from './transport.ts'

/**
 * How long a handshake of TLS may take, in milliseconds, and how many there may be at the same time: of all,
 * and of one source.
 */
const HANDSHAKE_MS_MAX = 10_000
const HANDSHAKES_MAX = 512
const HANDSHAKES_OF_SOURCE_MAX = 256

/** The protocol that both sides must agree on during the handshake (RFC 9113, §3.2). */
const ALPN = 'h2'

export interface Listener {
  /** The address with the port that was bound. */
  readonly address: string
  /** Accepts no further connections. */
  close(): void
}

/** The receiver of connections. */
export interface Acceptor {
  /** Serves a connection. @param socket plain, or with TLS and a client whose certificate is verified */
  accept(socket: Socket, peer: ClientConnection): void
  /** There are too many handshakes. */
  exceeded(bound: TableBound): void
}

/** @throws Error if the address is in use, or cannot be bound */
export async function listen(
  options: Pick<TransportOptions, 'address' | 'socket' | 'certificates' | 'connections'>,
  acceptor: Acceptor,
): Promise<Listener> {
  const { address, certificates, socket: access, connections = ownConnections(access) } = options
  const tls = certificates && new TlsAcceptor(acceptor, certificates)
  try {
    const listening = await connections.listen('grpc', address, (socket) => {
      socket.setNoDelay(true)
      if (tls === undefined) acceptor.accept(socket, plainConnection(socket))
      else tls.accept(socket)
    })
    return {
      address: listening.address,
      close: () => {
        listening.close()
        tls?.close()
      },
    }
  } catch (error) {
    tls?.close()
    throw error
  }
}

function plainConnection({ remoteAddress }: Socket): ClientConnection {
  return { address: ipAddress(remoteAddress), certificateNames: [] }
}

/** Makes secure connections of plain ones. */
class TlsAcceptor {
  readonly #acceptor: Acceptor
  readonly #server: TlsServer
  readonly #unfollow: () => void
  readonly #handshakes = new ConnectionTable<Handshake>({
    connections: HANDSHAKES_MAX,
    connectionsPerSource: HANDSHAKES_OF_SOURCE_MAX,
  })
  readonly #bySocket = new BySocket<Handshake>()

  constructor(acceptor: Acceptor, certificates: WatchedCertificates) {
    this.#acceptor = acceptor
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
    // A handshake holds memory before the client is known.
    const source = connectionSource(socket.remoteAddress)
    const bound = this.#handshakes.makeRoom(source, (exceeded) => this.#acceptor.exceeded(exceeded))
    if (bound !== undefined) {
      this.#acceptor.exceeded(bound)
      socket.on('error', () => {})
      socket.destroy()
      return
    }
    const handshake = new Handshake(socket, source)
    this.#handshakes.add(handshake)
    this.#bySocket.set(socket, handshake)
    socket.once('close', () => this.#handshakes.delete(handshake))
    this.#server.emit('connection', socket)
  }

  close(): void {
    this.#unfollow()
  }

  #secured(socket: TLSSocket): void {
    const handshake = this.#bySocket.get(socket)
    if (handshake !== undefined) this.#handshakes.delete(handshake)
    if (socket.alpnProtocol === ALPN && socket.authorized)
      this.#acceptor.accept(socket, secureConnection(socket))
    else socket.destroy()
  }
}

/** A connection whose client is not known yet. */
class Handshake implements HeldConnection {
  readonly #socket: Socket
  readonly source: string
  readonly isWorking = false
  readonly hasAnswered = false
  readonly sinceMs = performance.now()

  constructor(socket: Socket, source: string) {
    this.#socket = socket
    this.source = source
  }

  giveWay(): void {
    this.#socket.destroy()
  }
}

const TLS_VERSION_MIN = 'TLSv1.2'

function contextOf({ certificate, key, clientCa }: Certificates) {
  // Without authorities no client gets in.
  return { cert: certificate, key, ca: clientCa ?? Buffer.alloc(0), minVersion: TLS_VERSION_MIN } as const
}

/** The names of the certificate are read on request, which costs more than a check. */
function secureConnection(socket: TLSSocket): ClientConnection {
  let names: readonly CertificateName[] | undefined
  return {
    address: ipAddress(socket.remoteAddress),
    get certificateNames() {
      names ??= namesOfCertificate(socket.getPeerCertificate().subjectaltname)
      return names
    },
  }
}
