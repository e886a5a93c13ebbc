/** Listens on a TCP port or on a Unix socket, with or without TLS. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { type Server, ServerCredentials } from '@grpc/grpc-js'
import { addressInUse, isLoopback, type ListenAddress, parseAddress } from '../base/address.ts'

/** PEM files for a listener that other machines can reach. Every client must present a certificate. */
export interface TlsFiles {
  readonly certificate: string
  readonly key: string
  readonly client_ca: string
}

export interface ListenOptions {
  readonly address: string
  readonly tls?: TlsFiles | undefined
  /** Whether another worker of this sidecar already listens on the address. Then this worker may too. */
  readonly addressHeld: boolean
}

/**
 * Binds the server.
 *
 * @returns the address with the port that was bound
 * @throws Error if the address is in use, or if other machines can reach it without TLS
 */
export async function listen(server: Server, options: ListenOptions): Promise<string> {
  const { address, tls, addressHeld } = options
  const parsed = checkGrpcAddress(options)
  if (parsed.type === 'unix') return listenOnSocket(server, parsed.path, addressHeld)
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : tlsCredentials(tls)
  const port = await bind(server, address, credentials)
  const host = parsed.host.includes(':') ? `[${parsed.host}]` : parsed.host
  return `${host}:${port}`
}

/** @throws Error if the address is invalid, or if other machines can reach it without TLS */
export function checkGrpcAddress({ address, tls }: Pick<ListenOptions, 'address' | 'tls'>): ListenAddress {
  const parsed = parseAddress('grpc.address', address)
  if (parsed.type === 'tcp' && !isLoopback(parsed.host) && tls === undefined)
    throw new Error(
      `grpc address ${address} can be reached from other machines: expected grpc.tls, which requires client certificates`,
    )
  return parsed
}

async function listenOnSocket(server: Server, path: string, held: boolean): Promise<string> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (!held) await removeStaleSocket(path)
  await bind(server, `unix:${path}`, ServerCredentials.createInsecure())
  // By default every user of this machine may connect.
  chmodSync(path, 0o660)
  return `unix:${path}`
}

/** Removes the socket of a server that was killed. A socket that still accepts connections stays, and is an error. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket())
    throw new Error(
      `grpc address unix:${path}: expected a socket or an unused path, found another kind of file`,
    )
  const answers = await new Promise<boolean>((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
  if (answers) throw addressInUse({ listener: 'grpc', address: `unix:${path}` })
  unlinkSync(path)
}

function tlsCredentials({ certificate, key, client_ca }: TlsFiles): ServerCredentials {
  const pair = { cert_chain: readFileSync(certificate), private_key: readFileSync(key) }
  return ServerCredentials.createSsl(readFileSync(client_ca), [pair], true)
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port)
      else
        reject(
          /EADDRINUSE/.test(error.message)
            ? addressInUse({ listener: 'grpc', address })
            : new Error(error.message),
        )
    })
  })
}
