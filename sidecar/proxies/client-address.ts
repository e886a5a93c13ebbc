/** Where the client of a proxy is, for accounts that restrict addresses (§1). */
import { type IpAddress, ipAddress } from '../base/ip-address.ts'
import type { Headers } from './denial-answer.ts'

/** The header in which proxies say whom they got a request from. */
export const FORWARDED_FOR = 'x-forwarded-for'

/**
 * The address of the client; `undefined`: no proxy states one, and an account that restricts addresses
 * refuses that.
 *
 * @param peer address that the proxy saw
 * @param headers those of the request, in order, with names in lower case
 * @param trustedHops how many of the addresses in `X-Forwarded-For` proxies of the operator wrote. They are
 * the last ones: each proxy adds the address of its client, and earlier ones are the first client's own
 * claim.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  trustedHops: number,
): IpAddress | undefined {
  if (trustedHops === 0) return ipAddress(peer)
  // Only the end is looked at: the beginning may be as long as its sender likes.
  let list = headers.flatMap(([name, value]) => (name === FORWARDED_FOR ? [value] : [])).join(',')
  for (let hop = 1; hop < trustedHops; hop++) list = list.slice(0, Math.max(0, list.lastIndexOf(',')))
  return ipAddress(list.slice(list.lastIndexOf(',') + 1).trim())
}
