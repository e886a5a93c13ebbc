/**
 * Reflection (`v1` and `v1alpha`) serves the protos as `buf` compiled them (`npm run gen`), with their comments. The
 * descriptors of proto-loader would not do: it renames fields and drops the imports of files, which grpcurl and Go reject.
 *
 * Few clients use reflection, and its code is as large as the rest of gRPC. So it is loaded at the first call.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { handleBidiStreamingCall, MethodDefinition, Server } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { protoFolder } from '../base/package.ts'
import { failure } from './handler.ts'

const VERSIONS = ['v1', 'v1alpha'] as const

/** Messages of `@grpc/reflection`. Their contents do not matter here. */
type Message = object

/** The method that `@grpc/reflection` adds to a server for one version. */
interface Loaded {
  readonly method: MethodDefinition<Message, Message>
  readonly handler: handleBidiStreamingCall<Message, Message>
}

/** Adds the services to the server. Their code is loaded at the first call. */
export function addReflection(server: Server, log: Logger): void {
  const loaded = new Map<string, Loaded>()
  let loading: Promise<void> | undefined
  for (const version of VERSIONS) {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
    const method = () => (loaded.get(path) as Loaded).method
    server.addService(
      {
        ServerReflectionInfo: {
          path,
          requestStream: true,
          responseStream: true,
          // grpc-js reads no message before the handler reads from the call, and by then everything is loaded.
          requestSerialize: (message: Message) => method().requestSerialize(message),
          requestDeserialize: (bytes: Buffer) => method().requestDeserialize(bytes),
          responseSerialize: (message: Message) => method().responseSerialize(message),
          responseDeserialize: (bytes: Buffer) => method().responseDeserialize(bytes),
        },
      },
      {
        ServerReflectionInfo: ((call) => {
          loading ??= load(loaded)
          loading.then(
            () => loaded.get(path)?.handler(call),
            (error) => call.emit('error', failure(log, error)),
          )
        }) satisfies handleBidiStreamingCall<Message, Message>,
      },
    )
  }
}

/** Loads the methods and the handlers, and stores them by path. */
async function load(loaded: Map<string, Loaded>): Promise<void> {
  const { ReflectionService } = await import('@grpc/reflection')
  const fileDescriptorProtos = ['portcullis', 'health', 'google_rpc'].flatMap((name) =>
    filesOf(readFileSync(join(protoFolder, `${name}.binpb`))),
  )
  // The service reads no other part of a package definition, and calls no other method of a server.
  type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0]
  const definition = { portcullis: { fileDescriptorProtos } } as unknown as PackageDefinition
  const reflection = new ReflectionService(definition)
  const addService: Server['addService'] = (service, { ServerReflectionInfo: handler }) => {
    const [method] = Object.values(service) as [Loaded['method']]
    loaded.set(method.path, { method, handler: handler as Loaded['handler'] })
  }
  reflection.addToServer({ addService } as Server)
}

/** Returns the encoded files of a `google.protobuf.FileDescriptorSet`. */
function filesOf(descriptorSet: Uint8Array): Buffer[] {
  const files: Buffer[] = []
  const reader = new BinaryReader(descriptorSet)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === 1) files.push(Buffer.from(reader.bytes()))
    else reader.skip(type, field)
  }
  return files
}
