/** Address ranges that an account restricts its tokens to (§1). */
import ipaddr from 'ipaddr.js'

/** A range in its canonical form, for example `10.0.0.0/8`; a single address is a range of one. `undefined`: not a range. */
export function canonicalRange(range: string): string | undefined {
  const [address = '', bits, ...more] = range.split('/')
  const parsed = canonical(address)
  if (parsed === undefined || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    return undefined
  const bitsMax = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? bitsMax : Number(bits)
  if (length > bitsMax) return undefined
  const network =
    parsed.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed}/${length}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/${length}`)
  return `${network}/${length}`
}

/** Whether the address is in one of the ranges. No ranges: no restriction. No address where there is one: no. */
export function isAllowed(address: string | undefined, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true
  const parsed = address === undefined ? undefined : canonical(address)
  if (parsed === undefined) return false
  return parsedRanges(ranges).some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  )
}

/**
 * Whom an address stands for where logins are counted: an IPv6 network of 64 bits is one subscriber's, who has all of its
 * addresses. What is no address stands for itself; `undefined`: this machine, whichever of its own addresses it takes.
 */
export function counted(address: string): string | undefined {
  const parsed = canonical(address)
  if (parsed === undefined) return address
  if (parsed.range() === 'loopback') return undefined
  return parsed.kind() === 'ipv4'
    ? String(parsed)
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/64`)}/64`
}

type ParsedRange = ReturnType<typeof ipaddr.parseCIDR>

/** Reading ranges costs more than looking an address up in them, and they are asked about again and again. */
const PARSED = new WeakMap<readonly string[], readonly ParsedRange[]>()

function parsedRanges(ranges: readonly string[]): readonly ParsedRange[] {
  let parsed = PARSED.get(ranges)
  if (parsed === undefined) {
    parsed = ranges.map((range) => ipaddr.parseCIDR(range))
    PARSED.set(ranges, parsed)
  }
  return parsed
}

/** `::ffff:10.1.2.3` is 10.1.2.3: a rule for 10.0.0.0/8 means it too. */
function canonical(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // The library also reads octal and hexadecimal IPv4, which other readers take for other addresses.
  if (!/^(\d{1,3}\.){3}\d{1,3}$/.test(address) && !address.includes(':')) return undefined
  // And `::10.1.2.3`, which is an IPv6 address, it reads as the IPv4 address 10.1.2.3; a zone means something on one host alone.
  if (/^::\d+\./.test(address) || address.includes('%')) return undefined
  return ipaddr.isValid(address) && !/^0\d|\.0\d/.test(address) ? ipaddr.process(address) : undefined
}
