/** Messages of any type of a proto: with fields, without them, and with values that no proto would let in. */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import * as fc from 'fast-check'

/** The values of a text field. */
export type TextsOf = (field: DescField) => fc.Arbitrary<string>

/** Fields with their values, as bytes. */
type Bytes = fc.Arbitrary<Uint8Array>
type Written = fc.Arbitrary<(writer: BinaryWriter) => void>

/** Messages that lie so deep in others have no fields. */
const DEPTH_MAX = 5

/** Bytes of messages of the type, in which most fields have a value. */
export function messagesOf(type: DescMessage, textsOf: TextsOf, depth = 0): Bytes {
  if (depth === DEPTH_MAX) return fc.constant(new Uint8Array())
  const members = type.members.map((member) => {
    const written =
      member.kind === 'oneof'
        ? fc.oneof(...member.fields.map((field) => fieldOf(field, textsOf, depth)))
        : fieldOf(member, textsOf, depth)
    return fc.option(written, { freq: 5, nil: () => {} })
  })
  return fc.tuple(...members).map((all) => written((writer) => void all.map((each) => each(writer))))
}

function written(write: (writer: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter()
  write(writer)
  return writer.finish()
}

function fieldOf(field: DescField, textsOf: TextsOf, depth: number): Written {
  const { number } = field
  const inMessage = (bytes: Uint8Array) => (writer: BinaryWriter) =>
    void writer.tag(number, WireType.LengthDelimited).bytes(bytes)
  const oneOf = (at: number): Written => {
    if (field.message !== undefined)
      return messagesOf(field.message, textsOf, depth + 1).map(
        (bytes) => (writer) => void writer.tag(at, WireType.LengthDelimited).bytes(bytes),
      )
    return field.enum === undefined ? scalarOf(field, at, textsOf) : enumOf(field.enum, at)
  }
  switch (field.fieldKind) {
    case 'list':
      return fc.array(oneOf(number), { maxLength: 3 }).map((all) => (writer) => {
        for (const each of all) each(writer)
      })
    case 'map':
      return fc.array(fc.tuple(textsOf(field), oneOf(2)), { maxLength: 3 }).map((entries) => (writer) => {
        for (const [key, value] of entries)
          inMessage(
            written((entry) => {
              entry.tag(1, WireType.LengthDelimited).string(key)
              value(entry)
            }),
          )(writer)
      })
    default:
      return oneOf(number)
  }
}

function enumOf({ values }: DescEnum, at: number): Written {
  const numbers = [...values.map(({ number }) => number), 99]
  return fc
    .constantFrom(...numbers)
    .map((number) => (writer) => void writer.tag(at, WireType.Varint).int32(number))
}

function scalarOf(field: DescField, at: number, textsOf: TextsOf): Written {
  switch (field.scalar) {
    case ScalarType.STRING:
      return textsOf(field).map(
        (text) => (writer) => void writer.tag(at, WireType.LengthDelimited).string(text),
      )
    case ScalarType.BYTES:
      return fc
        .uint8Array({ maxLength: 40 })
        .map((bytes) => (writer) => void writer.tag(at, WireType.LengthDelimited).bytes(bytes))
    case ScalarType.DOUBLE:
      return fc.double().map((number) => (writer) => void writer.tag(at, WireType.Bit64).double(number))
    default:
      return fc
        .constantFrom(0, 1, 1, 2, 100, 100, 3_600, -1)
        .map((number) => (writer) => void writer.tag(at, WireType.Varint).int64(number))
  }
}

/** Fields that no version of the contract has. Every server must pass over them. */
export const UNKNOWN_FIELDS = Buffer.from(
  written((writer) => {
    writer.tag(19_999, WireType.Varint).int32(1)
    writer.tag(20_001, WireType.LengthDelimited).string('of a later version')
  }),
)
