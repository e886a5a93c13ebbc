/**
 * An authenticator app: one-time codes as RFC 6238 says, without the library that the sidecar checks them
 * with.
 */
import { createHmac } from 'node:crypto'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const PERIOD_MS = 30_000

/** The code that an app shows. @param secret in base32 */
export function codeAt(secret: string, nowMs: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / PERIOD_MS)))
  const mac = createHmac('sha1', secretBytes(secret)).update(counter).digest()
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fff_ffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** Six digits that are not the code of this time, nor of one near it. */
export function wrongCodeAt(secret: string, nowMs: number): string {
  const near = [-2, -1, 0, 1, 2].map((step) => codeAt(secret, nowMs + step * PERIOD_MS))
  const free = ['000000', '111111', '222222', '333333', '444444', '555555'].find(
    (code) => !near.includes(code),
  )
  return free ?? '666666'
}

/** The secret itself. */
export function secretBytes(base32: string): Buffer {
  const bits = [...base32].map((digit) => ALPHABET.indexOf(digit).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
