/**
 * The fast way from JSON to bytes, for messages that contain only texts and messages, as checks do. It writes
 * what can be read in only one way, and leaves everything else to the library: that costs two microseconds
 * more.
 */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt'
import { FieldWriter } from '../../contract/field-writer.ts'

/** The bytes for a member of an object. */
interface Member {
  readonly field: number
  readonly repeated: boolean
  /** Absent: a text. */
  readonly message: Plan | undefined
}

/** By the names of the members. */
type Plan = ReadonlyMap<string, Member>

/** Fields with larger numbers have no bit. */
const FIELD_MAX = 30

/** `undefined`: the message has other fields. @param around the messages that it is a part of */
export function planOf(message: DescMessage, around: readonly DescMessage[] = []): Plan | undefined {
  if (around.includes(message)) return undefined
  const plan = new Map<string, Member>()
  for (const field of message.fields) {
    const member = memberOf(field, [...around, message])
    if (member === undefined || field.number > FIELD_MAX) return undefined
    plan.set(field.name, member).set(field.jsonName, member)
  }
  return plan
}

function memberOf(field: DescField, around: readonly DescMessage[]): Member | undefined {
  // An empty text that is there differs from none where the field has explicit presence.
  const isImplicit = field.presence === FeatureSet_FieldPresence.IMPLICIT
  if (field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING && isImplicit)
    return { field: field.number, repeated: false, message: undefined }
  if (field.message === undefined || field.fieldKind === 'map') return undefined
  if (field.message.typeName.startsWith('google.protobuf.')) return undefined
  const message = planOf(field.message, around)
  return message && { field: field.number, repeated: field.fieldKind === 'list', message }
}

/** Shared by all messages, because writing one never waits. */
const WRITER = new FieldWriter()
const NO_BYTES = Buffer.alloc(0)

/** Colons of the texts and members that were written. */
let colons = 0

/** The bytes; `undefined`: the library must look. @param json valid UTF-8 */
export function plainBytesOf(json: string, plan: Plan): Buffer | undefined {
  // Without escapes a text has the characters that stand in the JSON.
  if (json.includes('\\')) return undefined
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return undefined
  }
  WRITER.start(NO_BYTES)
  colons = 0
  // Of members with the same name only the last one is here. Then the JSON has a colon that was not written.
  if (!writeMembers(value, plan) || colons !== colonsIn(json)) return undefined
  return WRITER.finish()
}

function writeMembers(value: unknown, plan: Plan): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  let seen = 0
  for (const name in value) {
    const member = plan.get(name)
    // A field has two names, and may be there under one of them.
    if (member === undefined || seen & (1 << member.field)) return false
    seen |= 1 << member.field
    if (!writeMember((value as Record<string, unknown>)[name], member)) return false
    colons++
  }
  return true
}

function writeMember(value: unknown, { field, repeated, message }: Member): boolean {
  if (message === undefined) {
    if (typeof value !== 'string') return false
    WRITER.text(field, value)
    colons += colonsIn(value)
    return true
  }
  if (!repeated) return writeMessage(value, field, message)
  return Array.isArray(value) && value.every((each) => writeMessage(each, field, message))
}

function writeMessage(value: unknown, field: number, plan: Plan): boolean {
  const position = WRITER.begin(field)
  const written = writeMembers(value, plan)
  WRITER.end(position)
  return written
}

function colonsIn(text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) count++
  return count
}
