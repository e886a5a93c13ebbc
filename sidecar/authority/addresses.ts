/** Address ranges that an account restricts its tokens to (§1). */
import ipaddr from 'ipaddr.js'

/** A range in its canonical form, for example `10.0.0.0/8`, or what was expected instead of the text. */
export type RangeReading =
  | { readonly ok: true; readonly range: string }
  | { readonly ok: false; readonly expected: string }

const RANGE = 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8'
const MAPPED_RANGE =
  'a prefix of at least 96 bits after an IPv4-mapped address, for example ::ffff:10.0.0.0/104 for 10.0.0.0/8'

/** Bits before the IPv4 address in an IPv4-mapped one (RFC 4291 §2.5.5.2). */
const MAPPED_PREFIX_BITS = 96

/** Reads a range; a single address is a range of one. An IPv4-mapped range is the IPv4 range. */
export function readRange(text: string): RangeReading {
  const [address = '', bits, ...more] = text.split('/')
  const parsed = canonical(address)
  if (parsed === undefined || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    return { ok: false, expected: RANGE }
  const v4 = parsed.kind() === 'ipv4'
  // With fewer bits it would be a range of IPv6, with all of IPv4 and more in it, and whoever wrote it hardly meant that.
  const before = v4 && address.includes(':') ? MAPPED_PREFIX_BITS : 0
  const bitsMax = v4 ? 32 : 128
  const length = bits === undefined ? bitsMax : Number(bits) - before
  if (length > bitsMax) return { ok: false, expected: RANGE }
  if (length < 0) return { ok: false, expected: MAPPED_RANGE }
  const network = (v4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${parsed}/${length}`)
  return { ok: true, range: `${network}/${length}` }
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
export function throttleKey(address: string): string | undefined {
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
