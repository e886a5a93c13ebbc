/**
 * Time in tests. A test waits for a condition, never for a time. A limit exists only against hanging, and is
 * at least ten times what the step takes on a quiet machine. A call has no deadline but the one that is
 * tested. A property is bounded by a count. So the verdict is the same on a machine four times slower, with
 * eight busy programs beside it.
 *
 * Each habit lists the files that may have it, how often, and why. Tests that only a clock can judge belong
 * to `test/nightly/`.
 */
import { expect, test } from 'vitest'
import suite from '../../vitest.config.ts'
import interop from '../../vitest.interop.config.ts'
import { type Source, sourcesIn } from '../support/checkout/sources.ts'
import { HANGS_MS } from '../support/suite/resources.ts'

/**
 * Where the passing of time is the subject of all that there is. A limit of a test has no place there, too.
 */
const CIRCLES: readonly (readonly [folder: string, why: string])[] = [
  ['test/attack/', 'what others get during an attack is measured'],
  ['test/support/attack/', 'the same'],
  ['test/nightly/', 'what can be judged by a clock alone, one file at a time'],
  ['test/day/', 'a day by a fast clock'],
  ['test/kills/', 'kills at moments that differ'],
  ['test/simulation/', 'its time is its own, and no clock passes'],
  ['test/support/histories/', 'clients and failures that go on for a while'],
  ['test/interop/postgres/', 'a database that is gone for a while: bounds elapse'],
  ['test/interop/transport/', 'floods and slow peers'],
]

interface Habit {
  readonly claim: string
  readonly pattern: RegExp
  /** Lines that have it, so that the habit is no weaker than it sounds. */
  readonly examples: readonly string[]
  readonly allowed: readonly (readonly [path: string, times: number, why: string])[]
  /** Whether it is a fault in the circles, too. */
  readonly everywhere?: true
}

const HELPERS = 'the helpers that others use in its place'

const HABITS: readonly Habit[] = [
  {
    claim:
      'a test waits for a condition: time passes in `eventually`, or by `passing` where it is the subject',
    pattern: /\b(?:passing|setTimeout|setInterval|Atomics\.wait)\(|\bsetTimeout\b.*'node:timers\/promises'/g,
    examples: [
      'await passing(50)',
      'await new Promise((resolve) => setTimeout(resolve, 50))',
      'const looking = setInterval(look, 10)',
      "import { setTimeout as sleep } from 'node:timers/promises'",
      'Atomics.wait(shared, 0, 0, 50)',
    ],
    allowed: [
      ['test/support/suite/resources.ts', 4, HELPERS],
      // A bound elapses.
      ['test/connect/streams.test.ts', 1, 'a client does not read for longer than it may'],
      ['test/control-panel/listening-lasts.test.ts', 1, 'a stream lasts for longer than a request may'],
      ['test/control-panel/operators.test.ts', 1, 'sessions are looked at once a second'],
      ['test/docs/story.ts', 1, 'the command says after how many seconds to try again'],
      ['test/base/http-connections.test.ts', 1, 'a client does not read for longer than it may'],
      ['test/interop/connect/tools.test.ts', 1, 'connections are idle for longer than they may'],
      ['test/interop/upstream/keystone.test.ts', 1, 'a token expires in another program'],
      // Nothing happens meanwhile: on a slow machine less could have happened, and the test passes.
      ['test/directory/sqlite.test.ts', 1, 'a change is not acknowledged meanwhile'],
      ['test/interop/egress.test.ts', 1, 'what is held does not grow meanwhile'],
      ['test/contract/followers.test.ts', 3, 'nothing is sent meanwhile; a notification is not sent again'],
      ['test/signals/log.test.ts', 2, 'the process lives on while it fails to write'],
      ['test/rules/rules.test.ts', 1, 'no file is read meanwhile'],
      // Something comes slowly, or at different moments: the verdict is the same at any pace.
      ['test/connect/doors.test.ts', 1, 'a body that comes slowly'],
      ['test/directory/contract/processes.ts', 1, 'kills at moments that differ'],
      ['test/egress/bodies.test.ts', 1, 'an answer that is read late'],
      ['test/egress/refusals.test.ts', 1, 'a client leaves in the middle of its body'],
      ['test/fuzz/run.ts', 1, 'names an input that never ends'],
      ['test/health/listener.test.ts', 1, 'a client that sends byte by byte'],
      ['test/http2/reading.test.ts', 2, 'bytes that arrive one after the other'],
      ['test/hub/wrong-hubs.test.ts', 1, 'a hub that speaks while it refuses'],
      ['test/interop/console/operators.test.ts', 1, 'decisions that go on'],
      ['test/interop/identity/https-limits.test.ts', 1, 'a client that pings'],
      ['test/interop/node/client.ts', 1, 'a client that rests'],
      ['test/cli/cli.test.ts', 1, 'input that comes late, as from another command'],
      ['test/base/closing.test.ts', 1, 'a client that goes on sending'],
      ['test/process/storage.test.ts', 1, 'another process holds the file for a while'],
      ['test/contract/stream.test.ts', 1, 'a client that reads slowly'],
      ['test/base/young-generation.test.ts', 2, 'turns of the event loop in another program'],
      ['test/support/interop/command.ts', 1, 'another process installs the same'],
      ['test/support/interop/floods.ts', 3, 'floods at a pace'],
      ['test/support/interop/soak.ts', 2, 'connections that rest'],
      ['test/support/postgres/proxy.ts', 1, 'a network on which everything is late'],
      ['test/support/postgres/server.ts', 1, 'looks until a server of another program does as asked'],
      ['test/support/processes/worker-storm.ts', 1, 'a refused connection does not make a busy loop'],
      ['test/support/transports/outcomes.ts', 2, 'a client that reads late; a limit against hanging'],
      ['test/tracing/protocols.test.ts', 1, 'two clocks differ by less than the spans'],
      ['test/upstream/wire.test.ts', 1, 'an answer that never ends'],
    ],
  },
  {
    claim: 'nothing is waited for with the default limits of vitest, which are a second',
    pattern: /\bvi\.wait(?:For|Until)\(|\.poll\(/g,
    examples: ['await vi.waitFor(() => expect(found).toBe(1))', 'await expect.poll(read).toBe(1)'],
    allowed: [['test/support/interop/explorer.ts', 1, 'with the limit of all']],
  },
  {
    claim: 'no test has a separate limit; `timeout: 0` is not one, for counts that are asked for',
    pattern:
      /\{[^{}\n]*\btimeout: (?!0\b)[\w.]+ \}|^ *\}, [1-9A-Z]\w*\)$|^ *(?:[1-9]\d*_000|[A-Z_]+_MS(?:_MAX)?),\n *\)$/gm,
    everywhere: true,
    examples: [
      "test('a', { timeout: 120_000 }, async () => {",
      "test('a', { timeout: TEST_MS_MAX }, async () => {",
      '  }, 60_000)',
      '  }, BUILD_MS_MAX)',
      '    600_000,\n  )',
    ],
    allowed: [
      ['test/attack/slowloris.test.ts', 1, 'the pace of an interval'],
      ['test/control-panel/passkeys.test.ts', 1, 'an option for a browser'],
      [
        'test/interop/proxies.test.ts',
        1,
        'that a proxy waits for less than its default minute is what is tested',
      ],
      ['test/nightly/clients/large-matrix.test.ts', 1, 'the pace of an interval'],
      ['test/nightly/transport/floods.test.ts', 1, 'the pace of an interval'],
      ['test/simulation/once.ts', 1, 'a time of a simulated clock'],
      ['test/support/interop/explorer.ts', 1, 'the limit of all'],
    ],
  },
  {
    claim: 'a call has no deadline but the one that is tested',
    pattern:
      /\bdeadline(?:Ms|_ms)?: (?!HANGS_MS|Date\.now\(\) \+ HANGS_MS)|'--deadline'|\bAbortSignal\.timeout\(|\bconnect\b[^;\n]*\} from '[./]*clients\/typescript\/(?:index|client)\.ts'/g,
    examples: [
      'connect(address, { deadlineMs: 5_000 })',
      "box.ask('check', question, { deadline: Date.now() + 5_000 })",
      "command(['check', 'balance', '--deadline', '5000'])",
      'fetch(url, { signal: AbortSignal.timeout(5_000) })',
      "import { connect } from '../../clients/typescript/index.ts'",
    ],
    allowed: [
      ['test/support/processes/processes.ts', 2, HELPERS],
      ['test/support/sidecar/client.ts', 1, HELPERS],
      ['test/support/interop/sidecar.ts', 1, HELPERS],
      ['test/agent/config.test.ts', 3, 'what is read of the configuration'],
      ['test/agent/process.test.ts', 1, 'the longest that the agent takes'],
      ['test/clients/local-mode.test.ts', 2, 'a deadline passes, and one that never does'],
      ['test/health/command.test.ts', 2, 'a server that says nothing'],
      ['test/interop/node/client.ts', 3, 'what the test that asks says'],
      ['test/cli/errors.test.ts', 3, 'a server that says nothing, and values that are refused'],
      ['test/clients/client.test.ts', 1, 'a deadline passes'],
      ['test/clients/plaintext.test.ts', 2, 'calls without a server: they are refused, or end at once'],
      ['test/contract/stream.test.ts', 1, 'a deadline passes'],
      ['test/support/checkout/package-consumers.ts', 1, 'compiled, never run'],
    ],
  },
  {
    claim: 'a sidecar has no limit of less than a minute but those that are tested',
    pattern: /\b\w*(?:timeout|staleness)(?:_ms|Ms)['"]?(?::| =) ?['"]?(?:[1-5]?\d_?)?\d{1,3}\b(?!_)/gi,
    examples: [
      "runSidecar({ flags: { 'directory.timeout_ms': 2000 } })",
      'openPostgres({ url, timeoutMs: 5_000 })',
      'const STALENESS_MS = 400',
      "environment: { PORTCULLIS_WORKER_HEARTBEAT_TIMEOUT_MS: '400' }",
    ],
    allowed: [
      ['test/agent/config.test.ts', 3, 'what is read of the configuration'],
      ['test/agent/keeper.test.ts', 1, 'a command that does not end'],
      ['test/clients/local-mode.test.ts', 1, 'what is known ends with the bound'],
      ['test/connect/streams.test.ts', 2, 'messages and readers that are late'],
      ['test/directory/config.test.ts', 6, 'what is read of the configuration'],
      ['test/egress/forward.test.ts', 1, 'a target that says nothing'],
      ['test/http2/bounds.test.ts', 1, 'its clock is the test’s'],
      ['test/hub/authority.test.ts', 1, 'its clock is the test’s'],
      ['test/hub/changes.test.ts', 3, 'its clock is the test’s'],
      ['test/hub/follower.test.ts', 1, 'what is known ends with the bound'],
      [
        'test/hub/wrong-hubs.test.ts',
        2,
        'what is known ends with the bound, and questions to a hub with a limit',
      ],
      ['test/interop/connect/tools.test.ts', 1, 'a reader that is late'],
      ['test/interop/upstream/keystone.test.ts', 1, 'a Keystone that says nothing'],
      ['test/model/fleet-world.ts', 1, 'its clock is the test’s'],
      ['test/transports/held.test.ts', 3, 'messages and readers that are late'],
      ['test/contract/watch-changes.test.ts', 1, 'the bound is repeated in a report'],
      ['test/support/processes/worker-storm.ts', 1, 'workers that hang'],
      ['test/tracing/export.test.ts', 1, 'a value that is refused'],
      ['test/upstream/workers.test.ts', 1, 'a worker that hangs'],
      ['test/world/explained.test.ts', 1, 'the bound of histories by hand'],
    ],
  },
  {
    claim: 'no verdict depends on how long something took',
    pattern:
      /\bperformance\.now\(\)|\bhrtime\b|\bDate\.now\(\) [<>-] *\w*(?:[sS]tart|[bB]egan|[aA]sked|[sS]ince)\w*/g,
    examples: [
      'expect(performance.now() - startMs).toBeLessThan(100)',
      'while (performance.now() < end);',
      'const tookNs = process.hrtime.bigint() - began',
      'expect(Date.now() - startedMs).toBeLessThan(100)',
    ],
    allowed: [
      ['test/support/suite/resources.ts', 6, HELPERS],
      ['test/architecture/wall-clock.test.ts', 1, 'an example of its rule'],
      ['test/bench/latency.test.ts', 2, 'no call takes longer than the run that it is part of'],
      ['test/fuzz/fuzzer.ts', 5, '`npm run fuzz` ends after a time; `npm test` gives it counts'],
      ['test/fuzz/mutate.ts', 2, 'minimising a finding ends after a time'],
      ['test/fuzz/run.ts', 3, 'names an input that never ends'],
      ['test/interop/console/explorer.test.ts', 1, 'what the page is given to draw with'],
      ['test/interop/console/operators.test.ts', 1, 'frames that the page draws'],
      ['test/support/interop/soak.ts', 2, 'the slowest call is reported, and not judged'],
      ['test/usecases/timed.test.ts', 1, 'a call begins no earlier than it was made'],
      ['test/world/defects.ts', 1, 'code of the product'],
    ],
  },
  {
    claim: 'no seed comes from the clock: what failed fails again',
    pattern: /\bDate\.now\(\) %|\bseed\w*\b[^\n;]*\bDate\.now\(\)/gi,
    everywhere: true,
    examples: [
      'const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000)',
      'randomFrom(seed ?? Date.now())',
    ],
    allowed: [['test/attack/search.test.ts', 1, 'each search begins elsewhere, and says where']],
  },
  {
    claim: 'a property is bounded by a count, not by seconds',
    pattern: /\b(?:interruptAfterTimeLimit|skipAllAfterTimeLimit)\b/g,
    everywhere: true,
    examples: ['fc.assert(property, { interruptAfterTimeLimit: 1_000 })'],
    allowed: [],
  },
]

const OWN = 'test/architecture/time.test.ts'

/** How often each file has the habit. */
function found({ pattern, everywhere }: Habit, sources: readonly Pick<Source, 'path' | 'text'>[]) {
  const isHeld = (path: string) =>
    path !== OWN && (everywhere === true || !CIRCLES.some(([folder]) => path.startsWith(folder)))
  return sources
    .filter(({ path }) => isHeld(path))
    .map(({ path, text }) => [path, Array.from(text.matchAll(pattern)).length] as const)
    .filter(([, times]) => times > 0)
}

test.each(HABITS)('$claim', (habit) => {
  expect(found(habit, sourcesIn('test/'))).toEqual(
    habit.allowed.map(([path, times]) => [path, times]).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  )
})

// The rule is no stronger than the search.
test.each(HABITS.flatMap((habit) => habit.examples.map((text) => ({ text, habit }))))(
  'the search finds $text',
  ({ text, habit }) => {
    expect(found(habit, [{ path: 'test/x.test.ts', text }])).toEqual([['test/x.test.ts', 1]])
    const inCircle = found(habit, [{ path: 'test/nightly/x.test.ts', text }])
    expect(inCircle).toHaveLength(habit.everywhere === true ? 1 : 0)
  },
)

test.each([
  'await eventually(() => lines.length === 3)',
  'vi.useFakeTimers({ toFake: ["setTimeout"] })',
  "test('as many as asked for', { timeout: 0 }, async () => {",
  "runSidecar({ flags: { 'directory.staleness_ms': 600_000, 'directory.timeout_ms': 60_000 } })",
  'connect(address, { deadlineMs: HANGS_MS })',
  'const clock = { nowMs: Date.now() }',
])('the search finds nothing in %j', (text) => {
  const habits = HABITS.filter((habit) => found(habit, [{ path: 'test/x.test.ts', text }]).length > 0)
  expect(habits.map(({ claim }) => claim)).toEqual([])
})

test.each([
  ['suite', suite],
  ['interop', interop],
])(
  'the limit of a test of the %s only ends what hangs, after that of each step',
  (_name, { test: limits }) => {
    expect(limits?.testTimeout).toBeGreaterThan(HANGS_MS)
    expect(limits?.hookTimeout).toBeGreaterThan(HANGS_MS)
  },
)
