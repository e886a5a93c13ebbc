/** Traces about the two clocks of a client: the monotonic one stands still while its machine sleeps. */
import { ASKED, DAY_MS, TOKEN, type Trace } from './trace.ts'

const HOUR_MS = 3_600_000

/** It follows, and knows a token; what it heard counts for five seconds. */
function knows(trace: Trace): void {
  trace.follow()
  trace.know()
  trace.allowed()
}

export const CLOCK_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'what is known ends while the machine sleeps': (trace) => {
    knows(trace)
    trace.wait(1_000)
    trace.jump(3_999)
    trace.allowed()
    trace.jump(1)
    trace.asked()
  },
  'after a sleep with its sidecar it begins a new stream, and forgets nothing': (trace) => {
    knows(trace)
    trace.jump(30_000)
    trace.wait(500)
    trace.hear({}, 'left')
    trace.asked()
    trace.begin({ after: [10, 1_000_010], basis: 'keys' })
    trace.hear()
    trace.allowed()
  },
  'what a sidecar sent during the sleep counts from then, and what it sends after it from then on': (
    trace,
  ) => {
    knows(trace)
    trace.jump(30_000)
    trace.hear({ sent_at_ms: trace.atMs + 500_000 + 10_000 }, 'left')
    trace.asked()
    trace.hear({ sent_at_ms: trace.atMs + 500_000 + 30_000 }, 'left')
    trace.allowed()
  },
  'a token expires while the machine sleeps': (trace) => {
    trace.follow()
    trace.know(ASKED, { token: { ...TOKEN, expires_at_ms: trace.atMs + DAY_MS + 3_000 } })
    trace.jump(2_999)
    trace.allowed()
    trace.jump(1)
    trace.asked()
  },
  'a wall clock that was set back lengthens nothing': (trace) => {
    knows(trace)
    trace.jump(-HOUR_MS)
    trace.wait(4_999)
    trace.allowed()
    trace.wait(1)
    trace.asked()
  },
  'a sleep counts after the wall clock was set back, too': (trace) => {
    knows(trace)
    trace.jump(-HOUR_MS)
    trace.allowed()
    trace.jump(5_000)
    trace.asked()
  },
  'a wall clock that is set forward ends what is known, and setting it back brings nothing back': (trace) => {
    knows(trace)
    trace.jump(HOUR_MS)
    trace.asked()
    trace.jump(-HOUR_MS)
    trace.asked()
    trace.hear({}, 'left')
    trace.begin({ after: [10, 1_000_010], basis: 'keys' })
    trace.hear()
    trace.allowed()
  },
  'clocks that drift apart by less than half a second need no new stream': (trace) => {
    knows(trace)
    trace.jump(500)
    trace.hear()
    trace.jump(1)
    trace.hear({}, 'left')
  },
}
