/** Numbers and times at the ends of what a message can hold: every call has an answer for them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { expect, test } from 'vitest'
import { METHODS, post } from '../support/contract/contract.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'

const { sidecar, folder, logLines } = await runSidecar({
  flags: { 'http.address': '127.0.0.1:0', 'http.connect': true },
})
const address = sidecar.httpAddress ?? ''
const administrator = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
const HEADERS = { 'content-type': 'application/proto', authorization: `Bearer ${administrator}` }

/** The first second of the year 10000. */
const TIME_END = 253_402_300_800n

/** Of 32 bits, of JavaScript, of 64 bits, and of times. */
const EXTREMES = [
  -1n,
  2n ** 31n - 1n,
  -(2n ** 31n),
  2n ** 53n,
  253_402_300_800n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]

/** The ways to a number in a message: the fields that lead to it. */
function waysIn({ fields }: DescMessage, seen: readonly string[] = []): DescField[][] {
  return fields.flatMap((field): DescField[][] => {
    const { scalar, message } = field
    if (scalar === ScalarType.INT32 || scalar === ScalarType.INT64 || scalar === ScalarType.UINT32)
      return [[field]]
    if (message === undefined || field.fieldKind === 'map' || seen.includes(message.typeName)) return []
    return waysIn(message, [...seen, message.typeName]).map((way) => [field, ...way])
  })
}

/** The message with that number alone, and with the account that most calls ask for. */
function bytesOf(input: DescMessage, [field, ...rest]: readonly DescField[], value: bigint): Buffer {
  const writer = new BinaryWriter()
  const account = input.fields.find(({ name }) => name === 'account')
  if (account?.scalar === ScalarType.STRING)
    writer.tag(account.number, WireType.LengthDelimited).string(ACCOUNT)
  if (field === undefined) return Buffer.alloc(0)
  if (field.message === undefined) writer.tag(field.number, WireType.Varint).int64(value)
  else writer.tag(field.number, WireType.LengthDelimited).bytes(bytesOf(field.message, rest, value))
  return Buffer.from(writer.finish())
}

const ROWS = METHODS.filter(({ methodKind }) => methodKind === 'unary').flatMap((method) =>
  waysIn(method.input).map((way) => [method, way.map(({ name }) => name).join('.'), way] as const),
)

test('the calls with times and positions are among the rows', () => {
  const named = ROWS.map(([{ name }, path]) => `${name} ${path}`)
  expect(named).toEqual(
    expect.arrayContaining([
      'ListAuditRecords since.seconds',
      'DescribeTokens after.change',
      'DescribeTokens after.recorded_at.seconds',
    ]),
  )
})

test.each(ROWS.map(([method, path, way]) => [`${method.name} ${path}`, method, way] as const))(
  '%s is used, or refused where it is outside of its range',
  async (_what, { parent, name, input }, way) => {
    const isLong = way.at(-1)?.scalar === ScalarType.INT64
    const isTime = way.at(-2)?.message?.typeName === 'google.protobuf.Timestamp'
    for (const value of EXTREMES) {
      const path = `/${parent.typeName}/${name}`
      const { status, body } = await post(address, path, bytesOf(input, way, value), HEADERS)
      const isOutside = isLong && (value < 0n || value >= 2n ** 53n || (isTime && value >= TIME_END))
      expect(isOutside ? [400] : [200, 400, 404, 503], `${value}: ${body}`).toContain(status)
    }
    expect(logLines.filter((line) => line.includes('"stack"'))).toEqual([])
  },
)
