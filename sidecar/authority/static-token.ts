/**
 * Static tokens: 256 random bits after a prefix that secret scanners recognise. A checksum shows without a
 * query whether a token was mistyped or truncated. The directory stores only a keyed hash.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { secretLine } from '../base/secret-text.ts'

/** Every static token begins with this prefix. */
const STATIC_TOKEN_PREFIX = 'pcst_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 is more than 2^256, and 62^6 more than 2^32. */
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
/** Of all of them. */
export const STATIC_TOKEN_LENGTH = STATIC_TOKEN_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH
const FORM = new RegExp(`^${STATIC_TOKEN_PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`)

/** A new static token. */
export function newStaticToken(): string {
  const random = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), RANDOM_LENGTH)
  return `${STATIC_TOKEN_PREFIX}${random}${checksum(random)}`
}

/** Whether a credential begins with the prefix of static tokens. */
export function looksLikeStaticToken(value: string): boolean {
  return value.startsWith(STATIC_TOKEN_PREFIX)
}

/** Whether a credential is a static token with the right checksum. */
export function isWellFormedStaticToken(value: string): boolean {
  if (!FORM.test(value)) return false
  const random = value.slice(STATIC_TOKEN_PREFIX.length, -CHECKSUM_LENGTH)
  return value.endsWith(checksum(random))
}

/** The hash that is stored instead of the token: HMAC-SHA-256 with a pepper that is not in the store. */
export function hashStaticToken(value: string, pepper: KeyObject): Buffer {
  return createHmac('sha256', pepper).update(value).digest()
}

/**
 * The end of a token, by which a person finds the one that leaked. It is a part of the checksum: of the 256
 * random bits it reveals less than 24, so that more than 232 stay unknown.
 */
export function lastFourOf(value: string): string {
  return value.slice(-4)
}

/** The key that is in a pepper file. @throws Error that names the file and does not quote the text */
export function pepperOf(text: string, path: string): KeyObject {
  const bytes = Buffer.from(secretLine(text) ?? '', 'hex')
  if (bytes.length !== 32) throw new Error(`${path}: expected 64 hex digits`)
  return createSecretKey(bytes)
}

/** Identifies a pepper without revealing it: the keyed hash of a fixed text that is not a token. */
export function fingerprintOf(pepper: KeyObject): string {
  return createHmac('sha256', pepper).update('fingerprint').digest('hex').slice(0, 16)
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECKSUM_LENGTH)
}

function base62(number: bigint, length: number): string {
  let digits = ''
  for (let rest = number; digits.length < length; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits
  return digits
}
