/** The writer of messages: it refuses numbers that the wire format does not have, and never loops on them. */
import { expect, test } from 'vitest'
import { FieldWriter } from '../../sidecar/contract/field-writer.ts'

test.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e308, 2 ** 53, -1, 0.5])(
  'the number %s is refused',
  (value) => {
    const writer = new FieldWriter()
    writer.start(Buffer.alloc(0))
    expect(() => writer.number(1, value)).toThrow(
      new TypeError(`field 1: expected a whole number that is not negative, found ${value}`),
    )
  },
)

test.each<[value: number, bytes: string]>([
  [0, ''],
  [1, '0801'],
  [128, '088001'],
  [Number.MAX_SAFE_INTEGER, '08ffffffffffffff0f'],
])('the number %s is written as a varint', (value, bytes) => {
  const writer = new FieldWriter()
  writer.start(Buffer.alloc(0))
  writer.number(1, value)
  expect(writer.finish().toString('hex')).toBe(bytes)
})
