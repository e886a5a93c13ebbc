/**
 * Reflection (`v1` and `v1alpha`) serves the protos as `buf` compiled them (`npm run gen`), comments and all. Not as
 * proto-loader reads them: that renames fields, and drops the imports of files, which grpcurl and Go do not forgive.
 *
 * Hardly any client asks, and what answers weighs as much as the rest of gRPC: it is loaded for the first that does.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { handleBidiStreamingCall, MethodDefinition, Server } from '@grpc/grpc-js'
import type { Logger } from 'pino'
import { protoFolder } from '../base/package.ts'
import { failure } from './handler.ts'

const VERSIONS = ['v1', 'v1alpha'] as const

/** Messages as `@grpc/reflection` has them; what they are is its own business. */
type Message = object

/** What `@grpc/reflection` adds to a server for one version. */
interface Loaded {
  readonly method: MethodDefinition<Message, Message>
  readonly handler: handleBidiStreamingCall<Message, Message>
}

/** Adds the services under their names; what answers is loaded at the first call. */
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
          // grpc-js reads no message before the handler asks for one, and that is when all is loaded.
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

/** Fills in the methods and handlers by path. */
async function load(loaded: Map<string, Loaded>): Promise<void> {
  const { ReflectionService } = await import('@grpc/reflection')
  const fileDescriptorProtos = ['portcullis', 'health', 'google_rpc'].flatMap((name) =>
    filesOf(readFileSync(join(protoFolder, `${name}.binpb`))),
  )
  // The service looks at nothing else of a package definition, and calls nothing else of a server.
  type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0]
  const definition = { portcullis: { fileDescriptorProtos } } as unknown as PackageDefinition
  const reflection = new ReflectionService(definition)
  const addService: Server['addService'] = (service, { ServerReflectionInfo: handler }) => {
    const [method] = Object.values(service) as [Loaded['method']]
    loaded.set(method.path, { method, handler: handler as Loaded['handler'] })
  }
  reflection.addToServer({ addService } as Server)
}

/** The files of a `google.protobuf.FileDescriptorSet`, each still encoded. */
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
