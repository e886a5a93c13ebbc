/** The certificates of a TLS listener. They are read again when a file changes; connections that are open stay as they are. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { experimental, type ServerCredentials } from '@grpc/grpc-js'
import { WatchedFile } from '../base/watched-file.ts'

/** PEM files for a listener that other machines can reach. Every client must present a certificate. */
export interface TlsFiles {
  readonly certificate: string
  readonly key: string
  readonly client_ca: string
}

/** The contents of the files. */
interface Certificates {
  readonly certificate: Buffer
  readonly key: Buffer
  readonly clientCa: Buffer
}

export interface CertificateEvents {
  readonly onChanged: (validUntil: string) => void
  /** The changed files cannot be used. The last good ones stay in force. */
  readonly onRefused: (error: Error) => void
}

/** Time between two looks at the files, in milliseconds. */
const POLL_MS = 1_000

type CaListener = experimental.CaCertificateUpdateListener
type IdentityListener = experimental.IdentityCertificateUpdateListener

/** Watches the files, and tells grpc-js about every new set of certificates. */
export class TlsCertificates {
  readonly #watched: readonly WatchedFile<Certificates>[]
  readonly #caListeners = new Set<CaListener>()
  readonly #identityListeners = new Set<IdentityListener>()
  #current: Certificates

  /** @throws Error that names the key of the configuration and the file */
  constructor(files: TlsFiles, { onChanged, onRefused }: CertificateEvents) {
    const options = {
      pollMs: POLL_MS,
      // All files at once: a certificate without its key is of no use.
      read: () => readCertificates(files),
      onChanged: (changed: Certificates) => {
        // Another of the three files has brought these already.
        if (sameBytes(changed, this.#current)) return
        this.#change(changed)
        onChanged(new X509Certificate(changed.certificate).validTo)
      },
      onRefused,
    }
    this.#watched = Object.values(files).map((path) => new WatchedFile({ path, ...options }))
    this.#current = readCertificates(files)
  }

  /** Credentials of a server that uses the current certificates, and requires one of every client. */
  credentials(): ServerCredentials {
    const provider: experimental.CertificateProvider = {
      addCaCertificateListener: (listener) => this.#addCa(listener),
      removeCaCertificateListener: (listener) => void this.#caListeners.delete(listener),
      addIdentityCertificateListener: (listener) => this.#addIdentity(listener),
      removeIdentityCertificateListener: (listener) => void this.#identityListeners.delete(listener),
    }
    return experimental.createCertificateProviderServerCredentials(provider, provider, true)
  }

  /** Looks at the files now. */
  reload(): void {
    for (const file of this.#watched) file.reload()
  }

  close(): void {
    for (const file of this.#watched) file.close()
  }

  #addCa(listener: CaListener): void {
    this.#caListeners.add(listener)
    // grpc-js is ready for the first update only after this call.
    queueMicrotask(() => this.#caListeners.has(listener) && listener(caOf(this.#current)))
  }

  #addIdentity(listener: IdentityListener): void {
    this.#identityListeners.add(listener)
    queueMicrotask(() => this.#identityListeners.has(listener) && listener(identityOf(this.#current)))
  }

  #change(changed: Certificates): void {
    this.#current = changed
    for (const listener of this.#caListeners) listener(caOf(changed))
    for (const listener of this.#identityListeners) listener(identityOf(changed))
  }
}

function sameBytes(some: Certificates, others: Certificates): boolean {
  return (
    some.certificate.equals(others.certificate) &&
    some.key.equals(others.key) &&
    some.clientCa.equals(others.clientCa)
  )
}

const caOf = ({ clientCa }: Certificates) => ({ caCertificate: clientCa })
const identityOf = ({ certificate, key }: Certificates) => ({ certificate, privateKey: key })

/** @throws Error that names the key of the configuration and the file */
function readCertificates(files: TlsFiles): Certificates {
  const certificate = readPem('certificate', files)
  const key = readPem('key', files)
  const clientCa = readPem('client_ca', files)
  check(`grpc.tls.client_ca: ${files.client_ca}`, () => {
    for (const [pem] of clientCa.toString('latin1').matchAll(CERTIFICATE)) new X509Certificate(pem)
    // Without any certificate, the file would shut out every client, and nothing else would say why.
    new X509Certificate(clientCa)
  })
  check(`grpc.tls: ${files.certificate} and ${files.key}`, () =>
    createSecureContext({ cert: certificate, key, ca: clientCa }),
  )
  return { certificate, key, clientCa }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readPem(name: keyof TlsFiles, files: TlsFiles): Buffer {
  try {
    return readFileSync(files[name])
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // With the code, a transient error is told from a bad file.
    throw Object.assign(
      new Error(`grpc.tls.${name}: ${files[name]} cannot be read (${code})`, { cause: error }),
      { code },
    )
  }
}

function check(what: string, use: () => unknown): void {
  try {
    use()
  } catch (error) {
    throw new Error(`${what} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
