/**
 * Clients of the contract that share no code with Portcullis: those of Connect, over gRPC and in every form
 * that the HTTP listener speaks. And a plain client of HTTP, for what no such client would send.
 */
import { readFileSync } from 'node:fs'
import { type OutgoingHttpHeaders, request } from 'node:http'
import {
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  fromJson,
  type JsonObject,
  toBinary,
  toJson,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node'
import type { RequestHeaders } from '../identity/identity.ts'

const contract = createFileRegistry(
  fromBinary(
    FileDescriptorSetSchema,
    readFileSync(new URL('../../../proto/portcullis.binpb', import.meta.url)),
  ),
)

/** Every form of a call over HTTP/1.1. */
export const FORMS = ['Connect JSON', 'Connect proto', 'gRPC-Web', 'gRPC-Web JSON'] as const
export type Form = (typeof FORMS)[number] | 'gRPC'

/** Where a sidecar listens: `HOST:PORT`. */
export interface Addresses {
  readonly grpc: string
  readonly http: string
}

export function transportOf(form: Form, { grpc, http }: Addresses): Transport {
  const options = { baseUrl: `http://${http}`, httpVersion: '1.1' } as const
  switch (form) {
    case 'gRPC':
      return createGrpcTransport({ baseUrl: `http://${grpc}` })
    case 'Connect JSON':
      return createConnectTransport({ ...options, useBinaryFormat: false })
    case 'Connect proto':
      return createConnectTransport({ ...options, useBinaryFormat: true })
    case 'gRPC-Web':
      return createGrpcWebTransport({ ...options, useBinaryFormat: true })
    case 'gRPC-Web JSON':
      return createGrpcWebTransport({ ...options, useBinaryFormat: false })
  }
}

/** The outcome of a call, in the same words whatever carried it. */
export type Outcome =
  | { readonly answer: JsonObject }
  | { readonly error: string; readonly message: string; readonly details: readonly (readonly string[])[] }

/** Every method of the contract. */
export const METHODS: readonly DescMethod[] = ['AuthorizationService', 'DirectoryService'].flatMap(
  (service) => (contract.getService(`portcullis.v1.${service}`) as DescService).methods,
)

/** A unary call, by the name of its method. */
export async function outcomeOf(
  transport: Transport,
  name: string,
  input: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const method = methodOf(name)
  try {
    const { message } = await transport.unary(
      method as DescMethod & { methodKind: 'unary' },
      undefined,
      30_000,
      headers,
      fromJson(method.input, input),
    )
    return { answer: toJson(method.output, message, { alwaysEmitImplicit: true }) as JsonObject }
  } catch (error) {
    return errorOf(error)
  }
}

export function errorOf(error: unknown): Outcome {
  if (!(error instanceof ConnectError)) throw error
  const details = error.details.map((detail) =>
    'type' in detail ? [detail.type, Buffer.from(detail.value).toString('hex')] : [],
  )
  return { error: Code[error.code], message: error.rawMessage, details }
}

/** @throws Error where the contract has no such method */
export function methodOf(name: string): DescMethod {
  const found = METHODS.find((method) => method.name === name)
  if (found === undefined) throw new Error(`no method ${name}`)
  return found
}

/** A message of the contract. */
export function messageOf(name: string): DescMessage {
  return contract.getMessage(`portcullis.v1.${name}`) as DescMessage
}

/** The bytes of a message. */
export function bytesOf(name: string, json: JsonObject): Buffer {
  return Buffer.from(toBinary(messageOf(name), fromJson(messageOf(name), json)))
}

export const CHECK = '/portcullis.v1.AuthorizationService/Check'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** Sends one POST on a separate connection, as it is. */
export function post(
  address: string,
  path: string,
  body: string | Buffer,
  headers: RequestHeaders = { 'content-type': 'application/json' },
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(
      `http://${address}`,
      {
        path,
        method,
        agent: false,
        headers: { 'content-length': Buffer.byteLength(body), ...headers } as OutgoingHttpHeaders,
      },
      (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers as Record<string, string>,
            body: Buffer.concat(parts),
          }),
        )
      },
    )
    asking.on('error', reject)
    asking.end(body)
  })
}

/** The messages of a body with envelopes: their flags and bytes. */
export function envelopesIn(body: Buffer): { readonly flags: number; readonly bytes: Buffer }[] {
  const found = []
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1)
    found.push({ flags: body[at] as number, bytes: body.subarray(at + 5, end) })
    at = end
  }
  return found
}

/** A message in its envelope. */
export function enveloped(bytes: Buffer | string, flags = 0): Buffer {
  const content = Buffer.from(bytes)
  const prefix = Buffer.alloc(5)
  prefix.writeUInt8(flags)
  prefix.writeUInt32BE(content.length, 1)
  return Buffer.concat([prefix, content])
}
