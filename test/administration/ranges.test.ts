/** Address ranges (§1) as they are read: what they mean, and what is none. */
import { expect, test } from 'vitest'
import { isAllowed, readRange } from '../../sidecar/authority/addresses.ts'
import type { IpAddress } from '../../sidecar/base/ip-address.ts'

const RANGE = 'an IPv4 or IPv6 address or range, for example 10.0.0.0/8'
const MAPPED_RANGE =
  'a prefix of at least 96 bits after an IPv4-mapped address, for example ::ffff:10.0.0.0/104 for 10.0.0.0/8'

test.each([
  ['10.0.0.0/33', RANGE],
  ['10.0.0.0/104', RANGE],
  ['010.0.0.1', RANGE],
  ['::ffff:010.0.0.1', RANGE],
  ['::ffff:0x10.0.0.1/104', RANGE],
  ['::a:00.1.2.3', RANGE],
  ['10.0.0', RANGE],
  ['host.example', RANGE],
  ['::1/129', RANGE],
  ['10.0.0.0/8/8', RANGE],
  ['', RANGE],
  ['::ffff:10.0.0.0/129', RANGE],
  ['::ffff:10.0.0.0/-1', RANGE],
  ['::ffff:10.0.0.0/', RANGE],
  ['::10.0.0.0/104', RANGE],
  ['::ffff:10.0.0.0/95', MAPPED_RANGE],
  ['::ffff:10.0.0.0/8', MAPPED_RANGE],
  ['::ffff:0:0/0', MAPPED_RANGE],
])('`%s` is no range', (text, expected) => {
  expect(readRange(text)).toEqual({ ok: false, expected })
})

test.each([
  ['10.1.2.3', '10.1.2.3/32'],
  ['10.1.2.3/8', '10.0.0.0/8'],
  ['2001:DB8::5', '2001:db8::5/128'],
  ['2001:DB8::5/32', '2001:db8::/32'],
  ['::ffff:10.1.2.3', '10.1.2.3/32'],
  ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
  ['::/0', '::/0'],
])('`%s` is %s', (text, range) => {
  expect(readRange(text)).toEqual({ ok: true, range })
})

test.each(['::ffff:10.91.2.253', '::FFFF:a5b:2fd', '0:0:0:0:0:ffff:10.91.2.253'])(
  'a range of %s is the range of 10.91.2.253 with 96 bits less, and none below that',
  (mapped) => {
    for (let bits = 0; bits <= 130; bits++)
      expect(readRange(`${mapped}/${bits}`), `/${bits}`).toEqual(
        bits < 96 ? { ok: false, expected: MAPPED_RANGE } : readRange(`10.91.2.253/${bits - 96}`),
      )
  },
)

test.each<[claim: string, ranges: string[], address: IpAddress | undefined, allowed: boolean]>([
  ['no ranges are no restriction', [], undefined, true],
  ['an address is inside a range', ['10.0.0.0/8'], '10.1.2.3', true],
  ['it is outside every range', ['10.0.0.0/8', '192.0.2.7/32'], '192.0.2.8', false],
  ['an address that is not known is in none', ['10.0.0.0/8'], undefined, false],
  ['IPv6 is inside a range', ['2001:db8::/32'], '2001:db8:1::1', true],
  ['IPv6 is outside', ['2001:db8::/32'], '2001:db9::1', false],
  ['the whole of IPv4 is not IPv6', ['0.0.0.0/0'], '::1', false],
  ['the whole of IPv6 is not IPv4', ['::/0'], '10.1.2.3', false],
])('%s', (_claim, ranges, address, allowed) => {
  expect(isAllowed(address, ranges)).toBe(allowed)
})
