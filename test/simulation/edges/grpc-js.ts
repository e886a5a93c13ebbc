/** In place of the client of grpc-js: the same calls on the simulated network. */
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import { Metadata, type ServiceDefinition, type ServiceError } from '@grpc/grpc-js'
import { type CallStatus, STATUS } from '../../../sidecar/contract/call.ts'
import { network } from '../world/network.ts'

export { ChannelCredentials, credentials, Metadata, status } from '@grpc/grpc-js'

type Serialize = (message: never) => Buffer
type Deserialize = (bytes: Buffer) => unknown
type Callback = (error: ServiceError | null, response?: unknown) => void

export class Client {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  makeUnaryRequest(
    path: string,
    serialize: Serialize,
    deserialize: Deserialize,
    message: never,
    metadata: Metadata,
    { deadline }: { readonly deadline?: number },
    callback: Callback,
  ) {
    const call = new EventEmitter()
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const over = (status: CallStatus, response?: Buffer) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      call.emit('status', status)
      if (status.code === STATUS.OK && response !== undefined) callback(null, deserialize(response))
      else callback(errorOf(status))
    }
    if (deadline !== undefined)
      timer = setTimeout(
        () => over({ code: STATUS.DEADLINE_EXCEEDED, message: 'Deadline exceeded' }),
        deadline - Date.now(),
      )
    network.call(this.#address, path, serialize(message), fieldsOf(metadata), over)
    return Object.assign(call, {
      cancel: () => over({ code: STATUS.CANCELLED, message: 'Cancelled on client' }),
    })
  }

  makeServerStreamRequest(
    path: string,
    serialize: Serialize,
    deserialize: Deserialize,
    message: never,
    metadata: Metadata,
  ) {
    const stream = new Readable({ objectMode: true, read: () => {} })
    const over = (status: CallStatus) => {
      stream.emit('status', status)
      if (status.code === STATUS.OK) stream.push(null)
      else stream.destroy(errorOf(status))
    }
    const { cancel } = network.open(this.#address, path, serialize(message), fieldsOf(metadata), {
      data: (response) => void stream.push(deserialize(response)),
      over,
    })
    return Object.assign(stream, {
      cancel: () => {
        cancel()
        over({ code: STATUS.CANCELLED, message: 'Cancelled on client' })
      },
    })
  }

  /** A call finds out itself whether the address is there. */
  waitForReady(_deadline: number, ready: (error?: Error) => void): void {
    ready()
  }

  close(): void {
    // Calls that are made go on; as in grpc-js, nothing new is.
  }
}

/** A client with a method for each of the service. */
export function makeClientConstructor(service: ServiceDefinition) {
  class ServiceClient extends Client {}
  for (const [name, method] of Object.entries(service))
    Object.defineProperty(ServiceClient.prototype, lowerCased(name), { value: caller(method) })
  return ServiceClient
}

function caller(method: ServiceDefinition[string]) {
  const { path, requestSerialize, responseDeserialize, responseStream, requestStream } = method
  if (requestStream)
    return () => {
      throw new Error(`${path}: streams of requests are not simulated`)
    }
  if (responseStream)
    return function (this: Client, message: never, metadata: Metadata) {
      return this.makeServerStreamRequest(path, requestSerialize, responseDeserialize, message, metadata)
    }
  return function (this: Client, message: never, metadata: Metadata, options: object, callback: Callback) {
    return this.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      message,
      metadata,
      options,
      callback,
    )
  }
}

function lowerCased(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1)
}

function fieldsOf(metadata: Metadata): ReadonlyMap<string, readonly string[]> {
  return new Map(
    Object.keys(metadata.getMap()).map((name) => [name, metadata.get(name).map(String)] as const),
  )
}

function errorOf({ code, message, details }: CallStatus): ServiceError {
  const metadata = new Metadata()
  if (details !== undefined) metadata.set('grpc-status-details-bin', details)
  return Object.assign(new Error(`${code}: ${message}`), { code, details: message, metadata })
}
