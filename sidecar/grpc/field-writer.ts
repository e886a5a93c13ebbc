/**
 * Writes a protobuf message field by field into one place that is used again for the next message. The generated encoders
 * make objects and pieces for each message, which costs more than a check itself; the bytes are the same.
 */

const VARINT = 0
const LENGTH_DELIMITED = 2

/** Longest prefix of a field: tag, and length of a text or message below 2 GB. */
const PREFIX_BYTES_MAX = 6

const BYTES_MIN = 4_096
/** What a message that was longer took is given back. */
const BYTES_KEPT_MAX = 131_072

export class FieldWriter {
  #bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
  #position = 0

  /** Begins a message, with bytes that are encoded already. */
  start(encoded: Buffer): void {
    this.#position = 0
    if (this.#bytes.length > BYTES_KEPT_MAX) this.#bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
    this.#makeRoom(encoded.length)
    this.#bytes.set(encoded)
    this.#position = encoded.length
  }

  /** A copy of what was written since `start`. */
  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.#position)
    this.#bytes.copy(message, 0, 0, this.#position)
    return message
  }

  /** @param value a whole number from 0; the default, 0, is not written */
  number(field: number, value: number): void {
    if (value === 0) return
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
    const place = this.begin(field)
    const bytes = this.#bytes
    let position = this.#position
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index)
      if (code < 0x80) bytes[position++] = code
      else {
        position = this.#position + bytes.write(value, this.#position)
        break
      }
    }
    this.#position = position
    this.end(place)
  }

  /** A message within that is encoded already. */
  bytes(field: number, value: Buffer): void {
    this.#makeRoom(PREFIX_BYTES_MAX + value.length)
    this.#bytes[this.#position++] = (field << 3) | LENGTH_DELIMITED
    this.#varint(value.length)
    this.#bytes.set(value, this.#position)
    this.#position += value.length
  }

  /** Begins a message within; `end` takes what it returns. */
  begin(field: number): number {
    this.#makeRoom(PREFIX_BYTES_MAX)
    this.#bytes[this.#position++] = (field << 3) | LENGTH_DELIMITED
    // Most are short enough for a length of one byte.
    return this.#position++
  }

  /** Ends the message that began at a place: only now its length is known. */
  end(place: number): void {
    const start = place + 1
    const length = this.#position - start
    if (length >= 0x80) {
      const more = varintLength(length) - 1
      this.#makeRoom(more)
      this.#bytes.copyWithin(start + more, start, this.#position)
      this.#position = place
      this.#varint(length)
      this.#position += length
    } else this.#bytes[place] = length
  }

  #varint(value: number): void {
    let rest = value
    // Not shifted: seconds since the epoch will not fit 32 bits for ever.
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

/** Bytes that a number takes as a varint. */
function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}
