/**
 * Reflection (`v1` and `v1alpha`) serves the protos as `buf` compiled them, with their comments
 * (`npm run gen -- descriptors`). The descriptors of proto-loader would not do: it renames fields and drops
 * the imports of files, which grpcurl and Go reject.
 *
 * Few clients use reflection, and its code is as large as the rest of gRPC. So it is loaded at the first
 * call.
 */
import { EventEmitter } from 'node:events'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { handleBidiStreamingCall, MethodDefinition, Server } from '@grpc/grpc-js'
import { invalidArgument } from '../base/call-error.ts'
import { packageFile } from '../base/package.ts'
import type { BidiMethod, Method, Requests, Responses } from './call.ts'
import { decoded } from './handler.ts'

/** Size of the largest question, in bytes. It holds a name or two. */
const REQUEST_BYTES_MAX = 16_384

const VERSIONS = ['v1', 'v1alpha'] as const

/** Messages of `@grpc/reflection`. Their contents do not matter here. */
type Message = object

/** The method that `@grpc/reflection` adds to a server for one version. */
interface Loaded {
  readonly method: MethodDefinition<Message, Message>
  readonly handler: handleBidiStreamingCall<Message, Message>
}

/** The methods of both versions. Their code is loaded at the first call. */
export function reflectionMethods(): [path: string, Method][] {
  let loading: Promise<ReadonlyMap<string, Loaded>> | undefined
  return VERSIONS.map((version) => {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
    const handle: BidiMethod = (responses) => {
      loading ??= load()
      const talk = loading.then((loaded) => conversation(loaded.get(path) as Loaded, responses))
      // The error reaches the client when it sends a question or ends the call.
      talk.catch(() => {})
      return {
        next: async (request) => (await talk).next(request),
        end: async () => (await talk).end(),
      }
    }
    return [path, { type: 'bidi', handle }]
  })
}

/**
 * Gives the handler of `@grpc/reflection` what it expects: a call of grpc-js. It answers every message at
 * once.
 */
function conversation({ method, handler }: Loaded, responses: Responses): Requests {
  const call = Object.assign(new EventEmitter(), {
    write: (response: Message) => responses.write(method.responseSerialize(response)),
    end: () => responses.end(),
  })
  handler(call as unknown as Parameters<typeof handler>[0])
  return {
    next: (request) => {
      // The library reads all fields of a request, however many it has.
      if (request.length > REQUEST_BYTES_MAX)
        throw invalidArgument({ field: 'the request', expected: `at most ${REQUEST_BYTES_MAX} bytes` })
      call.emit(
        'data',
        decoded(request, () => method.requestDeserialize(request)),
      )
    },
    end: () => {
      call.emit('end')
    },
  }
}

/** Loads the methods and the handlers, by path. */
async function load(): Promise<ReadonlyMap<string, Loaded>> {
  const loaded = new Map<string, Loaded>()
  const { ReflectionService } = await import('@grpc/reflection')
  const fileDescriptorProtos = ['portcullis', 'health', 'envoy', 'google_rpc'].flatMap((name) =>
    filesOf(packageFile(`proto/${name}.binpb`)),
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
  return loaded
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
