/** Randomness that is the same for the same seed: of `Math.random`, which the simulation sets. */
import crypto from 'node:crypto'

/** The beginning of an Ed25519 private key in DER (PKCS #8); 32 random bytes follow. */
const ED25519_DER = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The replacements of functions of `node:crypto`. */
export function seeded() {
  const bytes = (size: number) =>
    Buffer.from(Array.from({ length: size }, () => Math.floor(Math.random() * 256)))
  return {
    randomBytes: (size: number, callback?: (error: null, bytes: Buffer) => void) =>
      callback === undefined ? bytes(size) : callback(null, bytes(size)),
    randomInt: (min: number, max: number) => min + Math.floor(Math.random() * (max - min)),
    randomUUID: () => bytes(16).toString('hex'),
    generateKeyPairSync: () => {
      const key = Buffer.concat([ED25519_DER, bytes(32)])
      const privateKey = crypto.createPrivateKey({ key, format: 'der', type: 'pkcs8' })
      return { privateKey, publicKey: crypto.createPublicKey(privateKey) }
    },
  }
}
