/** Addresses as they are configured and given to clients. */
import { isIP } from 'node:net'

/** An address as configured: `HOST:PORT`, port 0 for a free one, or `unix:PATH`. */
export type ListenAddress =
  | { readonly type: 'tcp'; readonly host: string; readonly port: number }
  | { readonly type: 'unix'; readonly path: string }

/**
 * @param key what the address is called where it was given
 * @param otherwise what else can be given there
 * @throws Error naming the key and what was expected
 */
export function parseAddress(key: string, address: string, otherwise = 'unix:PATH'): ListenAddress {
  if (address.startsWith('unix:')) {
    const path = address.slice('unix:'.length).replace(/^\/\/(?=\/)/, '')
    // sun_path of a socket holds 108 bytes with its final zero.
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

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Which of the two listeners could not start, and on which address. */
export interface TakenAddress {
  readonly listener: 'grpc' | 'http'
  readonly address: string
}

/** Another process listens on the address already. */
export function addressInUse({ listener, address }: TakenAddress): Error {
  return new Error(`${listener} address ${address} is in use`)
}

/** Reads the error of `addressInUse` again: from a worker only its message arrives. */
export function takenAddressOf(error: unknown): TakenAddress | undefined {
  const [, listener, address] =
    /^(grpc|http) address (.+) is in use$/.exec(String((error as Error)?.message)) ?? []
  return listener === undefined || address === undefined
    ? undefined
    : { listener: listener as TakenAddress['listener'], address }
}
