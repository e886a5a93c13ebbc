/** The part of traces that every room may import. Where they are off, none of it is made. */
import type { IncomingMessage } from 'node:http'
import { bareHost } from './address.ts'

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** The caller's word on its trace: a header or metadata by its name, in lower case. */
export interface TraceCarrier {
  metadata(name: string): readonly string[]
}

/** Of a request of HTTP. */
export function traceCarrierOf({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): TraceCarrier {
  return { metadata: (name) => headersDistinct[name] ?? [] }
}

/** `traceparent` and `tracestate` (W3C Trace Context) for a request to another service. */
export type TraceFields = Readonly<Record<string, string>>

export interface SpanFacts {
  /** One of few: it has nothing that a client chose. */
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes: Attributes
}

/** A span that is recorded. */
export interface Span {
  readonly fields: TraceFields
  set(attributes: Attributes): void
  /** It failed. A denial is not a failure. @param type one of few */
  failed(type: string): void
  /** Work ended with an error. An error that the caller has made is not a failure of the span. */
  erred(error: unknown): void
  /** Only the first call has an effect. */
  end(): void
  child(facts: SpanFacts): Span
  /** Runs work that belongs to the span, also what it does later. */
  run<R>(work: () => R): R
}

/** A call that belongs to a trace. */
export interface TracedCall {
  /** `undefined`: it is not recorded, and its trace context is only carried on. */
  readonly span: Span | undefined
  /** Runs work that belongs to the call, also what it does later. */
  run<R>(work: () => R): R
}

/** Of the work that is being done. */
export interface Tracer {
  /** The span that the work belongs to; `undefined`: none is recorded. */
  current(): Span | undefined
  /** Runs work in a new span, which ends with it. Where nothing is recorded it only runs it. */
  within<R>(facts: () => SpanFacts, work: (span: Span | undefined) => R): R
  /** The same for a request to another service. @param work is given what carries the trace on */
  request<R>(facts: () => SpanFacts, work: (fields: TraceFields, span: Span | undefined) => R): R
}

/** The server of a request. */
export function serverAttributes({ hostname, port, protocol }: URL): Attributes {
  const usual = protocol === 'https:' ? 443 : 80
  return { 'server.address': bareHost(hostname), 'server.port': port === '' ? usual : Number(port) }
}
