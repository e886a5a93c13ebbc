/** The trace context in an Envoy's question, of the client's request. Loaded where there are traces. */
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

/** @returns undefined: nothing, also where the bytes are not such a message, which its handler reports */
export function traceIn(request: Buffer): TraceCarrier | undefined {
  // Most requests do not belong to a trace, and this look costs hardly anything.
  if (!request.includes(TRACEPARENT)) return undefined
  let asked: ReturnType<typeof readAsked>
  try {
    asked = readAsked(request, TRACE_HEADERS)
    // Survives: `{` → `{}`. Nothing is returned then either.
  } catch {
    return undefined
  }
  const { headers } = asked
  return { metadata: (name) => headers.flatMap(([each, value]) => (each === name ? [value] : [])) }
}
