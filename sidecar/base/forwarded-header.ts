/**
 * How a sidecar forwards the call of a client to another one: it says where the call came from, and proves
 * who says so. Then the client certificate of the connection is that of the sidecar, and does not count for
 * the call: only what the call itself presents does.
 */
import { ipAddress, type Whereabouts } from './ip-address.ts'

/** Says that a sidecar forwards the call, and where it came from. Earlier versions only said `1`. */
export const FORWARDED_HEADER = 'x-portcullis-forwarded' as const

/** The identity of the sidecar: its caller token, as `authorization` has one; absent: its certificate. */
export const FORWARDER_HEADER = 'x-portcullis-forwarder' as const

/** The facts that a call takes from its connection, wherever it arrived first. */
export interface ForwardedFrom {
  readonly address: Whereabouts
  readonly protocol: 'grpc' | 'http'
  /** A name that no other connection has had, of any sidecar. */
  readonly connection: string
  /** Whether the address counts for accounts that restrict addresses. */
  readonly vouched: boolean
}

/** Longest name of a connection, in characters. */
const NAME_LENGTH_MAX = 100

export function forwardedText({ address, protocol, connection, vouched }: ForwardedFrom): string {
  return new URLSearchParams({ address, protocol, connection, vouched: String(vouched) }).toString()
}

/** @returns `undefined`: it does not say where the call came from, or not once */
export function readForwarded([text, ...more]: readonly string[]): ForwardedFrom | undefined {
  if (more.length > 0) return undefined
  const fields = new URLSearchParams(text)
  const [address, protocol, connection = '', vouched] = ['address', 'protocol', 'connection', 'vouched'].map(
    (name) => fields.get(name) ?? undefined,
  )
  const place = address === 'unix socket' || address === 'unknown' ? address : ipAddress(address)
  if (place === undefined || (protocol !== 'grpc' && protocol !== 'http')) return undefined
  if (connection === '' || connection.length > NAME_LENGTH_MAX) return undefined
  if (vouched !== 'true' && vouched !== 'false') return undefined
  return { address: place, protocol, connection, vouched: vouched === 'true' }
}
