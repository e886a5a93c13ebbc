/**
 * Whether a connection may carry secrets. Without TLS, anyone on the way to another machine can read and keep
 * them.
 */

/** The `code` of the error. */
const PLAINTEXT_REFUSED = 'PLAINTEXT_REFUSED'

/**
 * Whether a gRPC target is on this machine: a Unix socket or loopback. A name that only resolves to loopback
 * is not.
 */
export function isThisMachine(target: string): boolean {
  if (/^unix(-abstract)?:/.test(target)) return true
  const address = target.replace(/^(dns:(\/\/[^/]*\/)?|ipv[46]:)/, '')
  // Without brackets, an IPv6 address has no port.
  const bare = address.split(':').length > 2 && !address.startsWith('[')
  const host = bare ? address : address.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
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
