/** The bodies of `application/grpc-web-text`: base64, in parts that each may end with padding. */
import { STATUS, StatusError } from '../../contract/call.ts'

/** Characters that stand for three bytes. */
const QUANTUM = 4

export class Base64Decoder {
  /** The beginning of four characters whose rest has not arrived. */
  #rest = ''

  /** @throws StatusError if the characters are not base64 */
  decode(part: Buffer): Buffer {
    const text = this.#rest + part.toString('latin1')
    const whole = text.length - (text.length % QUANTUM)
    this.#rest = text.slice(whole)
    const decoded: Buffer[] = []
    // Each piece that ends with padding is separate base64.
    for (const [piece] of text.slice(0, whole).matchAll(/[^=]+={0,2}|=+/g)) {
      if (piece.length % QUANTUM !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(piece)) throw NOT_BASE64
      decoded.push(Buffer.from(piece, 'base64'))
    }
    return Buffer.concat(decoded)
  }

  /** @throws StatusError if the last four characters are not complete */
  end(): void {
    if (this.#rest !== '') throw NOT_BASE64
  }
}

const NOT_BASE64 = new StatusError({ code: STATUS.INVALID_ARGUMENT, message: 'the body: expected base64' })
