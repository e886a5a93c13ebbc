/** A token that is looked for or revoked is copied from anywhere, often with its header and its scheme. */
import { expect, test } from 'vitest'
import { copiedTokens } from '../../sidecar/base/copied-token.ts'

test.each<[copied: string, ...tokens: string[]]>([
  ['token', 'token'],
  [' \ttoken\n', 'token'],
  ['X-Auth-Token: token', 'token'],
  ['X-Token2:token', 'X-Token2:token', 'token'],
  ['x:  token', 'token'],
  ['Bearer token', 'token'],
  ['kiosk \t token', 'token'],
  ['Authorization: Bearer token', 'token'],
  ['Authorization:Kiosk to:ken', 'to:ken'],
  ['Bearertoken', 'Bearertoken'],
  ['Bearer', 'Bearer'],
  [''],
  ['X-Token:', 'X-Token:'],
  ['no Bearer token'],
  ['2X-Token: token'],
  ['a: b: token'],
  ['token,token'],
  ['tok\u00e9n'],
  ['Bearer token\nBearer token'],
])('%j', (copied, ...tokens) => {
  expect(copiedTokens(copied)).toEqual(tokens)
})

test('a long text that is not one token is refused at once', () => {
  expect(copiedTokens(`${'a'.repeat(200_000)} b c`)).toEqual([])
  expect(copiedTokens(`${'a '.repeat(100_000)}`)).toEqual([])
})
