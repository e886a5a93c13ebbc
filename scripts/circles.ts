/**
 * The steps of the two circles of checks, and the commands of each. A step ends with an exit code; steps of
 * Vitest also report how many tests there were (tally.ts).
 */

export interface Step {
  readonly name: string
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Runs Vitest's tests: those of `npm test`, or of another configuration. */
function tests(name: string, args: readonly string[], env?: Readonly<Record<string, string>>): Step {
  return { name, command: ['vitest', 'run', '--retry=0', ...args], ...(env && { env }) }
}

const INTEROP = ['--config', 'vitest.interop.config.ts']
const NIGHTLY_TESTS = ['--config', 'vitest.nightly.config.ts']

/** A search that keeps its figures for `docs/decide/assurance.md`. */
function search(name: string, program: string, ...args: readonly string[]): Step {
  return { name, command: ['node', '--disable-warning=ExperimentalWarning', program, ...args], env: RECORD }
}

const RECORD = { ASSURANCE: 'record' }

/** Another one each time. */
const NEW_SEED = String(Date.now() % 1_000_000)

/** The steps that must pass before a change lands. It gives the same verdict on any machine, however busy. */
export const GATE: readonly Step[] = [
  { name: 'check', command: ['npm', 'run', '--silent', 'check'] },
  tests('test', []),
  tests('interop', INTEROP),
  { name: 'instructions', command: ['node', 'bench/instructions.ts'] },
]

/** The steps that are random, long or judged by a clock. Part → its steps. */
export const NIGHTLY: Readonly<Record<string, readonly Step[]>> = {
  attack: [
    tests('attack', [...NIGHTLY_TESTS, 'test/attack'], RECORD),
    tests('hostile', ['test/engine/hostile', 'test/contract/hostile-checks', 'test/http2/fuzz'], {
      DECIDE_CALLS: '20000000',
      CHECKS: '1000000',
      HTTP2_FUZZ_FRAMES: '2000000',
    }),
  ],
  bench: [
    { name: 'bench', command: ['node', 'bench/run.ts', '--gate'] },
    tests('bench smoke', [
      ...NIGHTLY_TESTS,
      'test/nightly/bench',
      'test/nightly/instructions',
      'test/nightly/console',
    ]),
  ],
  clients: [
    {
      name: 'new suite',
      command: [
        'node',
        'test/support/conformance/make.ts',
        'node_modules/.cache/conformance',
        String(Date.now()),
      ],
    },
    ...[tests('clients', ['test/clients']), tests('clients', [...INTEROP, 'test/interop/clients'])].map(
      (step) => ({
        ...step,
        env: { CONFORMANCE: 'node_modules/.cache/conformance', QUESTIONS: '1000000' },
      }),
    ),
    tests('minima', [...NIGHTLY_TESTS, 'test/nightly/clients']),
    tests('routers', [...NIGHTLY_TESTS, 'test/nightly/routers'], { SEED: NEW_SEED }),
  ],
  containers: [
    tests('containers', [
      ...NIGHTLY_TESTS,
      ...['container', 'compose', 'kubernetes', 'systemd'].map((name) => `test/nightly/${name}`),
    ]),
  ],
  day: [search('day', 'test/day/run.ts'), tests('day', [...NIGHTLY_TESTS, 'test/nightly/day'])],
  fuzz: [search('fuzz', 'test/fuzz/run.ts', '--for', '30m', '--jobs', '2')],
  histories: [tests('histories', [...NIGHTLY_TESTS, 'test/nightly/postgres'])],
  kills: [
    search('kills', 'test/kills/run.ts'),
    search('kills postgres', 'test/kills/run.ts', '--postgres', '--kills', '60'),
    search('power cuts', 'test/kills/run.ts', '--disks', '1500'),
    tests('kills', [...NIGHTLY_TESTS, 'test/nightly/kills']),
  ],
  mutants: [
    search('mutants', 'scripts/mutants.ts'),
    tests('mutants', [...NIGHTLY_TESTS, 'test/nightly/mutants']),
  ],
  packages: [
    tests('packages', [
      ...NIGHTLY_TESTS,
      ...['architecture', 'docs', 'packages', 'executable', 'released', 'site'].map(
        (name) => `test/nightly/${name}`,
      ),
    ]),
  ],
  peers: [tests('peers', [...NIGHTLY_TESTS, 'test/nightly/peers'])],
  proofs: [tests('proofs', [...NIGHTLY_TESTS, 'test/nightly/model'])],
  simulation: [
    search('short seeds', 'test/simulation/simulate.ts', '--seeds', '5000', '--steps', '120'),
    search('long seeds', 'test/simulation/simulate.ts', '--seeds', '1500'),
    search('defects', 'test/simulation/simulate.ts', '--defects'),
    tests('simulation', [...NIGHTLY_TESTS, 'test/nightly/simulation']),
  ],
  storms: [
    tests('storms', [
      ...NIGHTLY_TESTS,
      'test/nightly/workers',
      'test/nightly/transport',
      'test/nightly/sidecar',
    ]),
  ],
  streams: [
    tests(
      'streams',
      ['--no-file-parallelism', 'test/parity/streams', 'test/transports/same', 'test/parity/released'],
      {
        ...RECORD,
        QUESTIONS: '3000',
        SEED: NEW_SEED,
      },
    ),
    tests('stores', [...INTEROP, 'test/interop/postgres/alike'], {
      ...RECORD,
      STEPS: '20000',
      SEED: NEW_SEED,
    }),
    tests('openapi', [...NIGHTLY_TESTS, 'test/nightly/connect']),
  ],
  terraform: [tests('terraform', [...NIGHTLY_TESTS, 'test/nightly/identity'])],
}
