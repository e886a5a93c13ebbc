/** Static tokens as they are made and read, and what of them is stored and shown. */
import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  fingerprintOf,
  hashStaticToken,
  isWellFormedStaticToken,
  lastFourOf,
  looksLikeStaticToken,
  newStaticToken,
  pepperOf,
} from '../../sidecar/authority/static-token.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum, computed once more. */
function checksumOf(random: string): string {
  let [rest, checksum] = [crc32(random), '']
  for (; checksum.length < 6; rest = Math.floor(rest / 62)) checksum = `${DIGITS[rest % 62]}${checksum}`
  return checksum
}

const tokenOf = (random: string) => `pcst_${random}${checksumOf(random)}`

test('a new token has 256 random bits and a checksum, whose end lists show', () => {
  const made = Array.from({ length: 100 }, () => newStaticToken())
  for (const token of made) {
    const [, random = ''] = /^pcst_([0-9A-Za-z]{43})[0-9A-Za-z]{6}$/.exec(token) ?? []
    expect([token, lastFourOf(token)]).toEqual([tokenOf(random), checksumOf(random).slice(-4)])
    expect(isWellFormedStaticToken(token)).toBe(true)
  }
  expect(new Set(made)).toHaveLength(made.length)
  // The first digit of 43 has at most 5.9 bits of the 256, and the others are all there.
  const digits = new Set(made.flatMap((token) => [...token.slice(6, 48)]))
  expect(digits).toHaveLength(62)
})

const RANDOM = `${'Ab0'.repeat(14)}z`
const TOKEN = tokenOf(RANDOM)

test.each<[what: string, text: string]>([
  ['nothing', ''],
  ['its prefix alone', 'pcst_'],
  ['another checksum', `pcst_${RANDOM}${checksumOf('x')}`],
  ['no checksum', `pcst_${RANDOM}`],
  ['one character fewer', tokenOf(RANDOM.slice(1))],
  ['one character more', tokenOf(`${RANDOM}0`)],
  ['a character that no token has', tokenOf(`_${RANDOM.slice(1)}`)],
  ['another prefix', TOKEN.replace('pcst', 'PCST')],
  ['something before it', `x${TOKEN}`],
  ['something behind it', `${TOKEN}0`],
  ['a line break behind it', `${TOKEN}\n`],
])('%s is not a static token', (_what, text) => {
  expect(isWellFormedStaticToken(text)).toBe(false)
})

test('a text that begins as a static token is taken for one, even if it is malformed', () => {
  const texts = [TOKEN, 'pcst_', 'pcst', '', `x${TOKEN}`, 'x_pcst_']
  expect(texts.filter(looksLikeStaticToken)).toEqual([TOKEN, 'pcst_'])
  expect(isWellFormedStaticToken(TOKEN)).toBe(true)
})

test('a stored token is a keyed hash, and a pepper is known by that of a fixed text', () => {
  const hex = '0123456789abcdef'.repeat(4)
  const pepper = pepperOf(`${hex}\n`, 'a file')
  const hmac = (text: string) => createHmac('sha256', Buffer.from(hex, 'hex')).update(text).digest('hex')
  expect(hashStaticToken(TOKEN, pepper).toString('hex')).toBe(hmac(TOKEN))
  expect(fingerprintOf(pepper)).toBe(hmac('fingerprint').slice(0, 16))
})

test.each(['', 'ab'.repeat(31), 'ab'.repeat(33), `${'ab'.repeat(31)}no`])('%j is not a pepper', (text) => {
  expect(() => pepperOf(text, 'a file')).toThrow(
    expect.objectContaining({ message: 'a file: expected 64 hex digits' }),
  )
})
