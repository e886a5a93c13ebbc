/**
 * Where a login comes from. Sources share the password checks, and failed logins are counted for each source.
 */
import { type IpAddress, networkOf } from '../base/ip-address.ts'

/** A source says what kind it is, so that no address that a client invents is the name of another kind. */
export type LoginSource =
  /** A profile of the configuration, on behalf of a caller. */
  | { readonly type: 'profiles' }
  /** A caller of the configuration, known by a token or a client certificate. */
  | { readonly type: 'caller'; readonly name: string }
  /** An address of another machine, or the network that counts as one. */
  | { readonly type: 'address'; readonly address: string }
  /** All whose address is not known. */
  | { readonly type: 'unknown_address' }
  | { readonly type: 'unix_socket' }
  /** Any process of this machine, over loopback. */
  | { readonly type: 'this_machine' }

/**
 * The source for an address of a client: IPv6 addresses of one /64 network are one source, and so is
 * loopback.
 */
export function sourceAt(address: IpAddress | undefined): LoginSource {
  if (address === undefined) return { type: 'unknown_address' }
  const key = networkOf(address)
  return key === undefined ? { type: 'this_machine' } : { type: 'address', address: key }
}

/** A text that differs between any two sources, for use as a key and in the log. */
export function nameOfSource(source: LoginSource): string {
  if (source.type === 'caller') return `caller ${source.name}`
  return source.type === 'address' ? `address ${source.address}` : source.type.replaceAll('_', ' ')
}
