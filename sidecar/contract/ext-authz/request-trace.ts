/** What an Envoy's question says of the trace of the client's request. Loaded where there are traces. */
import type { TraceCarrier } from '../../base/tracing.ts'
import type { HeaderFilter } from './header-filter.ts'
import { readAsked } from './request.ts'

const TRACEPARENT = 'traceparent'
const NAMES: ReadonlySet<string> = new Set([TRACEPARENT, 'tracestate'])
const LENGTHS: ReadonlySet<number> = new Set(Array.from(NAMES, ({ length }) => length))

const TRACE_HEADERS: HeaderFilter = {
  isRelevant: (name: string) => NAMES.has(name.toLowerCase()),
  mayBeRelevant: (length: number) => LENGTHS.has(length),
}

/** @returns undefined: nothing, also where the bytes are no such message, which its handler says */
export function traceIn(request: Buffer): TraceCarrier | undefined {
  // Most requests belong to no trace, and this look costs hardly anything.
  if (!request.includes(TRACEPARENT)) return undefined
  let asked: ReturnType<typeof readAsked>
  try {
    asked = readAsked(request, TRACE_HEADERS)
  } catch {
    return undefined
  }
  const { headers } = asked
  return { metadata: (name) => headers.flatMap(([each, value]) => (each === name ? [value] : [])) }
}
