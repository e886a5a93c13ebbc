/** Listeners to the decisions of a request: the shadow, the trace, the log and the meter, if they are on. */
import { describe, expect, test, vi } from 'vitest'
import type { Span } from '../../sidecar/base/tracing.ts'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import { listenerOf, type Tracing } from '../../sidecar/usecases/call-tracing.ts'
import type { AskerFacts, DecisionLog, Protocol } from '../../sidecar/usecases/decision-recorder.ts'

/** A listener by its name, and the next one that it notifies. */
const ear = (name: string, next?: DecisionListener) => ({ name, next }) as unknown as DecisionListener
const METER = ear('meter')
const FACTS = { address: '192.0.2.7' as const, name: 'clerk', traceparent: ['theirs'], requestIds: ['r-1'] }

/** The parts, of which each is on or off. Those that are on say what they received. */
function newParts() {
  const listener = vi.fn((_facts: AskerFacts, next: DecisionListener | undefined) => ear('log', next))
  const several: boolean[] = []
  const tracing = (span: object | undefined) =>
    ({
      current: () => span,
      listener: (heard: Span, isSeveral: boolean, next: () => DecisionListener | undefined) => {
        expect(heard).toBe(span)
        several.push(isSeveral)
        return ear('trace', next())
      },
    }) as unknown as Tracing
  return {
    decisions: { listener } as unknown as DecisionLog,
    shadow: { listener: (next: DecisionListener | undefined) => ear('shadow', next) } as never,
    tracing,
    /** The facts about the requester that the log received. */
    logged: () => listener.mock.calls.map(([facts]) => facts),
    several,
  }
}

const OFF = { decisions: undefined, tracing: undefined, shadow: undefined }
const RECORDED = { fields: { traceparent: 'ours' } }

describe('a request', () => {
  /** The listeners to its decisions, first to last. */
  const chainOf = (listener: DecisionListener | undefined): string => {
    const { name, next } = (listener ?? { name: 'nobody' }) as { name: string; next?: DecisionListener }
    return next === undefined ? name : `${name} ${chainOf(next)}`
  }

  test.each<[on: string, span: object | undefined, chain: string]>([
    ['', undefined, 'nobody'],
    ['meter', undefined, 'meter'],
    ['log', undefined, 'log'],
    ['log meter', undefined, 'log meter'],
    ['shadow', undefined, 'shadow'],
    ['shadow log meter', undefined, 'shadow log meter'],
    ['trace', RECORDED, 'trace'],
    ['trace meter', RECORDED, 'trace meter'],
    ['shadow trace log meter', RECORDED, 'shadow trace log meter'],
    ['shadow trace log meter', undefined, 'shadow log meter'],
  ])('with [%s], whose span is %j, notifies %s', (on, span, chain) => {
    const { decisions, shadow, tracing, logged } = newParts()
    const services = {
      decisions: on.includes('log') ? decisions : undefined,
      tracing: on.includes('trace') ? tracing(span) : undefined,
      shadow: on.includes('shadow') ? shadow : undefined,
    }
    const factsOf = vi.fn(() => FACTS)
    const listener = listenerOf(services, 'authzen', on.includes('meter') ? METER : undefined, factsOf)
    expect(chainOf(listener)).toBe(chain)
    // Where there is no log, the requester is not looked up.
    expect(factsOf).toHaveBeenCalledTimes(on.includes('log') ? 1 : 0)
    const traceparent = span === undefined ? FACTS.traceparent : ['ours']
    expect(logged()).toEqual(on.includes('log') ? [{ ...FACTS, protocol: 'authzen', traceparent }] : [])
  })
})

test('a recorded call has a separate span for each decision where there may be several', () => {
  const { tracing, several } = newParts()
  const protocols: Record<Protocol, boolean> = {
    ...{ grpc: false, 'grpc-batch': true, 'grpc-stream': true, connect: false },
    ...{ ext_authz: false, 'ext_authz-http': false, authorize: false, authzen: true },
  }
  for (const protocol of Object.keys(protocols) as Protocol[])
    listenerOf({ ...OFF, tracing: tracing(RECORDED) }, protocol, METER, () => FACTS)
  expect(several).toEqual(Object.values(protocols))
})
