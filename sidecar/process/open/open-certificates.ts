/** Opens the certificates of the listeners with TLS, and follows their files. */
import type { Logger } from 'pino'
import { type CertificateFiles, WatchedCertificates } from '../../base/net/certificates.ts'
import type { Config } from '../../config/config.ts'

/** The certificates of each listener with TLS. */
export interface OpenCertificates {
  readonly grpc: WatchedCertificates | undefined
  readonly http: WatchedCertificates | undefined
  /** Of each listener with TLS, in milliseconds since the epoch. */
  validUntil(): Readonly<Record<string, number>>
  reload(): void
  close(): void
}

/** @throws Error that names the key of the configuration and the file */
export function openCertificates({ grpc: { tls }, http }: Config, log: Logger): OpenCertificates {
  const open = (listener: 'grpc' | 'http', files: CertificateFiles) =>
    new WatchedCertificates(`${listener}.tls`, files, {
      onChanged: (validUntil) =>
        log.info({ listener, valid_until: validUntil }, 'new TLS certificates are in force'),
      onRefused: (error) =>
        log.error(
          { listener, problem: error.message },
          'the TLS certificates cannot be used; the last good ones stay in force',
        ),
    })
  const ofGrpc = tls && open('grpc', tls)
  const ofHttp = http.tls && http.address !== 'off' ? open('http', http.tls) : undefined
  const opened = [ofGrpc, ofHttp]
  return {
    grpc: ofGrpc,
    http: ofHttp,
    validUntil: () => ({
      ...(ofGrpc && { grpc: ofGrpc.validUntilMs }),
      ...(ofHttp && { http: ofHttp.validUntilMs }),
    }),
    reload: () => {
      for (const each of opened) each?.reload()
    },
    close: () => {
      for (const each of opened) each?.close()
    },
  }
}
