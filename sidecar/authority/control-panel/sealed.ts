/**
 * Encryption and authentication with keys that are derived from the pepper, which is never in the directory.
 * A label distinguishes the keys, so that a text from one part of the control panel means nothing to another.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const KEY_LENGTH = 32
const NONCE_LENGTH = 12
const TAG_LENGTH = 16

/** The key of a label: HKDF with SHA-256. */
export function derivedKey(pepper: KeyObject, label: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', pepper, '', `portcullis ${label}`, KEY_LENGTH)))
}

/** @param about what the bytes belong to: they can be opened with the same words alone */
export function seal(key: KeyObject, bytes: Uint8Array, about: readonly string[]): Buffer {
  const nonce = randomBytes(NONCE_LENGTH)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(JSON.stringify(about)))
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

/** `undefined`: it was sealed with another key, about something else, or was changed. */
export function unseal(key: KeyObject, sealed: Uint8Array, about: readonly string[]): Buffer | undefined {
  if (sealed.length < NONCE_LENGTH + TAG_LENGTH) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_LENGTH), {
    authTagLength: TAG_LENGTH,
  })
    .setAAD(Buffer.from(JSON.stringify(about)))
    .setAuthTag(sealed.subarray(-TAG_LENGTH))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_LENGTH, -TAG_LENGTH)), decipher.final()])
  } catch {
    return undefined
  }
}

/** Says that we made these bytes, about these words. */
export function tagOf(key: KeyObject, bytes: Uint8Array, about: readonly string[]): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(about)).update('\n').update(bytes).digest()
}
