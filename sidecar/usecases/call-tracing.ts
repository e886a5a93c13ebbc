/** Traces as use cases and protocols see them. */
import type { Span, SpanFacts, TraceCarrier, TracedCall, Tracer } from '../base/tracing.ts'
import type { DecisionListener, ListeningShadow } from './asker.ts'
import type { AskerFacts, DecisionLog, Protocol } from './decision-recorder.ts'

export interface Tracing extends Tracer {
  /**
   * Begins a call.
   *
   * @returns undefined: there is nothing to do, because the call is not recorded and its caller sends no
   * trace context
   */
  begin(carrier: TraceCarrier, facts: () => SpanFacts): TracedCall | undefined
  /**
   * Receives the decisions of a recorded call.
   *
   * @param several whether the call asks for any number of decisions: then each has a separate span
   * @param next makes the listener that hears first
   */
  listener(span: Span, several: boolean, next: () => DecisionListener | undefined): DecisionListener
}

const SEVERAL: ReadonlySet<Protocol> = new Set(['grpc-batch', 'grpc-stream', 'authzen'])

interface RecordedCall {
  readonly span: Span
  readonly protocol: Protocol
  /** Is asked only where there is a log. */
  readonly factsOf: () => AskerFacts
}

/**
 * Listens to the decisions of a call that is recorded. Its lines in the decision log name the trace, also
 * where it begins here.
 */
export function recordedListener(
  { tracing, decisions }: { readonly tracing: Tracing; readonly decisions: DecisionLog | undefined },
  { span, protocol, factsOf }: RecordedCall,
  meter: DecisionListener | undefined,
): DecisionListener {
  return tracing.listener(span, SEVERAL.has(protocol), () => {
    // Survives: `''` → `"Stryker was here!"`. A span that is recorded has this field.
    const { traceparent = '' } = span.fields
    return decisions?.listener({ ...factsOf(), traceparent: [traceparent] }, meter) ?? meter
  })
}

/**
 * Listens to the decisions of a request: the shadow, the trace, the log and the meter, as far as they are on.
 * `undefined`: all are off.
 *
 * @param factsOf is asked only where there is a log
 */
export function listenerOf(
  services: {
    readonly decisions: DecisionLog | undefined
    readonly tracing: Tracing | undefined
    readonly shadow: ListeningShadow | undefined
  },
  protocol: Protocol,
  meter: DecisionListener | undefined,
  factsOf: () => Omit<AskerFacts, 'protocol'>,
): DecisionListener | undefined {
  const { decisions, tracing, shadow } = services
  const listening = (next: DecisionListener | undefined) =>
    shadow === undefined ? next : shadow.listener(next)
  const allFactsOf = () => ({ protocol, ...factsOf() })
  const span = tracing?.current()
  // Survives: `tracing !== undefined` → `true`. Where there is a span, there is what has recorded it.
  if (tracing !== undefined && span !== undefined)
    return listening(recordedListener({ tracing, decisions }, { span, protocol, factsOf: allFactsOf }, meter))
  return listening(decisions === undefined ? meter : decisions.listener(allFactsOf(), meter))
}
