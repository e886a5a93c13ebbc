/** The header `traceparent` of W3C Trace Context, by which callers say which trace a call belongs to. */

/** Of version 00. A later version may have more behind it. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The content of the header. */
export interface TraceParent {
  readonly traceId: string
  /** Of the caller's span. */
  readonly spanId: string
  /** Whether the caller records the trace. */
  readonly sampled: boolean
}

/** `undefined`: there is no such header, or none that can be believed. */
export function traceParentOf(values: readonly string[]): TraceParent | undefined {
  const found = values.length === 1 ? TRACEPARENT.exec(values[0] as string) : null
  if (found === null) return undefined
  const [, version, traceId, spanId, flags, rest] = found
  if (version === '00' && rest !== undefined) return undefined
  const sampled = (Number.parseInt(flags as string, 16) & 1) === 1
  return { traceId: traceId as string, spanId: spanId as string, sampled }
}

/** The id of the trace; `undefined` as of `traceParentOf`. */
export function traceIdOf(values: readonly string[]): string | undefined {
  return traceParentOf(values)?.traceId
}

export function formatTraceParent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}
