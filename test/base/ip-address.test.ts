/** The one reader of addresses: which texts are one, which say that there is none, and which are mistakes. */
import { expect, test } from 'vitest'
import {
  ipAddress,
  isNoAddress,
  networkOf,
  THIS_MACHINE,
  whereabouts,
} from '../../sidecar/base/ip-address.ts'

test.each([
  ['192.0.2.10', '192.0.2.10'],
  ['192.0.2.10:50001', '192.0.2.10'],
  ['192.0.2.10:0', '192.0.2.10'],
  ['192.0.2.10:_a.b-c', '192.0.2.10'],
  ['"192.0.2.10:50001"', '192.0.2.10'],
  ['2001:DB8::1', '2001:db8::1'],
  ['2001:db8:0:0:0:0:0:1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:DB8::1]:_A', '2001:db8::1'],
  ['"[2001:db8::1]:443"', '2001:db8::1'],
  ['::ffff:192.0.2.10', '192.0.2.10'],
  ['::FFFF:c000:20a', '192.0.2.10'],
  ['[::ffff:192.0.2.10]:443', '192.0.2.10'],
  ['::ffff:ff00:1', '255.0.0.1'],
  ['::ffff:1:ff01', '0.1.255.1'],
  ['::ffff:0:0', '0.0.0.0'],
  ['::fffe:c000:20a', '::fffe:c000:20a'],
  ['1::ffff:c000:20a', '1::ffff:c000:20a'],
  ['::ffff:c000:20a:1', '::ffff:c000:20a:1'],
  ['64:ff9b::192.0.2.10', '64:ff9b::c000:20a'],
])('%s is the address %s', (text, address) => {
  expect([ipAddress(text), isNoAddress(text)]).toEqual([address, false])
})

test.each([
  ...['unknown', 'Unknown', '"unknown"', 'unknown:80', 'unknown:12345', 'unknown:_b.c-d', '_hidden'],
  ...['_SEVKISEK:50', '_a.b-c', 'fe80::1%eth0', '::1%lo', 'FE80::1%25', '::ffff:1.2.3.4%1'],
])('%s says that there is no address', (text) => {
  expect([ipAddress(text), isNoAddress(text)]).toEqual([undefined, true])
})

test.each([
  ...['', ' ', 'localhost', 'unix:', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x1.2.3.4', '1.2.3.4/8', '1.2.3.4 '],
  ...['1.2.3.4:', '1.2.3.4:123456', '1.2.3.4:http', '[1.2.3.4]', '[::1', '::1]:80', '[::1]80', '[::1%lo]:80'],
  ...['::10.1.2.3', '[::10.1.2.3]:80', '"1.2.3.4', '1.2.3.4:80:80', 'for=1.2.3.4', '_', '1.2.3.4\n'],
  ...[
    '1.2.3.4, 5.6.7.8',
    'x1.2.3.4:80',
    '1.2.3.4:80x',
    'x[::1]',
    '[::1]x',
    '[::g]',
    '[1::2::3]',
    '1.2.3.4:_',
  ],
  ...['1.2.3.4:1a', 'a"1.2.3.4"', '"1.2.3.4"a', '1.2.3.4.5:80', '256.1.1.1:80', '999.1.1.1'],
  ...['unknown:', 'unknown:1a', 'unknown:123456', 'unknown:_', 'xunknown', 'unknownx', '_a b', '%eth0'],
  ...['fe80::1%', 'x fe80::1%a', '_a:123456', '_a:', '_a"b"', '"_a"b'],
])('%j is a mistake', (text) => {
  expect([ipAddress(text), isNoAddress(text)]).toEqual([undefined, false])
})

test('an absent text is not an address', () => {
  expect(ipAddress(undefined)).toBeUndefined()
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['127.0.0.1', undefined],
  ['127.255.0.9', undefined],
  ['::1', undefined],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8::5:6', '2001:db8:0:0::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
  ['::2:3:4:5:6:7', '0:0:2:3::/64'],
  ['::5', '0:0:0:0::/64'],
] as const)('%s counts for %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('a client without an address is at an unknown place', () => {
  expect([whereabouts('192.0.2.7'), whereabouts(undefined)]).toEqual(['192.0.2.7', 'unknown'])
  expect(networkOf(THIS_MACHINE)).toBeUndefined()
})
