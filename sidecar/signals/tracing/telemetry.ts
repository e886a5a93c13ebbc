/** The traces of a sidecar, made with the SDK of OpenTelemetry. */
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { packageVersion } from '../../base/package.ts'
import type { Span } from '../../base/tracing.ts'
import type { DecisionListener } from '../../usecases/asker.ts'
import type { Tracing } from '../../usecases/call-tracing.ts'
import { RESOURCE } from '../otlp-resource.ts'
import { Recorder } from './recorder.ts'
import { OneDecision, SeveralDecisions } from './span-listener.ts'

/** Longest value of an attribute, in characters. A longer one is cut. */
const VALUE_LENGTH_MAX = 256

export class Telemetry extends Recorder implements Tracing, AsyncDisposable {
  readonly #provider: TracerProvider
  /** By the span of the call, whose decisions it counts. */
  readonly #several = new WeakMap<Span, DecisionListener>()

  /** @param samplePercent how many of a hundred calls are recorded whose callers send no trace context */
  constructor(processor: SpanProcessor, samplePercent: number) {
    const provider = new TracerProvider({
      resource: defaultResource().merge(resourceFromAttributes(RESOURCE)),
      // Nothing is begun that is not recorded.
      sampler: new AlwaysOnSampler(),
      spanLimits: { attributeValueLengthLimit: VALUE_LENGTH_MAX },
      spanProcessors: [processor],
    })
    super(provider.getTracer('portcullis', packageVersion), samplePercent)
    this.#provider = provider
  }

  listener(span: Span, several: boolean, next: () => DecisionListener | undefined): DecisionListener {
    if (!several) return new OneDecision(this, span, next())
    let listener = this.#several.get(span)
    if (listener === undefined) {
      listener = new SeveralDecisions(this, span, next())
      this.#several.set(span, listener)
    }
    return listener
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#provider.shutdown()
  }
}
