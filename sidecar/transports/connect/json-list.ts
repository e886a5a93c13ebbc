/**
 * Reads a request that is a list of messages member by member, so that others have their turn between two of
 * them.
 */
import type { DescMessage } from '@bufbuild/protobuf'
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { type CallError, invalidArgument } from '../../base/call-error.ts'

/** The only field of a message that has nothing but a list of messages. */
interface List {
  readonly name: string
  readonly number: number
  /** Of each member. */
  readonly message: DescMessage
  /** The message with the list. */
  readonly typeName: string
}

interface Member {
  /** Most bytes of one, with the blanks around it. */
  readonly bytes: number
  /** @throws CallError */
  readonly read: (json: Buffer) => Buffer
}

/** `undefined`: the message has other fields. */
export function listIn({ fields, typeName }: DescMessage): List | undefined {
  const [field, other] = fields
  if (field?.fieldKind !== 'list' || field.message === undefined || other !== undefined) return undefined
  return { name: field.jsonName, number: field.number, message: field.message, typeName }
}

/** Most values in all members. A batch of a thousand checks has about ten thousand. */
const VALUES_MAX = 100_000

/** Before and behind the list, with blanks. */
const AROUND_BYTES_MAX = 256

/**
 * The message as bytes. Each text between the commas of the list must be JSON by itself, so the whole is.
 *
 * @throws CallError
 */
export function* readList(json: Buffer, list: List, member: Member): Generator<undefined, Buffer, undefined> {
  const writer = new BinaryWriter()
  const cutter = new Cutter(json, startOf(json, list), member.bytes)
  for (let first = true; !cutter.ended; first = false) {
    const part = cutter.next()
    if (first && cutter.ended && isBlank(part)) break
    writer.tag(list.number, WireType.LengthDelimited).bytes(member.read(part))
    yield
  }
  const end = json.toString('latin1', cutter.position, cutter.position + AROUND_BYTES_MAX)
  if (json.length - cutter.position > AROUND_BYTES_MAX || !/^[ \t\n\r]*\}[ \t\n\r]*$/.test(end))
    throw unlike(list, end)
  const bytes = writer.finish()
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Position of the first member. */
function startOf(json: Buffer, list: List): number {
  const around = json.toString('latin1', 0, AROUND_BYTES_MAX)
  const head = /^[ \t\n\r]*\{[ \t\n\r]*"([a-zA-Z_]+)"[ \t\n\r]*:[ \t\n\r]*\[/.exec(around)
  if (head?.[1] !== list.name) throw unlike(list, around)
  return head[0].length
}

function isBlank(part: Buffer): boolean {
  return /^[ \t\n\r]*$/.test(part.toString('latin1'))
}

/** @param around what is before or behind the list */
function unlike({ name, typeName }: List, around: string): CallError {
  const found = /^[ \t\n\r]*[{,][ \t\n\r]*"([a-zA-Z_]+)"[ \t\n\r]*:/.exec(around)?.[1]
  const is = found === name ? (around.includes('{') ? undefined : 'is there twice') : 'is unknown'
  const fields = fieldsOf(typeName, found && is ? { name: found, is } : undefined)
  return invalidArgument({ field: 'the body', expected: `${fields}: {"${name}": [...]}` })
}

/** The expected form of an object. @param found a name in it, and its fault */
export function fieldsOf(typeName: string, found?: { readonly name: string; readonly is: string }): string {
  const expected = `a JSON object with the fields of ${typeName}, each of them once`
  // Names of fields are like this, and secrets in their place are longer or have digits.
  return found !== undefined && /^[a-z][a-zA-Z_]{0,31}$/.test(found.name)
    ? `${expected}; \`${found.name}\` ${found.is}`
    : expected
}

function noJson(): CallError {
  return invalidArgument({ field: 'the body', expected: 'JSON' })
}

const [OTHER, QUOTE, BACKSLASH, OPEN, CLOSE, COMMA] = [0, 1, 2, 3, 4, 5]

/** The meaning of each byte outside of texts. */
const KINDS = new Uint8Array(256).fill(OTHER)
for (const [characters, kind] of [
  ['"', QUOTE],
  ['\\', BACKSLASH],
  ['{[', OPEN],
  ['}]', CLOSE],
  [',', COMMA],
] as const)
  for (const byte of Buffer.from(characters)) KINDS[byte] = kind

const END_OF_LIST = 0x5d

/** Cuts a list into its members, without a look whether they are JSON. */
class Cutter {
  readonly #json: Buffer
  readonly #bytesMax: number
  #values = 0
  position: number
  /** Whether the last member was cut. Then the position is behind the list. */
  ended = false

  constructor(json: Buffer, position: number, bytesMax: number) {
    this.#json = json
    this.#bytesMax = bytesMax
    this.position = position
  }

  next(): Buffer {
    const start = this.position
    const end = this.#end()
    this.ended = this.#json[end] === END_OF_LIST
    this.position = end + 1
    if (this.#values > VALUES_MAX)
      throw invalidArgument({ field: 'the body', expected: `at most ${VALUES_MAX} values` })
    return this.#json.subarray(start, end)
  }

  /** Position of the comma or bracket behind the member. */
  #end(): number {
    const json = this.#json
    const start = this.position
    const most = Math.min(json.length, start + this.#bytesMax + 1)
    let depth = 0
    let inText = false
    for (let at = start; at < most; at++) {
      const kind = KINDS[json[at] as number]
      if (kind === OTHER) continue
      if (kind === QUOTE) inText = !inText
      else if (inText) at += kind === BACKSLASH ? 1 : 0
      else if (kind === OPEN) depth++
      else if (depth === 0 && (kind === COMMA || json[at] === END_OF_LIST)) return this.#ended(at)
      else if (kind === CLOSE && --depth < 0) throw noJson()
      if (!inText && (kind === OPEN || kind === COMMA)) this.#values++
    }
    throw most === json.length
      ? noJson()
      : invalidArgument({ field: 'the body', expected: `at most ${this.#bytesMax} bytes in a message` })
  }

  #ended(at: number): number {
    this.#values++
    return at
  }
}
