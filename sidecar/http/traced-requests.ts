/**
 * Requests that are recorded as spans, as far as they belong to a trace that is. Loaded where there are
 * traces.
 */
import type { ServerResponse } from 'node:http'
import type { HttpReply, HttpRequest } from '../base/http/exchange.ts'
import { whereabouts } from '../base/ip-address.ts'
import { type Span, type SpanFacts, type TracedCall, traceCarrierOf } from '../base/tracing.ts'
import type { Tracing } from '../usecases/call-tracing.ts'

/** Methods that OpenTelemetry names. A client could name any number of others. */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'],
])

/** Begins the span of a request, which ends with its response. */
export function traceRequest(
  tracing: Tracing,
  request: HttpRequest,
  reply: HttpReply,
): TracedCall | undefined {
  const { route, raw } = request
  if (route === undefined || route.tracing === 'none') return undefined
  const call = tracing.begin(traceCarrierOf(raw), () => factsOf(request, route.path))
  if (call?.span !== undefined) endWith(reply.raw, call.span)
  return call
}

function endWith(response: ServerResponse, span: Span): void {
  response.once('close', () => {
    const { statusCode } = response
    span.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span.failed(String(statusCode))
    span.end()
  })
}

function factsOf(request: HttpRequest, route: string): SpanFacts {
  const known = METHODS.has(request.method)
  return {
    name: `${known ? request.method : 'HTTP'} ${route}`,
    kind: 'server',
    attributes: {
      'http.request.method': known ? request.method : '_OTHER',
      'http.route': route,
      'client.address': whereabouts(request.clientAddress),
    },
  }
}
