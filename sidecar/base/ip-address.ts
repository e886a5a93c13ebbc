/**
 * IP addresses: where a call comes from. Protocols carry them as text in many forms, and this is the only
 * place that reads them.
 */
import { isIP } from 'node:net'
import { isLoopback } from './address.ts'

/**
 * An IP address in its one form: `::ffff:192.0.2.1` is 192.0.2.1, so that a rule for the one holds for both.
 * No text from outside has this type unless `ipAddress` has read it.
 */
export type IpAddress = `${number}.${number}.${number}.${number}` | `${string}:${string}`

/** Where a call came from, for logs and records. `unknown`: its client is gone, or its proxy names none. */
export type Whereabouts = IpAddress | 'unix socket' | 'unknown'

/** This machine, as accounts that restrict addresses list it. */
export const THIS_MACHINE: IpAddress = '127.0.0.1'

/** An address with what may be around it (RFC 7239 §6): quotes, a port, and brackets where it is IPv6. */
const NODE = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::(?:\d{1,5}|_[\w.-]+))?$/i

/**
 * The forms that mean no address: `unknown` and names (RFC 7239 §6.3), and an address with a zone, which
 * only one host knows.
 */
const NO_ADDRESS = /^(?:(?:unknown|_[\w.-]+)(?::(?:\d{1,5}|_[\w.-]+))?|[\da-f:.]+%.+)$/i

/**
 * Reads an address, also one with a port: several gateways write it so. `undefined`: the text is not an
 * address.
 */
export function ipAddress(text: string | undefined): IpAddress | undefined {
  if (text === undefined) return undefined
  const version = isIP(text)
  // Survives: `version === 4` → `false`. It only spares the expression that is for the other forms.
  if (version === 4) return text as IpAddress
  if (version === 6) return canonical(text)
  // Survives: `[]` → `["Stryker was here"]`. The first of what an expression finds is not read.
  const [, v6, v4] = NODE.exec(unquoted(text)) ?? []
  if (v4 !== undefined) return isIP(v4) === 4 ? (v4 as IpAddress) : undefined
  // Survives: `v6 !== undefined` → `true`. Node does not take a value that is not a text for an address.
  return v6 !== undefined && isIP(v6) === 6 ? ipAddress(v6) : undefined
}

/** Whether a text says that there is no address, and is not a mistake. */
export function isNoAddress(text: string): boolean {
  return NO_ADDRESS.test(unquoted(text))
}

export function whereabouts(address: IpAddress | undefined): Whereabouts {
  return address ?? 'unknown'
}

/** An IPv6 address as RFC 5952 writes it, or the IPv4 address that it stands for. */
function canonical(text: string): IpAddress | undefined {
  // Some programs read the IPv6 address `::10.1.2.3` as 10.1.2.3. A zone only has a meaning on one host.
  if (/^::\d+\./.test(text) || text.includes('%')) return undefined
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address)?.slice(1)
  if (mapped === undefined) return address as IpAddress
  const bytes = mapped.map((part) => Number.parseInt(part, 16)).flatMap((part) => [part >> 8, part & 255])
  return bytes.join('.') as IpAddress
}

/**
 * The network of one source: an IPv4 address, or a /64 network of IPv6, because one subscriber has all of its
 * addresses. `undefined`: this machine, where a process chooses its address among all of loopback.
 */
export function networkOf(address: IpAddress): string | undefined {
  if (isLoopback(address)) return undefined
  if (!address.includes(':')) return address
  // Survives: `[]` → `["Stryker was here"]`. There always is something before `::`, and without `::` four
  // groups are enough.
  const [before = [], after = []] = address
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}

function unquoted(text: string): string {
  return text.replace(/^"(.*)"$/, '$1')
}
