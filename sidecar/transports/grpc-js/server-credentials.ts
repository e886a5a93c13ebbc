/** The credentials of a gRPC server with TLS. They follow the certificates as those change. */
import { experimental, type ServerCredentials } from '@grpc/grpc-js'
import type { Certificates, WatchedCertificates } from '../../base/net/certificates.ts'

/**
 * Credentials of a server that requires a certificate of every client.
 *
 * @param certificates with the authorities of clients
 */
export function serverCredentials(certificates: WatchedCertificates): ServerCredentials {
  const authorities = new Listeners(certificates, ({ clientCa }) => ({
    // Without authorities no client gets in.
    caCertificate: clientCa ?? Buffer.alloc(0),
  }))
  const identity = new Listeners(certificates, ({ certificate, key }) => ({ certificate, privateKey: key }))
  const provider: experimental.CertificateProvider = {
    addCaCertificateListener: (listener) => authorities.add(listener),
    removeCaCertificateListener: (listener) => authorities.remove(listener),
    addIdentityCertificateListener: (listener) => identity.add(listener),
    removeIdentityCertificateListener: (listener) => identity.remove(listener),
  }
  return experimental.createCertificateProviderServerCredentials(provider, provider, true)
}

/** What grpc-js wants to be told about: the authorities, or the identity of the server. */
class Listeners<T> {
  readonly #certificates: WatchedCertificates
  readonly #part: (certificates: Certificates) => T
  readonly #listeners = new Map<(update: T | null) => void, () => void>()

  constructor(certificates: WatchedCertificates, part: (certificates: Certificates) => T) {
    this.#certificates = certificates
    this.#part = part
  }

  add(listener: (update: T | null) => void): void {
    const tell = (certificates: Certificates) => listener(this.#part(certificates))
    this.#listeners.set(listener, this.#certificates.follow(tell))
    // grpc-js is ready for the first update only after this call.
    queueMicrotask(() => this.#listeners.has(listener) && tell(this.#certificates.current))
  }

  remove(listener: (update: T | null) => void): void {
    this.#listeners.get(listener)?.()
    this.#listeners.delete(listener)
  }
}
