/**
 * JSON of the contract, by the descriptors of the same protos: texts of clients become the bytes that
 * handlers read, and their answers become JSON. It is read strictly: unknown names, names that appear twice
 * and text that is not Unicode are refused.
 */
import { isUtf8 } from 'node:buffer'
import {
  createFileRegistry,
  createRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  type FileRegistry,
  fromBinary,
  fromJsonString,
  type Registry,
  ScalarType,
  toBinary,
  toJson,
  toJsonString,
} from '@bufbuild/protobuf'
import { isFieldError } from '@bufbuild/protobuf/reflect'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { type CallError, invalidArgument } from '../../base/call-error.ts'
import { packageFile } from '../../base/package.ts'
import { fieldsOf, listIn, readList } from './json-list.ts'
import { plainBytesOf, planOf } from './plain-json.ts'

/** Reads and writes the messages of one method. */
export interface JsonCodec {
  /** Most bytes of a request. */
  readonly bytesMax: number
  /** The request as bytes. @throws CallError that names the field, and no value */
  read(json: Buffer): Buffer
  /**
   * As `read`, in steps that are as short as reading a small request; `undefined`: every request is small.
   */
  readonly readInSteps: ((json: Buffer) => Generator<undefined, Buffer, undefined>) | undefined
  /** The response as JSON. */
  write(response: Buffer): string
}

/**
 * Most bytes of a request, or of a member of a list in it: each is read in one turn of the event loop.
 * A check has the header fields of a request, and some clouds document tokens of up to 100,000 characters.
 */
const BYTES_MAX = 131_072

/**
 * Most values in as many bytes: an object, a list, or a value behind a comma. Each takes only a few
 * bytes, and reading it as long as a longer one.
 */
const VALUES_MAX = 5_000

/** False and empty values are written too, so that a denial says `"allowed": false`. */
const WRITING = { alwaysEmitImplicit: true }

/** The descriptors of the contract, of health checks and of error details. */
const shipped = () => ['portcullis', 'health', 'google_rpc'].map((name) => packageFile(`proto/${name}.binpb`))

/**
 * The descriptors of messages. Reading it takes some ten milliseconds, so it is done once, and for the first
 * call that needs it.
 */
export class Descriptors {
  readonly #read: () => readonly Uint8Array[]
  #known: Registry | undefined

  /** @param read reads the files, each a `google.protobuf.FileDescriptorSet` */
  constructor(read: () => readonly Uint8Array[] = shipped) {
    this.#read = read
  }

  get #registry(): Registry {
    this.#known ??= createRegistry(...this.#read().map(readDescriptors))
    return this.#known
  }

  /**
   * The codec of a method; `undefined`: it has no descriptor, as those of reflection.
   *
   * @param path `/package.Service/Method`
   */
  codecOf(path: string): JsonCodec | undefined {
    const [, service = '', name] = path.split('/')
    const method = this.#registry.getService(service)?.methods.find((each) => each.name === name)
    return method && codecFor(method, this.#registry)
  }

  /** A message as JSON, for people; `undefined`: its type is unknown. @param type `google.rpc.ErrorInfo` */
  debug(type: string, value: Uint8Array): unknown {
    const message = this.#registry.getMessage(type)
    return message && toJson(message, fromBinary(message, value), { registry: this.#registry })
  }
}

function readDescriptors(file: Uint8Array): FileRegistry {
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, file))
}

function codecFor({ input, output }: DescMethod, registry: Registry): JsonCodec {
  const writing = { ...WRITING, registry }
  /** Answers to claims are encoded once, and the same bytes answer many calls. */
  const written = new WeakMap<Buffer, string>()
  const list = listIn(input)
  const readMember = list && readerOf(list.message, registry)
  return {
    bytesMax: list === undefined ? BYTES_MAX : Number.POSITIVE_INFINITY,
    read: readerOf(input, registry),
    readInSteps: readMember && ((json) => readList(json, list, { bytes: BYTES_MAX, read: readMember })),
    write: (response) => {
      let json = written.get(response)
      if (json === undefined) {
        json = toJsonString(output, fromBinary(output, response), writing)
        written.set(response, json)
      }
      return json
    },
  }
}

function readerOf(message: DescMessage, registry: Registry): (json: Buffer) => Buffer {
  const plan = planOf(message)
  return (json) => {
    if (!isUtf8(json)) throw invalidArgument({ field: 'the body', expected: 'UTF-8' })
    // Shorter ones cannot have that many.
    if (json.length > VALUES_MAX && hasTooMany(json))
      throw invalidArgument({ field: 'the body', expected: `at most ${VALUES_MAX} values in a message` })
    const text = json.toString()
    const plain = plan && plainBytesOf(text, plan)
    if (plain !== undefined) return plain
    try {
      const bytes = toBinary(message, fromJsonString(message, text, { registry }))
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    } catch (error) {
      throw refusalOf(error, message)
    }
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SEPARATORS: ReadonlySet<number> = new Set([...Buffer.from(',{[')])

/** Whether there are more values than may be. Commas in texts do not count. */
function hasTooMany(json: Buffer): boolean {
  let values = 0
  let inText = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] as number
    if (byte === QUOTE) inText = !inText
    else if (inText) at += byte === BACKSLASH ? 1 : 0
    else if (SEPARATORS.has(byte) && ++values > VALUES_MAX) return true
  }
  return false
}

/**
 * The library's messages quote the request, which can be a secret in the wrong place. So only what they are
 * about is used.
 */
function refusalOf(error: unknown, input: DescMessage): CallError {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof SyntaxError) return invalidArgument({ field: 'the body', expected: 'JSON' })
  if (!isFieldError(cause)) return invalidArgument({ field: 'the body', expected: objectOf(error, input) })
  const field = cause.field()
  if (field.kind === 'oneof') return invalidArgument({ field: field.name, expected: oneOf(field) })
  const twice = cause.message === 'set multiple times'
  return invalidArgument({
    field: `${'parent' in field && field.parent ? `${field.parent.name}.` : ''}${field.name}`,
    expected: twice ? 'it once' : expectedOf(field),
  })
}

/** The library says only in its message which name is wrong, and in which object. */
const NAMED =
  /^cannot decode message ([\w.]+) from JSON: (?:key "(?<unknown>\w+)" is unknown|duplicate object key "(?<twice>\w+)")$/

function objectOf(error: unknown, input: DescMessage): string {
  const named = error instanceof Error ? NAMED.exec(error.message) : null
  const { unknown, twice = '' } = named?.groups ?? {}
  const found =
    unknown === undefined ? { name: twice, is: 'is there twice' } : { name: unknown, is: 'is unknown' }
  return fieldsOf(named?.[1] ?? input.typeName, found)
}

function oneOf({ fields }: DescOneof): string {
  return `exactly one of ${fields.map(({ name }) => name).join(' and ')}, found several`
}

function expectedOf(field: Pick<DescField, 'fieldKind' | 'scalar' | 'message' | 'enum'>): string {
  if (field.fieldKind === 'list') return 'a list with values of one type'
  if (field.fieldKind === 'map') return 'an object'
  if (field.fieldKind === 'enum') return 'the name of a value of the contract'
  if (field.fieldKind === 'message') return MESSAGES[field.message?.typeName ?? ''] ?? 'an object'
  if (field.scalar === ScalarType.STRING) return 'a text of Unicode characters'
  return field.scalar === ScalarType.BOOL ? 'true or false' : 'a whole number in its range'
}

/** Messages that are not objects in JSON. */
const MESSAGES: Readonly<Record<string, string>> = {
  'google.protobuf.Timestamp': 'a time such as 2027-01-31T00:00:00Z',
  'google.protobuf.Duration': 'a duration such as 5s',
}
