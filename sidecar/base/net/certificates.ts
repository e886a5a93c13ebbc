/**
 * The certificates of a listener with TLS. They are read again when a file changes, and new connections use
 * them. Connections that are open stay as they are.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../bounded-file.ts'
import { WatchedFile } from '../watched-file.ts'

/** Paths of PEM files, by their keys in the configuration. */
export interface CertificateFiles {
  readonly certificate: string
  readonly key: string
  /** The authorities of the clients' certificates, where clients must present one. */
  readonly client_ca?: string | undefined
}

/** The contents of the files. */
export interface Certificates {
  readonly certificate: Buffer
  readonly key: Buffer
  readonly clientCa: Buffer | undefined
}

export interface CertificateEvents {
  readonly onChanged: (validUntil: string) => void
  /** The changed files cannot be used. The last good ones stay in force. */
  readonly onRefused: (error: Error) => void
}

/** Time between two looks at the files, in milliseconds. */
const POLL_MS = 1_000

/** The time before its end at which a certificate should be renewed, in milliseconds: 30 days. */
export const RENEWED_MS_BEFORE = 2_592_000_000

export class WatchedCertificates {
  readonly #watched: readonly WatchedFile<Certificates>[]
  readonly #followers = new Set<(changed: Certificates) => void>()
  #current: Certificates

  /**
   * @param at key of the configuration that has the files, for errors: `grpc.tls`
   * @throws Error that names the key of the configuration and the file
   */
  constructor(at: string, files: CertificateFiles, { onChanged, onRefused }: CertificateEvents) {
    const options = {
      pollMs: POLL_MS,
      // All files at once: a certificate without its key is useless.
      read: () => readCertificates(at, files),
      onChanged: (changed: Certificates) => {
        // Another of the files has brought these already.
        if (sameBytes(changed, this.#current)) return
        this.#current = changed
        for (const follower of this.#followers) follower(changed)
        onChanged(new X509Certificate(changed.certificate).validTo)
      },
      onRefused,
    }
    const paths = [files.certificate, files.key, ...(files.client_ca === undefined ? [] : [files.client_ca])]
    this.#watched = paths.map((path) => new WatchedFile({ path, ...options }))
    this.#current = readCertificates(at, files)
  }

  get current(): Certificates {
    return this.#current
  }

  /** When the certificate of the listener expires, in milliseconds since the epoch. */
  get validUntilMs(): number {
    return new X509Certificate(this.#current.certificate).validToDate.getTime()
  }

  /** Calls `follower` with every new set from now on. Returns a function that ends this. */
  follow(follower: (changed: Certificates) => void): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  /** Looks at the files now. */
  reload(): void {
    for (const file of this.#watched) file.reload()
  }

  close(): void {
    for (const file of this.#watched) file.close()
    this.#followers.clear()
  }
}

function sameBytes(some: Certificates, others: Certificates): boolean {
  return (
    some.certificate.equals(others.certificate) &&
    some.key.equals(others.key) &&
    (some.clientCa?.equals(others.clientCa ?? Buffer.alloc(0)) ?? true)
  )
}

/** @throws Error that names the key of the configuration and the file */
function readCertificates(at: string, files: CertificateFiles): Certificates {
  const certificate = readPem(`${at}.certificate`, files.certificate)
  const key = readPem(`${at}.key`, files.key)
  const clientCa = files.client_ca === undefined ? undefined : readPem(`${at}.client_ca`, files.client_ca)
  if (clientCa !== undefined)
    check(`${at}.client_ca: ${files.client_ca}`, () => {
      certificatesIn(clientCa)
      // Without any certificate, the file would shut out every client, and nothing else would say why.
      new X509Certificate(clientCa)
    })
  check(`${at}: ${files.certificate} and ${files.key}`, () =>
    createSecureContext({ cert: certificate, key, ca: clientCa }),
  )
  return { certificate, key, clientCa }
}

/** The certificates of a PEM file, in its order. @throws Error where one cannot be read */
export function certificatesIn(pem: Buffer): X509Certificate[] {
  return Array.from(pem.toString('latin1').matchAll(CERTIFICATE), ([each]) => new X509Certificate(each))
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readPem(what: string, path: string): Buffer {
  try {
    return readAtMost(path, SMALL_FILE_BYTES_MAX)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The code distinguishes a transient error from a bad file.
    throw Object.assign(new Error(`${what}: ${path} cannot be read (${code})`, { cause: error }), { code })
  }
}

function check(what: string, use: () => unknown): void {
  try {
    use()
  } catch (error) {
    throw new Error(`${what} cannot be used: ${(error as Error).message}`, { cause: error })
  }
}
