/** Whether the listeners are for the programs of this machine alone, and for all of them. */
import { bareHost, isLoopback, parseAddress } from '../base/address.ts'
import type { Config } from './config.ts'

/**
 * Whether every program of this machine may call over gRPC, and HTTP is only for this machine. Then no caller
 * can do more over HTTP than over gRPC. A Unix socket, client certificates, a proxy and a public URL each
 * mean that not every client may.
 */
export function isForThisMachine({ grpc, http }: Pick<Config, 'grpc' | 'http'>): boolean {
  const address = parseAddress('grpc.address', grpc.address)
  const openGrpc = address.type === 'tcp' && isLoopback(address.host) && grpc.tls === undefined
  const proxied = (http.trusted_proxies ?? []).length > 0 || !isOfThisMachine(http.public_url)
  return openGrpc && http.tls === undefined && !proxied
}

/** Whether only programs of this machine reach the server by the URL; without one, that is so. */
export function isOfThisMachine(url: string | undefined): boolean {
  return url === undefined || isLoopback(bareHost(new URL(url).hostname))
}
