/**
 * Methods whose calls are recorded as spans, as far as they belong to a trace that is. Loaded where there are
 * traces.
 */
import type { Span, SpanFacts, TraceCarrier } from '../base/tracing.ts'
import type { Tracing } from '../usecases/call-tracing.ts'
import {
  type CallContext,
  type Method,
  type Methods,
  type Requests,
  type Responses,
  STATUS,
  StatusError,
  type UnaryMethod,
} from './call.ts'
import { EXT_AUTHZ_SERVICE } from './ext-authz/ext-authz-methods.ts'
import { traceIn } from './ext-authz/request-trace.ts'
import { statusOfError } from './status.ts'

/** Services that programs ask all the time, or people who look around. */
const UNTRACED = /^\/grpc\.(health|reflection)\./

const CODES: ReadonlyMap<number, string> = new Map(Object.entries(STATUS).map(([name, code]) => [code, name]))

/**
 * Codes that say that a server has failed (semantic conventions of OpenTelemetry). The others are the
 * client's doing.
 */
const FAILURES: ReadonlySet<number> = new Set([
  ...[STATUS.UNKNOWN, STATUS.DEADLINE_EXCEEDED, STATUS.UNIMPLEMENTED],
  ...[STATUS.INTERNAL, STATUS.UNAVAILABLE, STATUS.DATA_LOSS],
])

export function tracedMethods(methods: Methods, tracing: Tracing): Methods {
  return new Map(
    [...methods].map(([path, method]) => [
      path,
      UNTRACED.test(path) ? method : tracedMethod(path.slice(1), method, tracing),
    ]),
  )
}

function tracedMethod(name: string, method: Method, tracing: Tracing): Method {
  const begin = (carrier: TraceCarrier, context: CallContext) =>
    tracing.begin(carrier, () => factsOf(name, context))
  switch (method.type) {
    case 'unary':
      return { type: 'unary', handle: tracedUnary(method.handle, begin, traceCarrierFor(name)) }
    case 'server_stream':
      return {
        type: 'server_stream',
        handle: (request, responses, context) => {
          const call = begin(context, context)
          if (call === undefined) return method.handle(request, responses, context)
          const { span } = call
          const told = span === undefined ? responses : tracedResponses(responses, span)
          call.run(() => failing(span, () => method.handle(request, told, context)))
        },
      }
    case 'bidi':
      return {
        type: 'bidi',
        handle: (responses, context) => {
          const call = begin(context, context)
          if (call === undefined) return method.handle(responses, context)
          const { span } = call
          const told = span === undefined ? responses : tracedResponses(responses, span)
          const requests = call.run(() => failing(span, () => method.handle(told, context)))
          return {
            next: (request) => call.run(() => failing(span, () => requests.next(request))),
            end: () => call.run(() => failing(span, () => requests.end())),
          } satisfies Requests
        },
      }
  }
}

type Begin = (carrier: TraceCarrier, context: CallContext) => ReturnType<Tracing['begin']>
type TraceCarrierOf = (context: CallContext, request: Buffer) => TraceCarrier

/** The trace context of the call itself goes before that of its request. */
function traceCarrierFor(name: string): TraceCarrierOf {
  if (!name.startsWith(`${EXT_AUTHZ_SERVICE}/`)) return (context) => context
  return (context, request) =>
    context.metadata('traceparent').length > 0 ? context : (traceIn(request) ?? context)
}

function tracedUnary(handle: UnaryMethod, begin: Begin, carrierOf: TraceCarrierOf): UnaryMethod {
  const { readsAtOnce } = handle
  const traced: UnaryMethod = (request, context) => {
    const call = begin(carrierOf(context, request), context)
    if (call === undefined) return handle(request, context)
    const { span } = call
    if (span === undefined) return call.run(() => handle(request, context))
    const answered = (response: Buffer): Buffer => {
      span.set({ 'rpc.response.status_code': 'OK' })
      span.end()
      return response
    }
    const failed = (error: unknown): never => {
      tellFailure(span, error)
      span.end()
      throw error
    }
    try {
      const response = call.run(() => handle(request, context))
      return response instanceof Promise ? response.then(answered, failed) : answered(response)
    } catch (error) {
      return failed(error)
    }
  }
  return Object.assign(traced, readsAtOnce !== undefined && { readsAtOnce })
}

/** Responses of a call whose span ends with it. */
function tracedResponses(responses: Responses, span: Span): Responses {
  responses.onEnd(() => span.end())
  return {
    write: (response) => responses.write(response),
    get unread() {
      return responses.unread
    },
    end: () => {
      span.set({ 'rpc.response.status_code': 'OK' })
      responses.end()
    },
    fail: (error) => {
      tellFailure(span, error)
      responses.fail(error)
    },
    onEnd: (listener) => responses.onEnd(listener),
  }
}

/** Tells the span of an error with which the call of a stream will end. */
function failing<R>(span: Span | undefined, work: () => R): R {
  if (span === undefined) return work()
  const failed = (error: unknown): never => {
    tellFailure(span, error)
    throw error
  }
  try {
    const result = work()
    return result instanceof Promise ? (result.catch(failed) as R) : result
  } catch (error) {
    return failed(error)
  }
}

function tellFailure(span: Span, error: unknown): void {
  const { code } = error instanceof StatusError ? error.status : statusOfError(error)
  const name = CODES.get(code) ?? String(code)
  span.set({ 'rpc.response.status_code': name })
  if (FAILURES.has(code)) span.failed(name)
}

function factsOf(name: string, context: CallContext): SpanFacts {
  const { connection } = context
  const [type = ''] = context.metadata('content-type')
  // gRPC-Web comes over HTTP too.
  const isConnect = connection.protocol === 'http' && !type.startsWith('application/grpc')
  return {
    name,
    kind: 'server',
    attributes: {
      'rpc.system.name': isConnect ? 'connectrpc' : 'grpc',
      'rpc.method': name,
      'client.address': connection.address,
    },
  }
}
