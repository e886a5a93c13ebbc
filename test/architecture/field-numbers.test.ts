/** The field numbers that code names are those of the contract's descriptors. */
import { readFileSync } from 'node:fs'
import { fromBinary } from '@bufbuild/protobuf'
import { type DescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, test } from 'vitest'
import * as envoyNumbers from '../../sidecar/contract/ext-authz/envoy-field-numbers.ts'
import * as numbers from '../../sidecar/contract/field-numbers.ts'
import { ROOT, sourcesIn } from '../support/checkout/sources.ts'

/** Message → field as JSON names it → number. Of the messages in another one, the last part of the name. */
function contractOf(file: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const descriptors = fromBinary(FileDescriptorSetSchema, readFileSync(`${ROOT}proto/${file}`))
  const all = (messages: readonly DescriptorProto[]): DescriptorProto[] =>
    messages.flatMap((message) => [message, ...all(message.nestedType)])
  return new Map(
    descriptors.file.flatMap((file) =>
      all(file.messageType).map((message) => [
        message.name,
        new Map(message.field.map((field) => [field.jsonName, field.number])),
      ]),
    ),
  )
}

/** `CHECK_REQUEST` names the fields of `CheckRequest`, `TIME` those of two messages. */
const messagesOf = (name: string): string[] =>
  name === 'TIME'
    ? ['Timestamp', 'Duration']
    : [name.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())]

describe.each([
  { file: 'portcullis.binpb', numbers },
  { file: 'envoy.binpb', numbers: envoyNumbers },
])('$file', ({ file, numbers }) => {
  const contract = contractOf(file)

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
})

test('no number of a field is written where it is read or written', () => {
  const bare =
    /\bnumber [!=]== [1-9]|\.has\([1-9]|\.(?:text|bytes|flag|number|begin)\([1-9]|writeTime\(writer, [1-9]/
  const offences = sourcesIn('sidecar/contract/', 'sidecar/transports/').flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (bare.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
  expect(offences).toEqual([])
})
