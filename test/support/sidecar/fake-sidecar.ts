/** A server that is not a sidecar: it shows how the client handles answers that ours would not give. */
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { contractService, directoryService } from '../contract/black-box.ts'
import { whenTheFileEnds } from '../suite/resources.ts'

/** A real gRPC server that answers with any bytes whatever. */
export async function fakeSidecar(handlers: UntypedServiceImplementation): Promise<string> {
  const server = new Server()
  const definition = Object.fromEntries(
    Object.entries({ ...contractService, ...directoryService })
      .filter(([name]) => name.charAt(0).toLowerCase() + name.slice(1) in handlers)
      .map(([name, method]) => [name, { ...method, responseSerialize: (bytes: Buffer) => bytes }]),
  )
  server.addService(definition as unknown as ServiceDefinition, handlers)
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  whenTheFileEnds(() => server.forceShutdown())
  return `127.0.0.1:${port}`
}
