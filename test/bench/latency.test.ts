/** Latency: how long calls take is recorded call by call, and the driver records every one. */
import { afterEach, expect, test, vi } from 'vitest'
import { connectLoad } from '../../bench/harness/contender.ts'
import { CHECK_PATH } from '../../bench/harness/grpc.ts'
import { Latencies, latencyOf } from '../../bench/harness/latency.ts'
import { startBareHttp2 } from '../../bench/servers/start.ts'

afterEach(() => vi.restoreAllMocks())

/** Records calls that take these times, one after the other in one lane. */
function recorded(milliseconds: readonly number[], lanes = 1, lane = 0): Latencies {
  const latencies = new Latencies(lanes)
  for (const elapsed of milliseconds) {
    vi.spyOn(performance, 'now')
      .mockReturnValueOnce(1000)
      .mockReturnValueOnce(1000 + elapsed)
    latencies.start(lane)
    latencies.end(lane)
  }
  return latencies
}

const ONE_TO_HUNDRED = Array.from({ length: 100 }, (_, index) => index + 1)

test.each<{ what: string; samples: number[][]; p50: number; p99: number }>([
  { what: 'one call', samples: [[7]], p50: 7, p99: 7 },
  { what: 'calls of 1 to 100 ms', samples: [ONE_TO_HUNDRED], p50: 50, p99: 99 },
  { what: 'the order of calls', samples: [ONE_TO_HUNDRED.toReversed()], p50: 50, p99: 99 },
  {
    what: 'several samples together',
    samples: [ONE_TO_HUNDRED.slice(0, 50), ONE_TO_HUNDRED.slice(50)],
    p50: 50,
    p99: 99,
  },
  { what: 'a call of half a microsecond', samples: [[0.0005]], p50: 0.0005, p99: 0.0005 },
  { what: 'a call of a minute', samples: [[60_000]], p50: 60_000, p99: 60_000 },
])('the percentiles of $what are exact within 1 %', ({ samples, p50, p99 }) => {
  const latency = latencyOf(samples.map((milliseconds) => recorded(milliseconds)))
  expect(latency.p50Microseconds / (p50 * 1000)).toBeCloseTo(1, 1.7)
  expect(latency.p99Microseconds / (p99 * 1000)).toBeCloseTo(1, 1.7)
  expect(latency.calls).toBe(samples.flat().length)
})

test('calls that are in flight at once are distinguished by their lanes', () => {
  const latencies = new Latencies(2)
  const clock = vi.spyOn(performance, 'now')
  const at = (ms: number, step: () => void) => {
    clock.mockReturnValueOnce(ms)
    step()
  }
  at(0, () => latencies.start(0))
  at(10, () => latencies.start(1))
  at(15, () => latencies.end(1))
  at(40, () => latencies.end(0))
  const { p50Microseconds, p99Microseconds, inFlight, calls } = latencyOf([latencies])
  expect(p50Microseconds / 5_000).toBeCloseTo(1, 1.7)
  expect(p99Microseconds / 40_000).toBeCloseTo(1, 1.7)
  expect({ inFlight, calls }).toEqual({ inFlight: 2, calls: 2 })
})

test('the driver records every call, and no call takes longer than the whole run', async () => {
  await using stack = new AsyncDisposableStack()
  const server = await startBareHttp2(10)
  stack.defer(() => server.stop())
  const load = await connectLoad(server.ready.grpc, { connections: 2, inFlight: 3 }, stack)
  const startMs = performance.now()
  const latencies = await load.run({ path: CHECK_PATH, questions: [Buffer.alloc(5)], answerBytes: [10] }, 60)
  const elapsedMicroseconds = (performance.now() - startMs) * 1000
  const { p50Microseconds, p99Microseconds, inFlight, calls } = latencyOf([latencies])
  expect({ inFlight, calls }).toEqual({ inFlight: 6, calls: 60 })
  expect(p50Microseconds).toBeGreaterThan(0)
  expect(p99Microseconds).toBeGreaterThanOrEqual(p50Microseconds)
  // The histogram is exact within 1 %.
  expect(p99Microseconds).toBeLessThanOrEqual(elapsedMicroseconds * 1.01)
})
