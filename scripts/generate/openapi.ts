/**
 * Makes `proto/openapi.json` of the descriptors: the calls of the contract that take one JSON body and give
 * one.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  fromBinary,
  ScalarType,
} from '@bufbuild/protobuf'
import {
  FeatureSet_FieldPresence,
  type FileDescriptorProto,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt'
import { ROOT } from '../packages.ts'
import type { Made } from './made.ts'

type Json = { readonly [key: string]: unknown }

const ABOUT = `Which credential opens which product API, and the right credential for a call: the gRPC contract as JSON, by the protocol Connect.
\`CheckStream\` and \`WatchMatrix\` are streams and not described here. Names of fields may also be written as in the protos
(\`client_address\`). Fields that are unknown, or there twice, are refused.`

/** Of messages that have a special form in JSON. */
const WELL_KNOWN: Readonly<Record<string, Json>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' },
  'google.protobuf.Struct': { type: 'object' },
}

const ERROR: Json = {
  type: 'object',
  required: ['code', 'message'],
  properties: {
    code: {
      type: 'string',
      description: "Connect's name of the status of gRPC, for example `invalid_argument`.",
    },
    message: { type: 'string', description: 'An explanation for people.' },
    details: {
      type: 'array',
      description:
        'A `google.rpc.ErrorInfo` with the `reason`, and what else helps: the fields, the time to wait.',
      items: {
        type: 'object',
        required: ['type', 'value'],
        properties: {
          type: { type: 'string', description: 'Name of the message.' },
          value: { type: 'string', description: 'The encoded message, in base64.' },
          debug: { description: 'The message as JSON.' },
        },
      },
    },
  },
}

/** The answer of the HTTP server before a call begins. */
const REFUSAL: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'title'],
      properties: { code: { type: 'integer' }, message: { type: 'string' }, title: { type: 'string' } },
    },
  },
}

/** Numbers of the fields that say where in a file something stands: `google.protobuf.SourceCodeInfo`. */
const AT = { message: 4, field: 2, service: 6, method: 2 }

const DESCRIPTORS = 'proto/portcullis.binpb'

const set = fromBinary(FileDescriptorSetSchema, readFileSync(join(ROOT, DESCRIPTORS)))
const comments = new Map(set.file.flatMap(commentsIn))

export function makeOpenApi(): Made {
  const files = [...createFileRegistry(set).files].filter(({ proto }) => proto.package === 'portcullis.v1')
  const document = `${JSON.stringify(documentOf(files), null, 2)}\n`
  return { files: new Map([['proto/openapi.json', document]]), inputs: [DESCRIPTORS] }
}

function documentOf(described: readonly DescFile[]): Json {
  const services = described.flatMap((file) => file.services)
  const methods = services.flatMap((service) => service.methods).filter(isUnary)
  const inputs = reachable(methods.map(({ input }) => input))
  const outputs = reachable(methods.map(({ output: message }) => message))
  const messages = new Map([...inputs, ...outputs].map((message) => [message.typeName, message]))
  return {
    openapi: '3.1.0',
    info: { title: 'Portcullis', version: 'v1', description: ABOUT },
    tags: services.map((service) => ({ name: service.name, description: textOf(service) })),
    paths: Object.fromEntries(
      methods.map((method) => [`/${method.parent.typeName}/${method.name}`, { post: operationOf(method) }]),
    ),
    components: {
      securitySchemes: {
        caller: { type: 'http', scheme: 'bearer', description: 'A caller token.' },
        user: { type: 'apiKey', in: 'header', name: 'X-Auth-Token', description: 'An IAM token.' },
      },
      schemas: {
        ...Object.fromEntries(
          [...messages.values()].map((message) => [
            message.name,
            messageSchema(message, inputs.has(message)),
          ]),
        ),
        Error: ERROR,
        Refusal: REFUSAL,
      },
    },
  }
}

function isUnary({ methodKind }: DescMethod): boolean {
  return methodKind === 'unary'
}

/** The messages, and those within them. */
function reachable(messages: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const found = new Set<DescMessage>()
  const visit = (message: DescMessage) => {
    if (found.has(message) || message.typeName in WELL_KNOWN) return
    found.add(message)
    for (const { message: inner } of message.fields) if (inner !== undefined) visit(inner)
  }
  for (const message of messages) visit(message)
  return found
}

function operationOf(method: DescMethod): Json {
  const json = (schema: Json) => ({ 'application/json': { schema } })
  const either = { anyOf: [reference('Error'), reference('Refusal')] }
  return {
    operationId: `${method.parent.name}_${method.name}`,
    tags: [method.parent.name],
    description: textOf(method),
    // A call needs one of them, which depends on the call and on the listener.
    security: [{}, { caller: [] }, { user: [] }],
    requestBody: { required: true, content: json(reference(method.input.name)) },
    responses: {
      200: { description: 'The answer.', content: json(reference(method.output.name)) },
      403: { description: 'Not allowed, for the caller or for a page.', content: json(either) },
      405: { description: 'Another method than POST.', content: json(reference('Refusal')) },
      415: {
        description: 'Another content type.',
        content: { 'text/plain': { schema: { type: 'string' } } },
      },
      default: {
        description: 'No answer. A client must treat it as a denial.',
        content: json(reference('Error')),
      },
    },
  }
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` }
}

/** @param isRead whether clients send it: then a field may be null, which is as if it were not there */
function messageSchema(message: DescMessage, isRead: boolean): Json {
  const implicit = message.fields.filter(
    ({ oneof, presence }) => oneof === undefined && presence !== FeatureSet_FieldPresence.EXPLICIT,
  )
  return {
    type: 'object',
    description: textOf(message),
    properties: Object.fromEntries(
      message.fields.map((field) => [field.jsonName, fieldSchema(field, isRead)]),
    ),
    additionalProperties: false,
    ...(!isRead && implicit.length > 0 && { required: implicit.map(({ jsonName }) => jsonName) }),
  }
}

function fieldSchema(field: DescField, isRead: boolean): Json {
  const schema =
    field.fieldKind === 'list'
      ? { type: 'array', items: valueSchema(field, false) }
      : valueSchema(field, isRead)
  const described = { description: textOf(field), ...schema }
  return isRead && 'type' in schema && typeof schema.type === 'string'
    ? { ...described, type: [schema.type, 'null'] }
    : described
}

/** @param isNullable of a reference; other types say so themselves */
function valueSchema(field: DescField, isNullable: boolean): Json {
  if (field.enum !== undefined) return enumSchema(field.enum)
  if (field.message === undefined) return scalarSchema(field)
  const known = WELL_KNOWN[field.message.typeName]
  if (known !== undefined) return known
  const message = reference(field.message.name)
  return isNullable ? { anyOf: [message, { type: 'null' }] } : message
}

function enumSchema({ values }: DescEnum): Json {
  return { type: 'string', enum: values.map(({ name }) => name) }
}

function scalarSchema({ scalar }: DescField): Json {
  switch (scalar) {
    case ScalarType.STRING:
      return { type: 'string' }
    case ScalarType.BOOL:
      return { type: 'boolean' }
    case ScalarType.INT32:
      return { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
    case ScalarType.UINT32:
      return { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 }
    case ScalarType.INT64:
      // JSON has no whole numbers of 64 bits.
      return { type: 'string', pattern: '^-?[0-9]+$' }
    case ScalarType.BYTES:
      return { type: 'string', contentEncoding: 'base64' }
    default:
      throw new Error(`expected a type of the contract, found scalar ${scalar}`)
  }
}

/** The comment of the proto in one line. */
function textOf({ proto }: { readonly proto: object }): string {
  return (comments.get(proto) ?? '').replace(/\s+/g, ' ').trim()
}

/** The comments of messages, fields, services and methods. The contract has no messages within messages. */
function commentsIn({ messageType, service, sourceCodeInfo }: FileDescriptorProto): [object, string][] {
  const texts = new Map(
    sourceCodeInfo?.location.map(({ path, leadingComments }) => [path.join('.'), leadingComments]),
  )
  const at = (described: object, ...path: number[]): [object, string] => [
    described,
    texts.get(path.join('.')) ?? '',
  ]
  return [
    ...messageType.flatMap((message, index) => [
      at(message, AT.message, index),
      ...message.field.map((field, inner) => at(field, AT.message, index, AT.field, inner)),
    ]),
    ...service.flatMap((each, index) => [
      at(each, AT.service, index),
      ...each.method.map((method, inner) => at(method, AT.service, index, AT.method, inner)),
    ]),
  ]
}
