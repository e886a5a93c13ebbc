/** Fingerprints of tokens: equal for equal tokens, and useless without a key of the sidecar. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { ownTokenIn } from '../../authority/own-form.ts'

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

  /** Of a token of the embedded authority, it is the same behind every prefix: another matrix has another. */
  of(token: string): string {
    return this.#written(ownTokenIn(token) ?? token)
  }

  /** Earlier versions wrote that of the token with its prefix. */
  allOf(token: string): readonly string[] {
    return [...new Set([this.of(token), this.#written(token)])]
  }

  #written(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('hex').slice(0, DIGITS)
  }
}
