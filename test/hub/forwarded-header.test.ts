/** The description of a call that a sidecar forwards, and which descriptions can be read. */
import { expect, test } from 'vitest'
import { type ForwardedFrom, forwardedText, readForwarded } from '../../sidecar/base/forwarded-header.ts'

const FROM: ForwardedFrom = { address: '192.0.2.1', protocol: 'grpc', connection: 'a grpc 1', vouched: true }
const TEXT = 'address=192.0.2.1&protocol=grpc&connection=a+grpc+1&vouched=true'

test.each<[what: string, text: string, from: Partial<ForwardedFrom>]>([
  ['a client', TEXT, {}],
  ['one over IPv6', TEXT.replace('192.0.2.1', '2001%3Adb8%3A%3A1'), { address: '2001:db8::1' }],
  ['one on a Unix socket', TEXT.replace('192.0.2.1', 'unix+socket'), { address: 'unix socket' }],
  ['one without an address', TEXT.replace('192.0.2.1', 'unknown'), { address: 'unknown' }],
  ['one over HTTP', TEXT.replace('=grpc', '=http'), { protocol: 'http' }],
  ['one that is not verified', TEXT.replace('true', 'false'), { vouched: false }],
  ['one with a long name', TEXT.replace('a+grpc+1', 'x'.repeat(100)), { connection: 'x'.repeat(100) }],
])('%s is written and read', (_what, text, from) => {
  expect(forwardedText({ ...FROM, ...from })).toBe(text)
  expect(readForwarded([text])).toEqual({ ...FROM, ...from })
})

test('an address has its one form', () => {
  expect(readForwarded([TEXT.replace('192.0.2.1', '%5B%3A%3Affff%3A192.0.2.1%5D%3A80')])).toEqual(FROM)
})

test.each<[what: string, ...texts: string[]]>([
  ['nothing'],
  ['two texts', TEXT, TEXT],
  ['the text of earlier versions', '1'],
  ['no address', TEXT.replace('address=192.0.2.1&', '')],
  ['a name as the address', TEXT.replace('192.0.2.1', 'localhost')],
  ['no protocol', TEXT.replace('&protocol=grpc', '')],
  ['another protocol', TEXT.replace('=grpc', '=ftp')],
  ['no connection', TEXT.replace('&connection=a+grpc+1', '')],
  ['an empty connection', TEXT.replace('a+grpc+1', '')],
  ['a longer name', TEXT.replace('a+grpc+1', 'x'.repeat(101))],
  ['no word on the verification', TEXT.replace('&vouched=true', '')],
  ['another word on the verification', TEXT.replace('=true', '=yes')],
])('%s says nothing', (_what, ...texts) => {
  expect(readForwarded(texts)).toBeUndefined()
})
