/** Protobuf by hand: bytes that no generated code would write. */

/** A varint; numbers of more than 32 bits are not needed here. */
export function varint(number: number): number[] {
  return number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...varint(number >>> 7)]
}

/** A length-delimited field: a string, bytes or a message. */
export function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
}

/** The tag alone of a field with a wire type. */
export function tag(number: number, wireType: number): Buffer {
  return Buffer.from(varint(number * 8 + wireType))
}

/** One message after the other; a protobuf reader takes them for one. */
export function joined(...parts: readonly (Uint8Array | readonly number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => Uint8Array.from(part)))
}
