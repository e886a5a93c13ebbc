/** The service on grpc-js. */
import { Readable } from 'node:stream'
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
} from '@grpc/grpc-js'
import type { Call, Ending, Field, Method } from './service.ts'
import { SERVICE } from './service.ts'

/** What the runner asks of a server. */
export interface Wishes {
  readonly tls?: { readonly certificate: Buffer; readonly key: Buffer; readonly clientCa: Buffer | undefined }
  readonly maxMessageBytes: number | undefined
}

type AnyCall = ServerUnaryCall<Buffer, Buffer> &
  ServerReadableStream<Buffer, Buffer> &
  ServerWritableStream<Buffer, Buffer> &
  ServerDuplexStream<Buffer, Buffer>

/** @returns the port */
export async function serveOnGrpcJs(
  methods: readonly Method[],
  { tls, maxMessageBytes }: Wishes,
): Promise<number> {
  const server = new Server({
    ...(maxMessageBytes !== undefined && { 'grpc.max_receive_message_length': maxMessageBytes }),
  })
  const identity = (bytes: Buffer) => bytes
  const definitions = methods.map((method) => [
    method.name,
    {
      path: `/${SERVICE}/${method.name}`,
      requestStream: method.requestStream,
      responseStream: method.responseStream,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    },
  ])
  const handlers = methods.map((method) => [method.name, handlerOf(method)])
  server.addService(Object.fromEntries(definitions), Object.fromEntries(handlers))
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(
          tls.clientCa ?? null,
          [{ cert_chain: tls.certificate, private_key: tls.key }],
          tls.clientCa !== undefined,
        )
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port))),
  )
}

function handlerOf({ handle, requestStream, responseStream }: Method) {
  return async (call: AnyCall, callback?: sendUnaryData<Buffer>) => {
    let answer: Buffer | undefined
    const deadline = call.getDeadline()
    const offered: Call = {
      metadata: Object.entries(call.metadata.toJSON()).flatMap(([name, values]) =>
        values.map((value) => [name, typeof value === 'string' ? value : value.toString('base64')] as const),
      ),
      timeoutMs:
        deadline === Number.POSITIVE_INFINITY
          ? undefined
          : Math.max(0, Math.round(Number(deadline) - Date.now())),
      // Leaving the loop must not destroy the call, which has yet to be answered.
      requests: requestStream ? call.iterator({ destroyOnReturn: false }) : Readable.from([call.request]),
      sendHeaders: (fields) => call.sendMetadata(metadataOf(fields)),
      send: async (message) => {
        if (!responseStream) answer = message
        else if (!call.write(message)) await new Promise((resolve) => call.once('drain', resolve))
      },
    }
    try {
      end(call, await handle(offered), callback, answer)
    } catch (error) {
      if (!call.cancelled) end(call, failed(error), callback, undefined)
    }
  }
}

function failed(error: unknown): Ending {
  const { code = 13, details = String(error) } = error as Partial<ServiceError>
  return { code, message: details, details: undefined, trailers: [] }
}

function end(
  call: AnyCall,
  { code, message, details, trailers }: Ending,
  callback: sendUnaryData<Buffer> | undefined,
  answer: Buffer | undefined,
): void {
  const metadata = metadataOf(trailers)
  if (details !== undefined) metadata.set('grpc-status-details-bin', details)
  const error = Object.assign(new Error(message), { code, details: message, metadata })
  if (callback !== undefined) callback(code === 0 ? null : error, answer ?? null, metadata)
  else if (code === 0) call.end(metadata)
  else call.emit('error', error)
}

function metadataOf(fields: readonly Field[]): Metadata {
  const found = new Metadata()
  for (const [name, value] of fields)
    found.add(name, name.endsWith('-bin') ? Buffer.from(value, 'base64') : value)
  return found
}
