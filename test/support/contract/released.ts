/**
 * The contract of the last release, as its descriptors state it: what clients of that time know, and a
 * sidecar that knows no more than they do.
 */
import { readFileSync } from 'node:fs'
import {
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import {
  type ClientDuplexStream,
  credentials,
  type handleBidiStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  makeClientConstructor,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { type ServiceDefinition as LoadedService, loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader'
import { whenTheFileEnds } from '../suite/resources.ts'
import { OPTIONS } from './black-box.ts'

const BYTES = readFileSync(new URL('../../../proto/released.binpb', import.meta.url))

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, BYTES))

export const SERVICES = ['AuthorizationService', 'DirectoryService'] as const

/** A service as it was released. */
export function releasedService(name: (typeof SERVICES)[number]): DescService {
  return registry.getService(`portcullis.v1.${name}`) as DescService
}

/** The same for `BlackBox`: a client that was made of the release and never heard of anything newer. */
export const releasedChecks = loadFileDescriptorSetFromBuffer(BYTES, OPTIONS)[
  'portcullis.v1.AuthorizationService'
] as LoadedService

/** The part of a message that a program of the release knows: nothing that came later. */
function asReleased(message: DescMessage, bytes: Buffer): Buffer {
  const known = fromBinary(message, bytes, { readUnknownFields: false })
  return Buffer.from(toBinary(message, known))
}

/** A service whose messages stay bytes, and lose what is newer than the release. */
function definitionOf({ typeName, methods }: DescService): ServiceDefinition {
  return Object.fromEntries(
    methods.map(({ name, methodKind, input, output }: DescMethod) => [
      name,
      {
        path: `/${typeName}/${name}`,
        requestStream: methodKind === 'bidi_streaming',
        responseStream: methodKind !== 'unary',
        requestSerialize: (bytes: Buffer) => asReleased(input, bytes),
        requestDeserialize: (bytes: Buffer) => asReleased(input, bytes),
        responseSerialize: (bytes: Buffer) => asReleased(output, bytes),
        responseDeserialize: (bytes: Buffer) => asReleased(output, bytes),
      },
    ]),
  )
}

/**
 * A sidecar that speaks the contract of the release: what it is sent and what it answers pass through the
 * messages of that time, and calls that came later it does not have.
 *
 * @param address of the sidecar that decides
 * @returns `HOST:PORT`
 */
export async function releasedSidecar(address: string): Promise<string> {
  const server = new Server()
  for (const name of SERVICES) {
    const service = releasedService(name)
    const definition = definitionOf(service)
    const Client = makeClientConstructor(definition, name)
    const client = new Client(address, credentials.createInsecure())
    whenTheFileEnds(() => client.close())
    server.addService(definition, handlersOf(service, client as unknown as Calls))
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  whenTheFileEnds(() => server.forceShutdown())
  return `127.0.0.1:${port}`
}

type Calls = Readonly<Record<string, (...given: never[]) => ClientDuplexStream<Buffer, Buffer>>>

/** Passes each call on, with its metadata, and its answer or error back. */
function handlersOf({ methods }: DescService, client: Calls): UntypedServiceImplementation {
  const unary =
    (name: string): handleUnaryCall<Buffer, Buffer> =>
    ({ request, metadata }, callback) =>
      void client[name]?.(request as never, metadata as never, callback as never)
  const following =
    (name: string): handleServerStreamingCall<Buffer, Buffer> =>
    (call) => {
      const answers = client[name]?.(call.request as never, call.metadata as never)
      answers?.on('error', (error) => call.destroy(error)).pipe(call as never)
      call.on('cancelled', () => answers?.cancel())
    }
  const conversing =
    (name: string): handleBidiStreamingCall<Buffer, Buffer> =>
    (call) => {
      const passed = client[name]?.(call.metadata as never)
      passed?.on('error', (error) => call.destroy(error)).pipe(call as never)
      if (passed !== undefined) call.pipe(passed as never)
      call.on('cancelled', () => passed?.cancel())
    }
  return Object.fromEntries(
    methods.map(({ name, methodKind }) => {
      const handler = { unary, server_streaming: following, bidi_streaming: conversing }[
        methodKind as 'unary'
      ]
      return [name, handler(name)]
    }),
  )
}
