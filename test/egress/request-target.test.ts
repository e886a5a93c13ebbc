/** The path of a request is a boundary: what is not written in the one canonical way is refused. */
import { describe, expect, test } from 'vitest'
import { readRequestTarget } from '../../sidecar/base/request-target.ts'

test.each<[url: string, path: string, query: string]>([
  ['/', '/', ''],
  ['/balance/', '/balance/', ''],
  ['/balance/v1/items.json', '/balance/v1/items.json', ''],
  ['/balance/a-b_c~d/...', '/balance/a-b_c~d/...', ''],
  ['/balance/..a/.%C3%A9/a..%3Bb', '/balance/..a/.%C3%A9/a..%3Bb', ''],
  ["/balance/!$&'()*+,=:@", "/balance/!$&'()*+,=:@", ''],
  ['/balance/caf%C3%A9%20%3Bx%3Fy%23', '/balance/caf%C3%A9%20%3Bx%3Fy%23', ''],
  ['/balance/caf%c3%a9', '/balance/caf%c3%a9', ''],
  ['/balance/100%25', '/balance/100%25', ''],
  ['/balance/100%25-off', '/balance/100%25-off', ''],
  ['/balance?', '/balance', '?'],
  ['/balance?a=1&b=/../;%2F%00', '/balance', '?a=1&b=/../;%2F%00'],
  ['/balance?a?b', '/balance', '?a?b'],
])('%j is read', (url, path, query) => {
  expect(readRequestTarget(url)).toEqual({ ok: true, path, query })
})

const TARGET = 'a request target that begins with a slash, without scheme and host'
const CHARACTERS =
  "a path of letters, digits, -._~!$&'()*+,=:@ and encoded characters, without `;` and backslash"
const SEGMENTS = 'a path without empty segments'
const DOTS = 'a path without the segments `.` and `..`, and without those dots before an encoded character'
const ENCODED =
  'a path without an encoded slash, backslash, dot or control character, and nothing encoded that need not or twice'
const UTF8 = 'encoded characters that are UTF-8'
const QUERY = 'a query of visible ASCII characters without `#`'

describe('is refused:', () => {
  test.each<[url: string, expected: string]>([
    ['', TARGET],
    ['*', TARGET],
    ['balance/', TARGET],
    ['http://elsewhere.example/balance/', TARGET],
    ['HTTPS://elsewhere.example/', TARGET],
    ['elsewhere.example:443', TARGET],
    ['\\balance\\', TARGET],
    ['//elsewhere.example/', SEGMENTS],
    ['/balance//v1', SEGMENTS],
    ['/balance/.', DOTS],
    ['/balance/./v1', DOTS],
    ['/balance/..', DOTS],
    ['/balance/../iam/', DOTS],
    ['/../balance/', DOTS],
    ['/balance/..?x', DOTS],
    ['/balance/..%3B/iam/', DOTS],
    ['/balance/..%3bx=1/iam/', DOTS],
    ['/balance/.%3F', DOTS],
    ['/balance/..%23x', DOTS],
    ['/balance/..%20/iam/', DOTS],
    ['/balance/%2e%2e/iam/', ENCODED],
    ['/balance/%2E%2E/iam/', ENCODED],
    ['/balance/.%2e/iam/', DOTS],
    ['/balance/%2Fiam', ENCODED],
    ['/balance%2fiam', ENCODED],
    ['/balance/%5C..%5Ciam', ENCODED],
    ['/balance/%5c', ENCODED],
    ['/balance/%00', ENCODED],
    ['/balance/%0d%0aX-Auth-Token:%20a', ENCODED],
    ['/balance/%1F', ENCODED],
    ['/balance/%7f', ENCODED],
    ['/balance/%252e%252e/iam/', ENCODED],
    ['/balance/%252Fiam', ENCODED],
    ['/balance/%25%32%65', ENCODED],
    ['/%62alance/', ENCODED],
    ['/balance/%41%5A%30%39', ENCODED],
    ['/balance/%2D', ENCODED],
    ['/balance/%5f', ENCODED],
    ['/balance/%7E', ENCODED],
    ['/balance/%C0%AE%C0%AE/', UTF8],
    ['/balance/%c0%af', UTF8],
    ['/balance/%E0%80%AF', UTF8],
    ['/balance/%ff', UTF8],
    ['/balance/%', CHARACTERS],
    ['/balance/%2', CHARACTERS],
    ['/balance/%zz', CHARACTERS],
    ['/balance/%u002e', CHARACTERS],
    ['/balance/;a=1', CHARACTERS],
    ['/balance/..;/iam/', CHARACTERS],
    ['/balance\\..\\iam', CHARACTERS],
    ['/balance/a b', CHARACTERS],
    ['/balance/\0', CHARACTERS],
    ['/balance/\t', CHARACTERS],
    ['/balance/\r\nX: y', CHARACTERS],
    ['/balance/é', CHARACTERS],
    ['/balance/／', CHARACTERS],
    ['/balance/[x]', CHARACTERS],
    ['/balance/{x}|^"<>`', CHARACTERS],
    ['/balance#x', CHARACTERS],
    ['/balance?a#b', QUERY],
    ['/balance?a b', QUERY],
    ['/balance?\0', QUERY],
    ['/balance?\r\nX: y', QUERY],
    ['/balance?é', QUERY],
  ])('%j', (url, expected) => {
    expect(readRequestTarget(url)).toEqual({ ok: false, expected })
  })
})

test('every encoded byte is either the only way to write that character, or refused', () => {
  const alone = Array.from({ length: 128 }, (_, byte) => byte).filter((byte) => {
    const encoded = `%${byte.toString(16).padStart(2, '0')}`
    return readRequestTarget(`/a/${encoded}/`).ok
  })
  expect(String.fromCharCode(...alone)).toBe(` !"#$%&'()*+,:;<=>?@[]^\`{|}`)
})
