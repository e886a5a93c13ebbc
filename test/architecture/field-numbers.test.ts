/** The field numbers that code names are those of the contract's descriptors. */
import { readFileSync } from 'node:fs'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import * as numbers from '../../sidecar/grpc/field-numbers.ts'
import { ROOT, sourcesIn } from '../support/sources.ts'

const descriptors = fromBinary(FileDescriptorSetSchema, readFileSync(`${ROOT}proto/portcullis.binpb`))

/** Message → field as JSON names it → number. */
const contract = new Map(
  descriptors.file.flatMap((file) =>
    file.messageType.map((message) => [
      message.name,
      new Map(message.field.map((field) => [field.jsonName, field.number])),
    ]),
  ),
)

/** `CHECK_REQUEST` names the fields of `CheckRequest`, `TIME` those of two messages. */
const messagesOf = (name: string): string[] =>
  name === 'TIME'
    ? ['Timestamp', 'Duration']
    : [name.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())]

test.each(
  Object.entries(numbers).flatMap(([name, fields]) =>
    messagesOf(name).map((message) => ({ message, fields })),
  ),
)('$message', ({ message, fields }) => {
  const described = contract.get(message)
  expect(described).toBeDefined()
  expect(fields).toEqual(
    Object.fromEntries(Object.keys(fields).map((field) => [field, described?.get(field)])),
  )
})

test('no number of a field is written where it is read or written', () => {
  const bare =
    /\bnumber [!=]== [1-9]|\.has\([1-9]|\.(?:text|bytes|flag|number|begin)\([1-9]|writeTime\(writer, [1-9]/
  const offences = sourcesIn('sidecar/grpc/').flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (bare.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
  expect(offences).toEqual([])
})
