/** The address that gRPC listens on, and who can reach it. */
import { isLoopback, type ListenAddress, parseAddress } from '../../base/address.ts'

/**
 * @throws Error if the address is invalid, if other machines can reach it without TLS, or if a Unix socket
 *   has TLS
 */
export function checkGrpcAddress({
  address,
  tls,
}: {
  readonly address: string
  readonly tls?: object | undefined
}): ListenAddress {
  const parsed = parseAddress('grpc.address', address)
  // An operator who configured TLS expects client certificates, and a Unix socket asks for none.
  if (parsed.type === 'unix' && tls !== undefined)
    throw new Error(
      `grpc.address ${address} and grpc.tls: a Unix socket has no TLS; expected HOST:PORT in grpc.address, or no grpc.tls`,
    )
  if (parsed.type === 'tcp' && !isLoopback(parsed.host) && tls === undefined)
    throw new Error(
      `grpc address ${address} can be reached from other machines: expected grpc.tls, which requires client certificates`,
    )
  return parsed
}
