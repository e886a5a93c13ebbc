/**
 * Whether a connection may carry secrets. Without TLS, any machine on the way to another machine can read and
 * keep them.
 */
import { isIPv4 } from 'node:net'
import type { ChannelOptions } from '@grpc/grpc-js'

/** The `code` of the error. */
const PLAINTEXT_REFUSED = 'PLAINTEXT_REFUSED'

/**
 * Whether a gRPC target is on this machine: a Unix socket or loopback. A name that only resolves to loopback
 * is not, and neither is one that a named DNS server resolves.
 */
export function isThisMachine(target: string): boolean {
  if (target.startsWith('unix:')) return true
  const address = target.replace(/^(dns:(\/\/\/)?|ipv[46]:)/, '')
  // Without brackets, an IPv6 address has no port.
  const bare = address.split(':').length > 2 && !address.startsWith('[')
  const host = bare ? address : address.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/**
 * The option of grpc-js that says whether it takes the proxy of the environment: never to this machine, and
 * to another one only over TLS. grpc-js alone would send plaintext to loopback through it.
 */
export function proxyOption(target: string, isEncrypted: boolean): ChannelOptions {
  return { 'grpc.enable_http_proxy': isEncrypted && !isThisMachine(target) ? 1 : 0 }
}

/** @returns TypeError with the code `PLAINTEXT_REFUSED` */
export function plaintextRefused(address: string): TypeError {
  return Object.assign(
    new TypeError(
      `the sidecar at ${address} is on another machine, and a secret would be sent to it in plaintext: set \`tls\`, or \`allowPlaintext\` if something else encrypts the connection`,
    ),
    { code: PLAINTEXT_REFUSED },
  )
}
