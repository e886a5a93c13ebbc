/** Administration through the client: the calls of `DirectoryService` as promises. */
import { DirectoryServiceService } from '../gen/portcullis/v1/directory.ts'

type Service = typeof DirectoryServiceService
type Request<Method extends keyof Service> = ReturnType<Service[Method]['requestDeserialize']>
type Response<Method extends keyof Service> = ReturnType<Service[Method]['responseDeserialize']>

/** One method a call; fields of a request that are left out are empty, as the contract describes them. */
export type DirectoryClient = {
  readonly [Method in keyof Service]: (request: Partial<Request<Method>>) => Promise<Response<Method>>
}

/** How one call is made: with the connection's deadline, caller token and errors. */
export type Caller = (
  path: string,
  serialize: (request: never) => Buffer,
  deserialize: (bytes: Buffer) => unknown,
  request: object,
) => Promise<unknown>

/** Builds the methods from the generated definition. */
export function directoryClient(call: Caller): DirectoryClient {
  return Object.fromEntries(
    Object.entries(DirectoryServiceService).map(([name, method]) => [
      name,
      (request: object) => {
        // What the generated code gives for no bytes is the message with every field empty.
        const empty = method.requestDeserialize(Buffer.alloc(0))
        return call(method.path, method.requestSerialize as never, method.responseDeserialize, {
          ...empty,
          ...request,
        })
      },
    ]),
  ) as unknown as DirectoryClient
}
