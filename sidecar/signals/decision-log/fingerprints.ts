/** Fingerprints of tokens: equal for equal tokens, and useless without a key of the sidecar. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'

/** Hexadecimal digits of a fingerprint: 128 bits. */
const DIGITS = 32

export class Fingerprints {
  readonly #key: KeyObject

  /**
   * @param pepper the secret of the data folder that the key is derived from. Hosts that share it write equal
   *   fingerprints.
   */
  constructor(pepper: string) {
    this.#key = createSecretKey(
      Buffer.from(hkdfSync('sha256', pepper.trim(), '', 'portcullis decision log', 32)),
    )
  }

  of(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('hex').slice(0, DIGITS)
  }
}
