/** The service behind the interface that the sidecar's handlers have. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { WatchedCertificates } from '../../../../sidecar/base/net/certificates.ts'
import {
  type CallContext,
  type CallStatus,
  type MetadataName,
  type Methods,
  type Method as OwnMethod,
  type Requests,
  type Responses,
  StatusError,
} from '../../../../sidecar/contract/call.ts'
import type { Call, Ending, Handler, Method, Wishes } from './service.ts'
import { SERVICE } from './service.ts'

/** The fields of requests that the suite looks at. Handlers ask for fields by name. */
export const METADATA = ['x-conformance-test']

export const DEFAULT_MESSAGE_BYTES = 4 * 2 ** 20

export function ownMethods(methods: readonly Method[]): Methods {
  return new Map(methods.map((method) => [`/${SERVICE}/${method.name}`, methodOf(method)]))
}

/** How a call ends whose handler has thrown. */
export function ownStatus(error: unknown): CallStatus {
  return error instanceof StatusError ? error.status : { code: 13, message: String(error) }
}

export function certificatesOf({
  certificate,
  key,
  clientCa,
}: NonNullable<Wishes['tls']>): WatchedCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-conformance-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, contents: Buffer) => {
    writeFileSync(join(folder, name), contents)
    return join(folder, name)
  }
  return new WatchedCertificates(
    'tls',
    {
      certificate: file('certificate', certificate),
      key: file('key', key),
      client_ca: clientCa && file('client_ca', clientCa),
    },
    { onChanged: () => {}, onRefused: () => {} },
  )
}

function methodOf({ handle, requestStream, responseStream }: Method): OwnMethod {
  if (requestStream)
    return { type: 'bidi', handle: (responses, context) => conversation(handle, responses, context) }
  if (responseStream)
    return {
      type: 'server_stream',
      handle: (request, responses, context) => answerTo(handle, Readable.from([request]), responses, context),
    }
  return {
    type: 'unary',
    handle: async (request, context) => {
      let answer: Buffer = Buffer.alloc(0)
      const send = async (message: Buffer) => {
        answer = message
      }
      const ending = await handle(callOf(context, Readable.from([request]), send))
      if (ending.code !== 0) throw statusOf(ending)
      return answer
    },
  }
}

/** Requests come one by one and are read one by one. */
function conversation(handle: Handler, responses: Responses, context: CallContext): Requests {
  const requests = new Readable({ objectMode: true, read: () => {} })
  answerTo(handle, requests, responses, context)
  responses.onEnd(() => requests.destroy())
  return {
    next: (request) => void requests.push(request),
    end: () => void requests.push(null),
  }
}

function answerTo(handle: Handler, requests: Readable, responses: Responses, context: CallContext): void {
  const send = async (message: Buffer) => responses.write(message)
  handle(callOf(context, requests, send)).then(
    (ending) => (ending.code === 0 ? responses.end() : responses.fail(statusOf(ending))),
    (error) => responses.fail(error),
  )
}

function callOf(context: CallContext, requests: Readable, send: Call['send']): Call {
  const { timeoutMs } = context as CallContext & { readonly timeoutMs: number }
  return {
    metadata: METADATA.flatMap((name) =>
      context.metadata(name as MetadataName).map((value) => [name, value] as const),
    ),
    timeoutMs: timeoutMs === Number.POSITIVE_INFINITY ? undefined : timeoutMs,
    requests: { [Symbol.asyncIterator]: () => requests.iterator({ destroyOnReturn: false }) },
    sendHeaders: () => {},
    send,
  }
}

function statusOf({ code, message, details }: Ending): StatusError {
  return new StatusError({ code, message, details })
}
