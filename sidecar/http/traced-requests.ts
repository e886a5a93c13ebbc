/**
 * Requests that are recorded as spans, as far as they belong to a trace that is. Loaded where there are
 * traces.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { whereabouts } from '../base/ip-address.ts'
import { type SpanFacts, type TracedCall, traceCarrierOf } from '../base/tracing.ts'
import type { Tracing } from '../usecases/call-tracing.ts'

/** Methods that OpenTelemetry names. A client could name any number of others. */
const METHODS: ReadonlySet<string> = new Set([
  ...['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'],
])

/** Adds what begins and ends the spans. It must be the first to see a request. */
export function addTracing(server: FastifyInstance, tracing: Tracing): void {
  const calls = new WeakMap<FastifyRequest, TracedCall>()
  server.addHook('onRequest', (request, _reply, next) => {
    const { url, config } = request.routeOptions
    if (url === undefined || config?.tracing === 'none') return next()
    const call = tracing.begin(traceCarrierOf(request.raw), () => factsOf(request, url))
    if (call !== undefined) calls.set(request, call)
    next()
  })
  // Not before, because a body that is read meanwhile comes from its connection, and not from a request.
  server.addHook('preHandler', (request, _reply, next) => {
    const call = calls.get(request)
    if (call === undefined) next()
    else call.run(next)
  })
  server.addHook('onResponse', async (request, reply) => {
    const span = calls.get(request)?.span
    if (span === undefined) return
    const { statusCode } = reply.raw
    span.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span.failed(String(statusCode))
    span.end()
  })
}

function factsOf(request: FastifyRequest, route: string): SpanFacts {
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
