/**
 * Writes a protobuf message field by field into one buffer that is reused for the next message. The generated
 * encoders create many objects for each message, which costs more than the check itself. The resulting bytes
 * are the same.
 */

const VARINT = 0
const LENGTH_DELIMITED = 2

/** Longest prefix of a field: its tag, and the length of a text or message of less than 2 GB. */
const PREFIX_BYTES_MAX = 6

const BYTES_MIN = 4_096
/** A buffer that grew larger than this for a long message is released before the next message. */
const BYTES_KEPT_MAX = 131_072

/** Longer texts are not written character by character. */
const BY_HAND_MAX = 256

export class FieldWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
  #position = 0

  /** Begins a message with bytes that are already encoded. */
  start(encoded: Buffer): void {
    this.#position = 0
    if (this.#bytes.length > BYTES_KEPT_MAX) this.#bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
    this.#makeRoom(encoded.length)
    this.#bytes.set(encoded)
    this.#position = encoded.length
  }

  /** Returns a copy of everything that was written since `start`. */
  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.#position)
    this.#bytes.copy(message, 0, 0, this.#position)
    return message
  }

  /**
   * The default, 0, is not written.
   *
   * @throws TypeError if the value is not a whole number from 0 to 2^53 - 1. For an infinite one the loop
   * below would never end, and a negative one could not be decoded.
   */
  number(field: number, value: number): void {
    if (value === 0) return
    if (!Number.isSafeInteger(value) || value < 0)
      throw new TypeError(`field ${field}: expected a whole number that is not negative, found ${value}`)
    this.#makeRoom(11)
    this.#bytes[this.#position++] = (field << 3) | VARINT
    this.#varint(value)
  }

  flag(field: number, value: boolean): void {
    this.number(field, value ? 1 : 0)
  }

  /** The default, an empty text, is not written. */
  text(field: number, value: string): void {
    if (value === '') return
    this.#makeRoom(PREFIX_BYTES_MAX + 3 * value.length)
    const lengthPosition = this.begin(field)
    const bytes = this.#bytes
    let position = this.#position
    // Of a long text the native function is faster.
    const byHand = value.length <= BY_HAND_MAX
    if (!byHand) position += bytes.write(value, position)
    for (let index = 0; byHand && index < value.length; index++) {
      const code = value.charCodeAt(index)
      if (code < 0x80) bytes[position++] = code
      else {
        position = this.#position + bytes.write(value, this.#position)
        break
      }
    }
    this.#position = position
    this.end(lengthPosition)
  }

  /** Writes a nested message that is already encoded. */
  bytes(field: number, value: Buffer): void {
    this.#makeRoom(PREFIX_BYTES_MAX + value.length)
    this.#bytes[this.#position++] = (field << 3) | LENGTH_DELIMITED
    this.#varint(value.length)
    this.#bytes.set(value, this.#position)
    this.#position += value.length
  }

  /** Writes a nested message whose fields are already encoded in two parts. */
  parts(field: number, one: Buffer, other: Buffer): void {
    const length = one.length + other.length
    this.#makeRoom(PREFIX_BYTES_MAX + length)
    this.#bytes[this.#position++] = (field << 3) | LENGTH_DELIMITED
    this.#varint(length)
    this.#bytes.set(one, this.#position)
    this.#bytes.set(other, this.#position + one.length)
    this.#position += length
  }

  /** Begins a nested message. Returns a position that must be passed to `end`. */
  begin(field: number): number {
    this.#makeRoom(PREFIX_BYTES_MAX)
    this.#bytes[this.#position++] = (field << 3) | LENGTH_DELIMITED
    // One byte is reserved for the length, because most messages are short.
    return this.#position++
  }

  /** Ends a nested message and writes its length, which is only known now. */
  end(lengthPosition: number): void {
    const start = lengthPosition + 1
    const length = this.#position - start
    if (length >= 0x80) {
      const more = varintLength(length) - 1
      this.#makeRoom(more)
      this.#bytes.copyWithin(start + more, start, this.#position)
      this.#position = lengthPosition
      this.#varint(length)
      this.#position += length
    } else this.#bytes[lengthPosition] = length
  }

  #varint(value: number): void {
    let rest = value
    // Division and not a shift, because seconds since the epoch will exceed 32 bits.
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#position++] = (rest % 0x80) | 0x80
    this.#bytes[this.#position++] = rest
  }

  #makeRoom(length: number): void {
    const needed = this.#position + length
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * needed)
    this.#bytes.copy(larger, 0, 0, this.#position)
    this.#bytes = larger
  }
}

/** Length of a number as a varint, in bytes. */
function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}
