/** Address ranges: an account can restrict its tokens to them (§1). */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type IpAddress, ipAddress } from '../base/ip-address.ts'

/** The result of reading a range: its canonical form, for example `10.0.0.0/8`, or the expected form. */
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
  const read = isIP(address) === 0 ? undefined : ipAddress(address)
  if (read === undefined || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
    return { ok: false, expected: RANGE }
  const v4 = !read.includes(':')
  // A shorter prefix would cover all IPv4 addresses and IPv6 addresses too, which is hardly what the author
  // meant.
  const prefixBits = v4 && address.includes(':') ? MAPPED_PREFIX_BITS : 0
  const bitsMax = v4 ? 32 : 128
  const length = bits === undefined ? bitsMax : Number(bits) - prefixBits
  if (length > bitsMax) return { ok: false, expected: RANGE }
  if (length < 0) return { ok: false, expected: MAPPED_RANGE }
  const network = (v4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${read}/${length}`)
  return { ok: true, range: `${network}/${length}` }
}

/**
 * Whether the address is in one of the ranges. Without ranges every address is allowed. With ranges a missing
 * address is not.
 */
export function isAllowed(address: IpAddress | undefined, ranges: readonly string[]): boolean {
  if (ranges.length === 0) return true
  if (address === undefined) return false
  const parsed = ipaddr.process(address)
  return parsedRanges(ranges).some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  )
}

/** Whether two ranges, as `readRange` gives them, have an address in common. */
export function overlap(one: string, other: string): boolean {
  // Of two ranges that overlap, one contains the other.
  const first = (range: string) => range.split('/')[0] as IpAddress
  return isAllowed(first(one), [other]) || isAllowed(first(other), [one])
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
