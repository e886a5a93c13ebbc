/** Addresses that the sidecar listens on, as the configuration and the clients write them. */
import { isIP } from 'node:net'

/** An address as configured: `HOST:PORT` (port 0 picks a free one) or `unix:PATH`. */
export type ListenAddress =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/**
 * Parses an address.
 *
 * @param key name of the setting, for the error message
 * @param otherwise the alternative to HOST:PORT that the error message offers
 * @throws Error that names the key and the expected value
 */
export function parseAddress(key: string, address: string, otherwise = 'unix:PATH'): ListenAddress {
  if (address.startsWith('unix:')) {
    const path = address.slice('unix:'.length).replace(/^\/\/(?=\/)/, '')
    // The kernel's field for the path of a socket (sun_path) holds 108 bytes, the final zero included.
    if (path === '' || Buffer.byteLength(path) > 107)
      throw new Error(`${key}: expected unix:PATH with a path of 1 to 107 bytes`)
    return { type: 'unix', path }
  }
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address)
  const host = parts?.[1] ?? parts?.[2]
  const port = Number(parts?.[3])
  if (host === undefined || !(port <= 65_535))
    throw new Error(`${key}: expected HOST:PORT with a port from 0 to 65535, or ${otherwise}`)
  return { type: 'tcp', host, port }
}

/** The host of a URL, without the brackets around an IPv6 address. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** A listener that could not start, and its address. */
export interface TakenAddress {
  readonly listener: 'grpc' | 'http' | 'egress' | 'health'
  readonly address: string
}

/** The error for an address that another process already listens on. */
export function addressInUse({ listener, address }: TakenAddress): Error {
  return new Error(`${listener} address ${address} is in use`)
}

/** Reads an error of `addressInUse` from its message, because a worker only sends the message. */
export function takenAddressOf(error: unknown): TakenAddress | undefined {
  const [, listener, address] =
    /^(grpc|http|egress|health) address (.+) is in use$/.exec(String((error as Error)?.message)) ?? []
  return listener === undefined || address === undefined
    ? undefined
    : { listener: listener as TakenAddress['listener'], address }
}
