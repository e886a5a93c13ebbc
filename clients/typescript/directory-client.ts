/** Administration: the calls of `DirectoryService` as methods that return promises. */
import type { MethodDefinition } from '@grpc/grpc-js'
import { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'
import type { MakeCall } from './questions.ts'

type Service = typeof DirectoryServiceService
type Request<Method extends keyof Service> = ReturnType<Service[Method]['requestDeserialize']>
type Response<Method extends keyof Service> = ReturnType<Service[Method]['responseDeserialize']>

/**
 * One method for each call. Missing fields of a request are empty, with the meaning that the contract gives
 * them.
 */
export type DirectoryClient = {
  readonly [Method in keyof Service]: (request: Partial<Request<Method>>) => Promise<Response<Method>>
}

/** Builds the methods from the generated definition. */
export function directoryClient(makeCall: MakeCall): DirectoryClient {
  return Object.fromEntries(
    Object.entries(DirectoryServiceService).map(([name, method]) => [
      name,
      (request: object) => {
        // Decoding zero bytes gives the message with every field empty.
        const empty = method.requestDeserialize(Buffer.alloc(0))
        return makeCall(method as unknown as MethodDefinition<object, unknown>, { ...empty, ...request })
      },
    ]),
  ) as unknown as DirectoryClient
}
