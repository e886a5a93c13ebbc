/** Spans as OTLP has them in JSON (`ExportTraceServiceRequest`). */
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'

/** The bytes before the spans of every request. */
export function requestHead({ resource, instrumentationScope: { name, version } }: ReadableSpan): Buffer {
  const attributes = attributesOf(resource.attributes as Attributes)
  const scope = JSON.stringify({ name, version })
  return Buffer.from(
    `{"resourceSpans":[{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},"spans":[`,
  )
}

/** Behind every span. */
export const SEPARATOR = ',\n'

export const REQUEST_TAIL = Buffer.from(']}]}]}')

/** A span in one line, with the separator. Ids, kinds and times need no escaping. */
export function lineOf(span: ReadableSpan): string {
  const { traceId, spanId, traceState } = span.spanContext()
  const { kind, startTime, endTime, status, parentSpanContext } = span
  const parent = parentSpanContext === undefined ? '' : `"parentSpanId":"${parentSpanContext.spanId}",`
  const state = traceState === undefined ? '' : `"traceState":${JSON.stringify(traceState.serialize())},`
  // OTLP counts kinds from one.
  return `{"traceId":"${traceId}","spanId":"${spanId}",${parent}${state}"name":${JSON.stringify(span.name)},"kind":${kind + 1},"startTimeUnixNano":"${nanosOf(startTime)}","endTimeUnixNano":"${nanosOf(endTime)}","attributes":${attributesOf(span.attributes)},"status":{"code":${status.code}}}${SEPARATOR}`
}

function nanosOf([seconds, nanos]: HrTime): string {
  return `${seconds}${String(nanos).padStart(9, '0')}`
}

function attributesOf(attributes: Attributes): string {
  let text = ''
  for (const key in attributes) {
    const value = attributes[key]
    if (value !== undefined) text += `${text === '' ? '[' : ','}${keyOf(key)}${jsonOf(value)}}`
  }
  return text === '' ? '[]' : `${text}]`
}

/** Beginnings of attributes, by their keys, of which there are few. */
const KEYS = new Map<string, string>()

function keyOf(key: string): string {
  let known = KEYS.get(key)
  if (known === undefined) {
    known = `{"key":${JSON.stringify(key)},"value":`
    KEYS.set(key, known)
  }
  return known
}

/** Ours are texts, whole numbers and booleans. OTLP writes whole numbers of 64 bits as texts. */
function jsonOf(value: Exclude<Attributes[string], undefined>): string {
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (typeof value === 'number') return `{"intValue":"${value}"}`
  return `{"stringValue":${JSON.stringify(String(value))}}`
}
