/** A call keeps the header fields that handlers ask for, and each of their values. */
import { expect, test } from 'vitest'
import { METADATA_NAMES, type MetadataName } from '../../sidecar/contract/call.ts'
import { HeaderField } from '../../sidecar/transports/http2/hpack/header-field.ts'
import { CallHead } from '../../sidecar/transports/sockets/head.ts'

const connection = { address: undefined, certificateNames: [] }
const headOf = (...fields: readonly (readonly [name: string, value: string])[]) =>
  new CallHead(
    { fields: fields.map(([name, value]) => new HeaderField(name, value)), bytes: 0, tooLarge: false },
    new Map(),
    connection,
    new Set(METADATA_NAMES),
  )

test.each(METADATA_NAMES)('%s: every value, in its order', (name) => {
  const head = headOf([name, 'one'], ['user-agent', 'a client'], [name, 'two'])
  expect(head.metadata(name)).toEqual(['one', 'two'])
  expect(headOf().metadata(name)).toEqual([])
})

test('a field that no handler asks for is not kept', () => {
  const head = headOf(['x-other', 'value'], ['grpc-timeout', '1S'])
  for (const name of ['x-other', 'grpc-timeout']) expect(head.metadata(name as MetadataName)).toEqual([])
  expect(head.timeoutMs).toBe(1_000)
})
