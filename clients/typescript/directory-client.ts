/** Administration: the calls of `DirectoryService` as methods that return promises. */
import { DirectoryServiceService } from '../../proto/gen/portcullis/v1/directory.ts'

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

/** Makes one call, with the client's deadline, tokens and errors. */
export type MakeCall = (
  path: string,
  serialize: (request: never) => Buffer,
  deserialize: (bytes: Buffer) => unknown,
  request: object,
) => Promise<unknown>

/** Builds the methods from the generated definition. */
export function directoryClient(makeCall: MakeCall): DirectoryClient {
  return Object.fromEntries(
    Object.entries(DirectoryServiceService).map(([name, method]) => [
      name,
      (request: object) => {
        // Decoding zero bytes gives the message with every field empty.
        const empty = method.requestDeserialize(Buffer.alloc(0))
        return makeCall(method.path, method.requestSerialize as never, method.responseDeserialize, {
          ...empty,
          ...request,
        })
      },
    ]),
  ) as unknown as DirectoryClient
}
