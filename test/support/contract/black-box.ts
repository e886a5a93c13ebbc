/**
 * A gRPC client that shares no code with Portcullis: grpc-js, with the messages that proto-loader makes of
 * the protos. It is how another language sees the sidecar.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type CallOptions,
  type ChannelOptions,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  makeClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import {
  loadFileDescriptorSetFromBuffer,
  loadSync,
  type MessageTypeDefinition,
  type ServiceDefinition,
} from '@grpc/proto-loader'
import { expect } from 'vitest'
import { HANGS_MS, whenTheFileEnds } from '../suite/resources.ts'

/** A message as proto-loader makes it: names of the proto, enums by name. */
export type Message = Record<string, unknown>

/** How messages look. */
export const OPTIONS = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true }
const protos = fileURLToPath(new URL('../../../proto', import.meta.url))
const require = createRequire(import.meta.url)
const contract = loadSync('portcullis/v1/authorization.proto', { ...OPTIONS, includeDirs: [protos] })
const directory = loadSync('portcullis/v1/directory.proto', { ...OPTIONS, includeDirs: [protos] })
const errorDetails = loadFileDescriptorSetFromBuffer(readFileSync(join(protos, 'google_rpc.binpb')), OPTIONS)

/** The service, as proto-loader reads it. */
export const contractService = contract['portcullis.v1.AuthorizationService'] as ServiceDefinition

/** The service of administration. */
export const directoryService = directory['portcullis.v1.DirectoryService'] as ServiceDefinition

/** The definitions of a proto file that a package brings with it. */
export function protosOf(packageName: string, file: string): ReturnType<typeof loadSync> {
  // Some packages hide their package.json, so the folder is found from the entry point.
  const entry = require.resolve(packageName)
  const folder = entry.slice(0, entry.lastIndexOf(join(packageName, '/')) + packageName.length)
  return loadSync(file, { ...OPTIONS, includeDirs: [folder] })
}

/** A message type of the contract, to write bytes and to read them. */
export function messageType(name: string): MessageTypeDefinition<object, object> {
  return typeOf(contract, `portcullis.v1.${name}`)
}

/** The bytes of a message of the contract. */
export function encoded(name: string, message: Message): Buffer {
  return messageType(name).serialize(message)
}

function typeOf(protos: ReturnType<typeof loadSync>, name: string): MessageTypeDefinition<object, object> {
  const found = protos[name]
  if (found === undefined || !('serialize' in found)) throw new Error(`no message ${name}`)
  return found as MessageTypeDefinition<object, object>
}

type Unary = (
  request: unknown,
  metadata: Metadata,
  options: CallOptions,
  callback: (error: ServiceError | null, response?: Message) => void,
) => void

export interface CallWishes {
  readonly callerToken?: string
  readonly metadata?: Readonly<Record<string, string>>
  /** Milliseconds since the epoch. */
  readonly deadline?: number
}

/** A connection. Requests are as proto-loader takes them; a `Buffer` is sent as it is. */
export class BlackBox {
  readonly #client: InstanceType<ReturnType<typeof makeClientConstructor>>

  constructor(
    address: string,
    service = contract['portcullis.v1.AuthorizationService'] as ServiceDefinition,
    options: ChannelOptions = {},
  ) {
    const Constructor = makeClientConstructor(withBytes(service) as never, 'service')
    this.#client = new Constructor(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      // Connections of one address are otherwise shared, and one test's would be another's.
      'grpc.use_local_subchannel_pool': 1,
      ...options,
    })
    whenTheFileEnds(() => this.close())
  }

  /** The response of a unary call. Rejects with grpc-js' own error. */
  ask(method: string, request: Message | Buffer, wishes: CallWishes = {}): Promise<Message> {
    return new Promise((resolve, reject) => {
      const call = (this.#client as unknown as Record<string, Unary>)[method] as Unary
      const { deadline } = wishes
      call.call(
        this.#client,
        request,
        metadataOf(wishes),
        deadline === undefined ? {} : { deadline },
        (error, response) => (error === null ? resolve(response as Message) : reject(error)),
      )
    })
  }

  /** A stream of questions and answers. A generous deadline, so that one that is never answered fails. */
  converse(method: string, wishes: CallWishes = {}): ClientDuplexStream<unknown, Message> {
    type Converse = (metadata: Metadata, options: CallOptions) => ClientDuplexStream<unknown, Message>
    const call = (this.#client as unknown as Record<string, Converse>)[method] as Converse
    const { deadline = Date.now() + HANGS_MS } = wishes
    return call.call(this.#client, metadataOf(wishes), { deadline })
  }

  /** A stream of answers to one question. */
  follow(method: string, request: Message = {}, wishes: CallWishes = {}): ClientReadableStream<Message> {
    type Follow = (request: Message, metadata: Metadata) => ClientReadableStream<Message>
    const call = (this.#client as unknown as Record<string, Follow>)[method] as Follow
    return call.call(this.#client, request, metadataOf(wishes))
  }

  close(): void {
    this.#client.close()
  }
}

function metadataOf({ callerToken, metadata: more = {} }: CallWishes): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(more)) metadata.set(name, value)
  if (callerToken !== undefined) metadata.set('authorization', `Bearer ${callerToken}`)
  return metadata
}

function withBytes(service: ServiceDefinition): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      {
        ...method,
        requestSerialize: (request: object) =>
          Buffer.isBuffer(request) ? request : method.requestSerialize(request),
      },
    ]),
  )
}

/** An error status as a client in any language can read it. */
export interface Refusal {
  readonly code: keyof typeof status
  readonly message: string
  /** `google.rpc.ErrorInfo`. */
  readonly reason: string
  readonly metadata: Readonly<Record<string, string>>
  /** `google.rpc.BadRequest`: path of the field and what was expected there. */
  readonly violations: readonly (readonly [field: string, description: string])[]
}

/** The text of a refusal, from the status and its `google.rpc` details. */
export function refusalOf(error: unknown): Refusal {
  const { code, details, metadata } = error as ServiceError
  if (typeof code !== 'number') throw error
  const [bytes] = metadata.get('grpc-status-details-bin')
  const decode = (name: string, value: unknown) =>
    typeOf(errorDetails, `google.rpc.${name}`).deserialize(value as Buffer) as Message
  const stated = Buffer.isBuffer(bytes) ? decode('Status', bytes) : { code, message: details, details: [] }
  // The status is sent twice, in the trailer and in its details; a client may read either.
  expect(stated).toMatchObject({ code, message: details })
  const detail = (name: string) => {
    const any = (stated.details as { type_url: string; value: Buffer }[]).find(
      ({ type_url }) => type_url === `type.googleapis.com/google.rpc.${name}`,
    )
    return any && decode(name, any.value)
  }
  const info = detail('ErrorInfo')
  if (info !== undefined) expect(info.domain).toBe('portcullis')
  const violations = (detail('BadRequest')?.field_violations ?? []) as {
    field: string
    description: string
  }[]
  return {
    code: status[code] as keyof typeof status,
    message: details,
    reason: (info?.reason ?? '') as string,
    // A map is a list of entries on the wire, and proto-loader knows maps only from the text of a proto.
    metadata: Object.fromEntries(
      ((info?.metadata ?? []) as { key: string; value: string }[]).map(({ key, value }) => [key, value]),
    ),
    violations: violations.map(({ field, description }) => [field, description] as const),
  }
}

/** The refusal of a call that must be refused. */
export async function refused(call: Promise<unknown>): Promise<Refusal> {
  const [outcome] = await Promise.allSettled([call])
  if (outcome?.status === 'rejected') return refusalOf(outcome.reason)
  throw new Error('the call was answered, and an error status was expected')
}

/** A refusal with this message and nothing besides. */
export function refusal(code: Refusal['code'], reason: string, message: string): Refusal {
  return { code, reason, message, metadata: {}, violations: [] }
}

/** The refusal for fields that are not as expected: each named, in the message as in the details. */
export function invalid(...violations: readonly (readonly [field: string, expected: string])[]): Refusal {
  return {
    code: 'INVALID_ARGUMENT',
    message: violations.map(([field, expected]) => `${field}: ${expected}`).join('; '),
    reason: 'INVALID_ARGUMENT',
    metadata: {},
    violations,
  }
}
