/** Records spans with OpenTelemetry. All work of a call knows the call without an argument. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  createTraceState,
  type Span as OpenSpan,
  type Tracer as OpenTracer,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { CallError, type ErrorCode } from '../../base/call-error.ts'
import { formatTraceParent, type TraceParent, traceParentOf } from '../../base/trace-context.ts'
import type {
  Attributes,
  Span,
  SpanFacts,
  TraceCarrier,
  TracedCall,
  TraceFields,
  Tracer,
} from '../../base/tracing.ts'

type Courses = AsyncLocalStorage<TracedCall>

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<SpanFacts['kind'], SpanKind>

/** Codes of errors that are the sidecar's fault, or that of what it asks. The others are the caller's. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'INTERNAL'])

const NO_FIELDS: TraceFields = {}

export class Recorder implements Tracer {
  readonly #tracer: OpenTracer
  readonly #share: number
  readonly #courses: Courses = new AsyncLocalStorage()
  #lastCarrier: TraceCarrier | undefined
  #lastValues: readonly string[] = []

  /**
   * @param tracer makes spans, and records every one
   * @param samplePercent how many of a hundred calls are recorded whose callers send no trace context
   */
  constructor(tracer: OpenTracer, samplePercent: number) {
    this.#tracer = tracer
    this.#share = samplePercent / 100
  }

  begin(carrier: TraceCarrier, facts: () => SpanFacts): TracedCall | undefined {
    // Calls with equal header fields have the same carrier, and this is on the way of every call.
    if (carrier !== this.#lastCarrier) {
      this.#lastValues = carrier.metadata('traceparent')
      this.#lastCarrier = carrier
    }
    const values = this.#lastValues
    const parent = values.length === 0 ? undefined : traceParentOf(values)
    if (parent === undefined)
      return Math.random() < this.#share ? this.#start(facts(), ROOT_CONTEXT) : undefined
    const state = stateOf(carrier)
    if (!parent.sampled) return new CarriedOn(this.#courses, parent, state)
    const { traceId, spanId } = parent
    const context = trace.setSpanContext(ROOT_CONTEXT, {
      ...{ traceId, spanId, isRemote: true, traceFlags: TraceFlags.SAMPLED },
      ...(state !== undefined && { traceState: createTraceState(state) }),
    })
    return this.#start(facts(), context)
  }

  current(): Span | undefined {
    return this.#courses.getStore()?.span
  }

  within<R>(facts: () => SpanFacts, work: (span: Span | undefined) => R): R {
    const parent = this.current()
    if (parent === undefined) return work(undefined)
    const span = parent.child(facts())
    return endingWith(span, () => span.run(() => work(span)))
  }

  request<R>(facts: () => SpanFacts, work: (fields: TraceFields, span: Span | undefined) => R): R {
    const call = this.#courses.getStore()
    const carried = call instanceof CarriedOn ? call.fields : NO_FIELDS
    return this.within(facts, (span) => work(span?.fields ?? carried, span))
  }

  #start(facts: SpanFacts, context: Context): RecordedSpan {
    return new RecordedSpan(this.#tracer, this.#courses, facts, context)
  }
}

class RecordedSpan implements Span, TracedCall {
  readonly #tracer: OpenTracer
  readonly #courses: Courses
  readonly #span: OpenSpan
  /**
   * The wall clock less the monotonic one, in milliseconds, when the call began: so no span ends after the
   * one that it is in.
   */
  readonly #offsetMs: number

  constructor(
    tracer: OpenTracer,
    courses: Courses,
    { name, kind, attributes }: SpanFacts,
    parent: Context,
    offsetMs = Date.now() - performance.now(),
  ) {
    this.#tracer = tracer
    this.#courses = courses
    this.#span = tracer.startSpan(
      name,
      { kind: KINDS[kind], attributes, startTime: offsetMs + performance.now() },
      parent,
    )
    this.#offsetMs = offsetMs
  }

  /** Work after the end, a renewal for example, does not belong to a call. */
  get span(): Span | undefined {
    return this.#span.isRecording() ? this : undefined
  }

  get fields(): TraceFields {
    const { traceId, spanId, traceState } = this.#span.spanContext()
    return fieldsOf({ traceId, spanId, sampled: true }, traceState?.serialize())
  }

  set(attributes: Attributes): void {
    for (const name in attributes) {
      const value = attributes[name]
      if (value !== undefined) this.#span.setAttribute(name, value)
    }
  }

  failed(type: string): void {
    this.#span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
  }

  erred(error: unknown): void {
    const cause = error instanceof Error && error.cause instanceof CallError ? error.cause : error
    if (!(cause instanceof CallError)) this.failed(cause instanceof Error ? cause.name : 'unknown')
    else if (FAILURES.has(cause.code)) this.failed(cause.reason)
    else this.#span.setAttribute('error.type', cause.reason)
  }

  end(): void {
    if (this.#span.isRecording()) this.#span.end(this.#offsetMs + performance.now())
  }

  child(facts: SpanFacts): Span {
    const context = trace.setSpan(ROOT_CONTEXT, this.#span)
    return new RecordedSpan(this.#tracer, this.#courses, facts, context, this.#offsetMs)
  }

  run<R>(work: () => R): R {
    return this.#courses.run(this, work)
  }
}

/** The trace context of a caller, where the trace is not recorded. */
class CarriedOn implements TracedCall {
  readonly span = undefined
  readonly #courses: Courses
  readonly #parent: TraceParent
  readonly #state: string | undefined

  constructor(courses: Courses, parent: TraceParent, state: string | undefined) {
    this.#courses = courses
    this.#parent = parent
    this.#state = state
  }

  get fields(): TraceFields {
    return fieldsOf(this.#parent, this.#state && createTraceState(this.#state).serialize())
  }

  run<R>(work: () => R): R {
    return this.#courses.run(this, work)
  }
}

/** Runs work, and ends the span when it has ended, also where that is later. */
function endingWith<R>(span: Span, work: () => R): R {
  const failed = (error: unknown): never => {
    span.erred(error)
    span.end()
    throw error
  }
  let result: R
  try {
    result = work()
  } catch (error) {
    return failed(error)
  }
  if (result instanceof Promise)
    return result.then((value) => {
      span.end()
      return value
    }, failed) as R
  span.end()
  return result
}

/** The header `tracestate`, which may come in several. */
function stateOf(carrier: TraceCarrier): string | undefined {
  const values = carrier.metadata('tracestate')
  return values.length === 0 ? undefined : values.join(',')
}

function fieldsOf(parent: TraceParent, state: string | undefined): TraceFields {
  const traceparent = formatTraceParent(parent)
  return state === undefined || state === '' ? { traceparent } : { traceparent, tracestate: state }
}
