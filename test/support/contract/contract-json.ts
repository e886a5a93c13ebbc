/**
 * Holds JSON to a message of the contract: its field names, its types, and how enums, times and durations are
 * written.
 */
import { readFileSync } from 'node:fs'
import { createFileRegistry, type DescField, type DescMessage, fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'

const contract = createFileRegistry(
  fromBinary(
    FileDescriptorSetSchema,
    readFileSync(new URL('../../../proto/portcullis.binpb', import.meta.url)),
  ),
)

export const SNAKE_CASE = /^[a-z][a-z0-9_]*$/

/** Enums whose words are written as the documents write them, in upper case. */
const UPPER_CASE_ENUMS = ['Reason']

/** @param name without the package: `CheckResponse` */
export function messageOf(name: string): DescMessage {
  const message = contract.getMessage(`portcullis.v1.${name}`)
  if (message === undefined) throw new Error(`no message ${name}`)
  return message
}

/** Where the JSON of a message breaks the convention. */
export function offencesIn(json: unknown, message: DescMessage, path = ''): string[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return [`${path} is no object`]
  return Object.entries(json).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`
    const field = message.fields.find(({ name }) => name === key)
    if (field === undefined || !SNAKE_CASE.test(key)) return [`${at} is no field`]
    if (field.fieldKind !== 'list') return offencesOf(field, value, at)
    if (!Array.isArray(value)) return [`${at} is no list`]
    return value.flatMap((each, index) => offencesOf(field, each, `${at}[${index}]`))
  })
}

function offencesOf(field: DescField, value: unknown, at: string): string[] {
  if (field.enum !== undefined) {
    // The first word stands for a value that was not given: it is refused, and never shown.
    const [, ...names] = field.enum.values.map(({ localName }) => localName)
    const words = UPPER_CASE_ENUMS.includes(field.enum.name) ? names : names.map((name) => name.toLowerCase())
    return words.includes(value as string) ? [] : [`${at} is no word of ${field.enum.name}`]
  }
  if (field.message === undefined) return typeof value === 'object' ? [`${at} is no value`] : []
  switch (field.message.typeName) {
    case 'google.protobuf.Timestamp':
      return typeof value === 'string' && new Date(value).toISOString() === value ? [] : [`${at} is no time`]
    case 'google.protobuf.Duration':
      return typeof value === 'string' && /^\d+(\.\d{1,9})?s$/.test(value) ? [] : [`${at} is no duration`]
    // Data of any form, recorded as it was.
    case 'google.protobuf.Struct':
      return keysIn(value)
        .filter((key) => !SNAKE_CASE.test(key))
        .map((key) => `${at}: ${key} is no key`)
  }
  return offencesIn(value, field.message, at)
}

/** Every key, at any depth. */
export function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = Array.isArray(value) ? [] : Object.keys(value)
  return [...keys, ...Object.values(value).flatMap(keysIn)]
}
