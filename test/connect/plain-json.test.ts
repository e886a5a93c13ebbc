/**
 * JSON that the fast way to bytes accepts is read by the library in the same way. It never accepts JSON that
 * the library refuses.
 */

import { readFileSync } from 'node:fs'
import {
  createFileRegistry,
  type DescMessage,
  fromBinary,
  fromJsonString,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainBytesOf, planOf } from '../../sidecar/transports/connect/plain-json.ts'

const contract = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(new URL('../../proto/portcullis.binpb', import.meta.url))),
)
const messageOf = (name: string) => contract.getMessage(`portcullis.v1.${name}`) as DescMessage
const batch = messageOf('CheckBatchRequest')
const plan = planOf(batch) ?? new Map()

/** Bytes by the library; `undefined`: it refuses the JSON. */
function read(json: string): string | undefined {
  try {
    return Buffer.from(
      toBinary(batch, fromBinary(batch, toBinary(batch, fromJsonString(batch, json)))),
    ).toString('hex')
  } catch {
    return undefined
  }
}

const texts = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom('', ':', '"', '\\', 'a:b', 'é', '世', '\u2028'),
)
const scope = fc.record({ account: texts, project: texts }, { requiredKeys: [] })
const subject = fc.oneof(
  fc.record({ token: fc.record({ kind: texts, scope }, { requiredKeys: [] }) }),
  fc.record({
    credentials: fc.record({ headers: fc.array(fc.record({ name: texts, value: texts }), { maxLength: 3 }) }),
  }),
)
const check = fc
  .tuple(
    fc.record(
      { api: texts, target: scope, clientAddress: texts, client_address: texts },
      { requiredKeys: [] },
    ),
    subject,
  )
  .map(([fields, one]) => ({ ...fields, ...one }))
const batches = fc.record({ checks: fc.array(check, { maxLength: 3 }) })

test('it reads what checks look like', () => {
  expect(plainBytesOf('{"checks":[{"api":"balance","token":{"kind":"static_token"}}]}', plan)).toBeDefined()
})

test.each([
  'CheckRequest',
  'CheckBatchRequest',
  'CheckStreamRequest',
  'PlanRequest',
  'UpdateAccountRequest',
  'ListAccountsRequest',
])('the plan of %s is there where all fields are texts and messages', (name) => {
  expect(planOf(messageOf(name)) !== undefined).toBe(name.startsWith('Check'))
})

test('both agree, also where members are there twice, or anything is damaged', () => {
  let plain = 0
  // A member may be there twice with one of its names or with both, and a text may be anything.
  const damaged = fc
    .tuple(
      batches,
      fc.nat(),
      fc.constantFrom('', ' ', ':', ',', '"', '{', '}', '\\', '"api":"x",', '"api" : "", ', 'null'),
    )
    .map(([value, at, inserted]) => {
      const json = JSON.stringify(value)
      const cut = at % (json.length + 1)
      return json.slice(0, cut) + inserted + json.slice(cut)
    })
  fc.assert(
    fc.property(damaged, (json) => {
      const bytes = plainBytesOf(json, plan)
      if (bytes === undefined) return
      plain++
      // A oneof with both of its members is left to the handlers, which refuse it.
      const expected = read(json)
      expect(Buffer.from(toBinary(batch, fromBinary(batch, bytes))).toString('hex')).toBe(expected)
    }),
    { numRuns: 3_000 },
  )
  expect(plain).toBeGreaterThan(100)
})

test.each([
  '{"checks":[{"api":"a","api":"b"}]}',
  '{"checks":[{"api" :"a","api" : "b"}]}',
  '{"checks":[{"api":":","api":""}]}',
  '{"checks":[],"checks":[]}',
  '{"checks":[{"target":{"account":"1"},"target":{"account":"2"}}]}',
  '{"checks":[{"clientAddress":"a","client_address":"b"}]}',
  '{"checks":[{"ap\\u0069":"a","api":"b"}]}',
  '{"checks":[{"api":null}]}',
  '{"checks":{}}',
  '{"checks":[[]]}',
  '{"__proto__":{}}',
  '{"toString":{}}',
])('%s is left to the library', (json) => {
  expect(plainBytesOf(json, plan)).toBeUndefined()
})
