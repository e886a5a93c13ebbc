/**
 * A `CheckRequest` read field by field. The generated decoder keeps the last side of a `oneof` of which both arrived,
 * puts U+FFFD where bytes are no text, and reads on where a message overruns its parent; a check must do neither.
 */
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Scope } from '../../engine/index.ts'

export interface DecodedCheck {
  readonly api: string
  /** Of `credentials`; `undefined` where they did not arrive. */
  readonly headers: (readonly [name: string, value: string])[] | undefined
  /** Of `token`; `undefined` where it did not arrive. */
  readonly claims: { readonly kind: string; readonly scope: Scope | undefined } | undefined
  readonly target: Scope | undefined
  readonly clientAddress: string
}

const LENGTH_DELIMITED = 2

/** @throws Error where the bytes are no such message, or a message field comes twice: whichever were dropped might matter */
export function decodeCheckRequest(bytes: Uint8Array): DecodedCheck {
  const reader = new BinaryReader(bytes)
  let api = ''
  let headers: DecodedCheck['headers']
  let claims: DecodedCheck['claims']
  let target: Scope | undefined
  let clientAddress = ''
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    // What is unknown here is of a later version: passed over.
    if (field > 5) reader.skip(type, field)
    else if (type !== LENGTH_DELIMITED) throw wrongType(field, type)
    else if (field === 1) api = reader.string(true)
    else if (field === 2) headers = inside(reader, headers, decodeHeaders)
    else if (field === 3) claims = inside(reader, claims, decodeClaims)
    else if (field === 4) target = inside(reader, target, decodeScope)
    else clientAddress = reader.string(true)
  }
  return { api, headers, claims, target, clientAddress }
}

function decodeHeaders(reader: BinaryReader, end: number): [name: string, value: string][] {
  const headers: [name: string, value: string][] = []
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field > 1) reader.skip(type, field)
    else if (type !== LENGTH_DELIMITED) throw wrongType(field, type)
    else headers.push(inside(reader, undefined, decodeHeader))
  }
  return headers
}

function decodeHeader(reader: BinaryReader, end: number): [name: string, value: string] {
  const header: [name: string, value: string] = ['', '']
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field > 2) reader.skip(type, field)
    else if (type !== LENGTH_DELIMITED) throw wrongType(field, type)
    else header[field - 1] = reader.string(true)
  }
  return header
}

function decodeClaims(reader: BinaryReader, end: number): NonNullable<DecodedCheck['claims']> {
  let kind = ''
  let scope: Scope | undefined
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field > 2) reader.skip(type, field)
    else if (type !== LENGTH_DELIMITED) throw wrongType(field, type)
    else if (field === 1) kind = reader.string(true)
    else scope = inside(reader, scope, decodeScope)
  }
  return { kind, scope }
}

/** On the wire an empty project is no project. */
function decodeScope(reader: BinaryReader, end: number): Scope {
  let account = ''
  let project: string | undefined
  while (reader.pos < end) {
    const [field, type] = reader.tag()
    if (field > 2) reader.skip(type, field)
    else if (type !== LENGTH_DELIMITED) throw wrongType(field, type)
    else if (field === 1) account = reader.string(true)
    else project = reader.string(true) || undefined
  }
  return { account, project }
}

function wrongType(field: number, type: number): RangeError {
  return new RangeError(`field ${field} has wire type ${type}, expected ${LENGTH_DELIMITED}`)
}

/** Reads a message field to its end, and not beyond; one that came before is not replaced in silence. */
function inside<T>(
  reader: BinaryReader,
  earlier: T | undefined,
  decode: (reader: BinaryReader, end: number) => T,
): T {
  if (earlier !== undefined) throw new RangeError('a message field comes twice')
  const end = reader.uint32() + reader.pos
  if (end > reader.len) throw new RangeError('a message is cut short')
  const value = decode(reader, end)
  if (reader.pos !== end) throw new RangeError('a field reaches beyond its message')
  return value
}
