/**
 * Looks at the certificates of this sidecar and of those that it trusts, and at whether it reaches others. No
 * credential is sent.
 */
import type { X509Certificate } from 'node:crypto'
import { connect as connectPlain, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { bareHost } from '../../base/address.ts'
import { readAtMost, SMALL_FILE_BYTES_MAX } from '../../base/bounded-file.ts'
import { certificatesIn, RENEWED_MS_BEFORE, WatchedCertificates } from '../../base/net/certificates.ts'
import type { Config } from '../../config/config.ts'
import { type Finding, findingsOf } from './finding.ts'

const CONNECT_MS_MAX = 5_000

const { ok, warning, error } = findingsOf('certificates')

export function certificateFindings(config: Config, nowMs: number): Finding[] {
  const { grpc, http, egress, upstreams = {} } = config
  const listeners = [
    ...(grpc.tls === undefined ? [] : [['grpc.tls', grpc.tls, undefined] as const]),
    ...(http.tls === undefined ? [] : [['http.tls', http.tls, http.public_url] as const]),
  ]
  const authorities = [
    ...(grpc.tls === undefined ? [] : [['grpc.tls.client_ca', grpc.tls.client_ca] as const]),
    ...Object.entries(upstreams).map(([name, { ca }]) => [`upstreams.${name}.ca`, ca] as const),
    ...(egress.routes ?? []).map(({ ca }, index) => [`egress.routes[${index}].ca`, ca] as const),
  ]
  return [
    ...listeners.flatMap(([key, files, url]) => listenerFindings(key, files, url, nowMs)),
    ...authorities.flatMap(([key, path]) => (path === undefined ? [] : fileFindings(key, path, nowMs))),
  ]
}

function listenerFindings(
  key: string,
  files: { certificate: string; key: string; client_ca?: string },
  url: string | undefined,
  nowMs: number,
): Finding[] {
  try {
    new WatchedCertificates(key, files, { onChanged: () => {}, onRefused: () => {} }).close()
  } catch (caught) {
    return [error(key, (caught as Error).message, 'put a certificate and its key there, in PEM')]
  }
  const path = files.certificate
  const [certificate] = certificatesIn(readAtMost(path, SMALL_FILE_BYTES_MAX))
  const host = url === undefined ? undefined : bareHost(new URL(url).hostname)
  const named = (each: X509Certificate, name: string) =>
    isIP(name) ? each.checkIP(name) !== undefined : each.checkHost(name) !== undefined
  return [
    ...fileFindings(key, path, nowMs),
    ...(certificate?.subjectAltName === undefined
      ? [warning(key, `${path} has no subject alternative name`, 'issue one with the names that clients use')]
      : []),
    ...(certificate !== undefined && host !== undefined && !named(certificate, host)
      ? [warning(key, `${path} is not for ${host}, the host of http.public_url`, 'issue one for that name')]
      : []),
  ]
}

function fileFindings(key: string, path: string, nowMs: number): Finding[] {
  let certificates: X509Certificate[]
  try {
    certificates = certificatesIn(readAtMost(path, SMALL_FILE_BYTES_MAX))
  } catch (caught) {
    const { code } = caught as NodeJS.ErrnoException
    return [error(key, `${path} cannot be read (${code})`, 'put certificates there, in PEM')]
  }
  const ends = certificates.map(({ validTo }) => Date.parse(validTo))
  const begins = certificates.map(({ validFrom }) => Date.parse(validFrom))
  const until = new Date(Math.min(...ends)).toISOString()
  const fix = `replace ${path}; a running sidecar reads it again`
  if (certificates.length === 0) return [error(key, `${path} has no certificate`, fix)]
  if (Math.min(...ends) <= nowMs) return [error(key, `${path} has expired: valid until ${until}`, fix)]
  if (Math.max(...begins) > nowMs)
    return [error(key, `${path} is not valid yet`, 'set the clock, or replace the file')]
  if (Math.min(...ends) - nowMs < RENEWED_MS_BEFORE)
    return [warning(key, `${path} expires soon: valid until ${until}`, fix)]
  return [ok(key, `valid until ${until}`)]
}

export async function reachFindings({ upstreams = {}, egress }: Config): Promise<Finding[]> {
  const targets = [
    ...Object.entries(upstreams).map(([name, { auth_url: url, ca }]) => ({
      subject: `upstreams.${name}`,
      url,
      ca,
    })),
    ...(egress.address === 'off' ? [] : (egress.routes ?? [])).map(({ url, ca }, index) => ({
      subject: `egress.routes[${index}]`,
      url,
      ca,
    })),
  ]
  return Promise.all(targets.map(reach))
}

interface Target {
  readonly subject: string
  readonly url: string
  readonly ca: string | undefined
}

/** Connects, and with https looks at the certificate of the other side as a request would. */
async function reach({ subject, url: text, ca }: Target): Promise<Finding> {
  const { ok, error } = findingsOf('reachability')
  const url = new URL(text)
  const host = bareHost(url.hostname)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  let socket: Socket | undefined
  try {
    const servername = isIP(host) ? '' : host
    socket =
      url.protocol === 'https:'
        ? connectSecurely({ host, port, servername, ca: ca && readAtMost(ca, SMALL_FILE_BYTES_MAX) }, () =>
            resolve(undefined),
          )
        : connectPlain({ host, port }, () => resolve(undefined))
    socket.setTimeout(CONNECT_MS_MAX, () => resolve('no answer'))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'the connection failed'))
    const problem = await promise
    return problem === undefined
      ? ok(subject, `${host}:${port} can be reached`)
      : error(subject, `${host}:${port} cannot be reached (${problem})`, fixOf(problem))
  } catch (caught) {
    const { code } = caught as NodeJS.ErrnoException
    return error(subject, `${ca} cannot be read (${code})`, 'put certificates there, in PEM')
  } finally {
    socket?.destroy()
  }
}

function fixOf(problem: string): string {
  if (/CERT|SIGNATURE|SELF_SIGNED|SSL|TLS/.test(problem))
    return 'check that `ca` contains the authority of the other side, and that its certificate has the host name of the URL'
  return problem === 'ENOTFOUND'
    ? 'check that the name is right and can be resolved'
    : 'check that it is running, and that this host may connect to it'
}
