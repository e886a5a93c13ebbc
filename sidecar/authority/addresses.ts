/** Address ranges: an account can restrict its tokens to them (§1). */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The result of reading a range: its canonical form, for example `10.0.0.0/8`, or what was expected. */
export type RangeReading =
  | { readonly ok: true; readonly range: string }
  | { readonly ok: false; readonly expected: string }

const RANGE = 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8'
const MAPPED_RANGE =
  'a prefix of at least 96 bits after an IPv4-mapped address, for example ::ffff:10.0.0.0/104 for 10.0.0.0/8'

/** Length of the prefix before the IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2). */
const MAPPED_PREFIX_BITS = 96

/** Reads a range. A single address is a range of one address. An IPv4-mapped range becomes the IPv4 range. */
export function readRange(text: string): RangeReading {
  const [address = '', bits, ...more] = text.split('/')
  const parsed = canonical(address)
  if (parsed === undefined || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    return { ok: false, expected: RANGE }
  const v4 = parsed.kind() === 'ipv4'
  // A shorter prefix would cover all IPv4 addresses and IPv6 addresses too, which is hardly what the author
  // meant.
  const prefixBits = v4 && address.includes(':') ? MAPPED_PREFIX_BITS : 0
  const bitsMax = v4 ? 32 : 128
  const length = bits === undefined ? bitsMax : Number(bits) - prefixBits
  if (length > bitsMax) return { ok: false, expected: RANGE }
  if (length < 0) return { ok: false, expected: MAPPED_RANGE }
  const network = (v4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${parsed}/${length}`)
  return { ok: true, range: `${network}/${length}` }
}

/**
 * Whether the address is in one of the ranges. Without ranges every address is allowed. With ranges a missing
 * address is not.
 */
export function isAllowed(address: string | undefined, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true
  const parsed = address === undefined ? undefined : canonical(address)
  if (parsed === undefined) return false
  return parsedRanges(ranges).some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  )
}

/** Whether two ranges, as `readRange` gives them, have an address in common. */
export function overlap(one: string, other: string): boolean {
  // Of two ranges that overlap, one contains the other.
  return isAllowed(one.split('/')[0], [other]) || isAllowed(other.split('/')[0], [one])
}

/**
 * The key of an address in the login throttle. IPv6 addresses of one /64 network share a key, because one
 * subscriber has all of them. A text that is not an address is its own key. Any loopback address gives
 * `undefined`: this machine.
 */
export function throttleKey(address: string): string | undefined {
  const parsed = canonical(address)
  if (parsed === undefined) return address
  if (parsed.range() === 'loopback') return undefined
  return parsed.kind() === 'ipv4'
    ? String(parsed)
    : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/64`)}/64`
}

type ParsedRange = ReturnType<typeof ipaddr.parseCIDR>

/** Parsed ranges. Parsing costs more than the look-up, and the same ranges are used for many calls. */
const PARSED = new WeakMap<readonly string[], readonly ParsedRange[]>()

function parsedRanges(ranges: readonly string[]): readonly ParsedRange[] {
  let parsed = PARSED.get(ranges)
  if (parsed === undefined) {
    parsed = ranges.map((range) => ipaddr.parseCIDR(range))
    PARSED.set(ranges, parsed)
  }
  return parsed
}

/** An address in the one form that all addresses have here. `undefined`: it is none. */
export function canonicalAddress(address: string): string | undefined {
  return canonical(address)?.toString()
}

/** Parses an address. `::ffff:10.1.2.3` becomes 10.1.2.3, so that a rule for 10.0.0.0/8 applies to it. */
function canonical(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // The library also accepts octal and hexadecimal IPv4, alone and at the end of IPv6, which other programs
  // read as different addresses.
  if (isIP(address) === 0) return undefined
  // The library reads the IPv6 address `::10.1.2.3` as the IPv4 address 10.1.2.3. A zone only has a meaning
  // on one host.
  if (/^::\d+\./.test(address) || address.includes('%')) return undefined
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined
}
