/** The rows that every suite of benchmarks must produce, and the test that it does. */
import { expect } from 'vitest'
import { unmeasured } from '../../bench/gates.ts'
import type { Skipped, Suite } from '../../bench/harness/suite.ts'
import { reportText } from '../../bench/report/table.ts'

export interface Expected {
  readonly answersChecked: number
  /** Rows with a ratio. */
  readonly compared: readonly string[]
  /** Rows with a single figure. */
  readonly alone: readonly string[]
  /** Those of the rows that have the latency of a call. */
  readonly timed?: readonly string[]
  /** Those of the rows that may be skipped, because they need a program that no test installs. */
  readonly optional?: readonly string[]
}

const SIDECAR_ROWS = [
  ...['', '-8x1', '-1x1'].flatMap((load) => [
    `check-claims${load}`,
    `check-iam-token${load}`,
    `check-static-token${load}`,
    `check-batch${load}`,
    `check-stream${load}`,
  ]),
  'constant-bare-http2',
  'constant-nghttpd',
]

const TRANSPORT_ROWS = ['claims', 'batch', 'grpc-js-claims', 'grpc-js-iam-token', 'claims-nghttpd']

const SIGNAL_ROWS = ['metrics', 'decision-log', 'traces', 'everything', 'shadow'].flatMap((signal) => [
  `${signal}-claims`,
  `${signal}-iam-token`,
])

const OTHER_LANGUAGES = ['go', 'python', 'java', 'rust']
const LANGUAGES = ['typescript', ...OTHER_LANGUAGES]
/** Those whose runtime counts what a check allocates. */
const COUNT_ALLOCATIONS = ['go', 'rust']

/** The rows of a client that have a single figure. */
function clientFigures(language: string): string[] {
  const names = [
    'bytes',
    'first',
    ...(COUNT_ALLOCATIONS.includes(language) ? ['allocations'] : []),
    'revocation',
  ]
  return names.map((name) => `${language}-${name}`)
}

const SIZE_ROWS = [
  ...['check', 'login', 'static-tokens', 'users', 'audit'],
  ...['create-user', 'revoke', 'disable-account', 'delete-account'],
]

const PAGE_ROWS = [
  ...['first-paint', 'usable', 'usable-large'],
  ...['typing', 'typing-slow', 'opening', 'compare-block'],
]

/** Suite → the rows that it must produce, and how many answers it must check before. */
export const EXPECTED: ReadonlyMap<string, Expected> = new Map<string, Expected>([
  [
    'engine',
    {
      // Every cell, without and with a target, and by its handle.
      answersChecked: 90 + 90 + 90,
      compared: ['decide', 'decide-at'],
      alone: [
        'decide-with-target',
        'deny',
        'extract',
        'compile',
        'decide-allocation',
        'decide-with-target-allocation',
        'decide-at-allocation',
        'deny-allocation',
        'copy-allocation',
      ],
    },
  ],
  [
    'policy-tests',
    {
      // Every cell in both modes, by itself and in a row of the table.
      answersChecked: 180 + 180,
      compared: ['rows', 'table'],
      alone: [],
    },
  ],
  [
    'routes',
    {
      // A request for each route of both tables.
      answersChecked: 1_000 + 100,
      compared: ['read', 'find'],
      alone: [],
    },
  ],
  [
    'sidecar',
    {
      // Every cell as claims, as a credential, and on a stream; and a batch of 100.
      answersChecked: 90 + 90 + 90 + 100,
      compared: SIDECAR_ROWS,
      alone: [],
      timed: SIDECAR_ROWS,
      optional: ['constant-nghttpd'],
    },
  ],
  [
    'transport',
    {
      // As in the sidecar suite, on both transports.
      answersChecked: 2 * (90 + 90 + 90 + 100),
      compared: [...TRANSPORT_ROWS, 'alone-p50', 'alone-p99', 'used-memory'],
      alone: ['old-garbage'],
      timed: TRANSPORT_ROWS,
      optional: ['claims-nghttpd'],
    },
  ],
  ['tokens', { answersChecked: 1, compared: ['unseen-token'], alone: [], timed: ['unseen-token'] }],
  [
    'changes',
    {
      answersChecked: 2,
      compared: ['sqlite', 'postgres'],
      alone: ['queries-quiet', 'queries-changing'],
      timed: [],
      optional: ['postgres', 'queries-quiet', 'queries-changing'],
    },
  ],
  [
    'distance',
    {
      answersChecked: 4,
      compared: ['one-host', 'two-hosts', 'beside-far', 'beside-far-p99', 'beside-import-p99'],
      alone: [],
      timed: [],
      optional: ['one-host', 'two-hosts', 'beside-far', 'beside-far-p99', 'beside-import-p99'],
    },
  ],
  [
    'fleet',
    {
      answersChecked: 7,
      compared: ['herd', 'large-change', 'tier'],
      alone: ['herd-in-step', 'last-of-4', 'memory', 'failover'],
      timed: ['last-of-4'],
      optional: ['herd', 'herd-in-step', 'last-of-4', 'large-change', 'memory', 'failover', 'tier'],
    },
  ],
  [
    'issue',
    {
      answersChecked: 4,
      compared: ['issue', 'issue-cpu', 'issue-http', 'issue-http-cpu'],
      alone: [],
      timed: ['issue', 'issue-http'],
    },
  ],
  [
    'upstream',
    {
      // As in the sidecar suite; two scopes of a profile; and every cell of the kinds that the endpoint
      // issues.
      answersChecked: 90 + 90 + 90 + 100 + 2 + 60,
      compared: ['issue-cached', 'check-upstream'],
      alone: [],
      timed: ['issue-cached', 'check-upstream'],
    },
  ],
  [
    'egress',
    {
      // One request through each of the two.
      answersChecked: 2,
      compared: ['forward', 'forward-body'],
      alone: [],
      timed: ['forward', 'forward-body'],
    },
  ],
  [
    'doors',
    {
      // Every cell as JSON, in AuthZEN and at `/authorize`, and one token.
      answersChecked: 90 + 90 + 90 + 1,
      compared: ['json', 'authzen', 'identity', 'authorize'],
      alone: [],
      timed: ['json', 'authzen', 'identity', 'authorize'],
    },
  ],
  [
    'ext-authz',
    {
      // Every cell of the kinds that `Issue` gives, asked in both ways.
      answersChecked: 60 + 60,
      compared: ['check-sockets', 'check-grpc-js'],
      alone: [],
      timed: ['check-sockets', 'check-grpc-js'],
    },
  ],
  [
    'signals',
    {
      // As in the sidecar suite, of each of the six sidecars.
      answersChecked: 6 * (90 + 90 + 90 + 100),
      compared: SIGNAL_ROWS,
      alone: [],
      timed: SIGNAL_ROWS,
    },
  ],
  [
    'swap',
    {
      // Before the first exchange and after the last one.
      answersChecked: 10 + 10,
      compared: [],
      alone: ['longest-block', 'longest-block-alone', 'time'],
    },
  ],
  [
    'growth',
    {
      // Every cell at 30 and 100 APIs, and at 5 kinds; and a token made here.
      answersChecked: (30 + 100) * 3 + 30 * 5 + 1,
      compared: [
        'decide-30-apis',
        'decide-100-apis',
        'slowdown-apis',
        'decide-5-kinds',
        'slowdown-kinds',
        'compile-large',
        'remembered-tokens',
        'many-tokens',
      ],
      alone: ['compiled-memory', 'remembered-memory', 'memory'],
    },
  ],
  [
    'size',
    {
      // A token and a list, with few users and with many.
      answersChecked: 4,
      compared: [...SIZE_ROWS, ...SIZE_ROWS.map((row) => `postgres-${row}`)],
      alone: [
        ...['start', 'backup', 'restore-check', 'doctor'],
        ...['audit-search', 'audit-export', 'lists', 'removal'],
      ].map((work) => `turn-${work}`),
      optional: SIZE_ROWS.map((row) => `postgres-${row}`),
    },
  ],
  [
    'owner',
    {
      // Two lints; the cells that close, because one API in a hundred takes a kind less; and those that the
      // query fits.
      // And each API of the four documents, twice.
      answersChecked: 2 + 3 + 83 + 8 * 300,
      compared: [
        ...['lint', 'lint-file', 'diff', 'query'],
        ...['import-markdown', 'import-html', 'import-csv', 'import-openapi', 'source'],
      ],
      alone: [],
    },
  ],
  [
    'start',
    {
      // As in the sidecar suite.
      answersChecked: 90 + 90 + 90 + 100,
      compared: ['ready', 'ready-grpc', 'ready-dev', 'idle-memory-grpc', 'idle-memory', 'used-memory'],
      alone: [],
    },
  ],
  [
    'workers',
    {
      // As in the sidecar suite, with one process and with two.
      answersChecked: 2 * (90 + 90 + 90 + 100),
      compared: ['claims-cpu', 'claims-clock'],
      alone: [],
      timed: ['claims-clock'],
    },
  ],
  [
    'clients',
    {
      answersChecked: 50 * LANGUAGES.length,
      compared: LANGUAGES.flatMap((language) => [`${language}-local`, `${language}-grpc`]),
      alone: LANGUAGES.flatMap(clientFigures),
      timed: LANGUAGES.map((language) => `${language}-revocation`),
      // At this size only the client that needs nothing but Node is measured.
      optional: OTHER_LANGUAGES.flatMap((language) => [
        ...[`${language}-local`, `${language}-grpc`],
        ...clientFigures(language),
      ]),
    },
  ],
  [
    'page',
    {
      // Every cell of the table.
      answersChecked: 90,
      compared: PAGE_ROWS,
      alone: [],
    },
  ],
  [
    'peers',
    {
      // Every cell by each of six.
      answersChecked: 6 * 90,
      compared: ['casl', 'casl-ability-at-hand', 'casbin', 'casbin-cached', 'cedar', 'opa-wasm'],
      alone: [],
    },
  ],
  [
    'servers',
    {
      // The questions to the sidecar in its own suite; every cell by Cerbos and OPA; every cell by these
      // three as JSON, and by them for a proxy; six tokens by the sidecar and Keystone, and again before a
      // sidecar with four.
      answersChecked: 370 + 2 * 90 + 2 * 3 * 90 + 2 * 6 + 6 + 4,
      compared: [
        ...['cerbos-cpu', 'cerbos-time', 'opa-cpu', 'opa-time'],
        ...['json-cerbos-cpu', 'json-cerbos-time', 'json-opa-cpu', 'json-opa-time'],
        ...['authorize-cerbos-cpu', 'authorize-cerbos-time', 'authorize-opa-cpu', 'authorize-opa-time'],
        ...['keystone-cpu', 'keystone-time', 'keystone-check-cpu', 'keystone-check-time'],
      ],
      alone: [],
      timed: [
        'cerbos-time',
        'opa-time',
        'json-cerbos-time',
        'json-opa-time',
        'authorize-cerbos-time',
        'authorize-opa-time',
        'keystone-time',
        'keystone-check-time',
      ],
    },
  ],
])

/**
 * Runs the suite and checks its rows.
 *
 * @returns the rows that were skipped, because they need missing software
 */
export async function runAtSmokeSize({ name, run }: Suite): Promise<readonly Skipped[]> {
  const report = await run('smoke')
  const { rows, skipped = [], answersChecked } = report
  const expected = EXPECTED.get(name)
  const skippedRows = skipped.map(({ row }) => row)
  const produced = (list: readonly string[] = []) => list.filter((row) => !skippedRows.includes(row))
  if (skipped.length === 0) expect(answersChecked).toBe(expected?.answersChecked)
  expect(rows.filter((row) => row.ratio).map((row) => row.id)).toEqual(produced(expected?.compared))
  expect(rows.filter((row) => !row.ratio).map((row) => row.id)).toEqual(produced(expected?.alone))
  expect(rows.filter(({ a }) => a.latency).map((row) => row.id)).toEqual(produced(expected?.timed))
  for (const { a, b, method } of rows) {
    expect(a.value).toBeGreaterThanOrEqual(0)
    expect(b?.value ?? 1).toBeGreaterThan(0)
    expect(method).not.toBe('')
    for (const { latency } of b === undefined ? [a] : [a, b]) {
      if (latency === undefined) continue
      expect(latency.p50Microseconds).toBeGreaterThan(0)
      expect(latency.p99Microseconds).toBeGreaterThanOrEqual(latency.p50Microseconds)
      expect(latency.calls).toBeGreaterThan(0)
    }
  }
  for (const { why } of skipped) expect(why).not.toBe('')
  expect(unmeasured(name, report)).toEqual([])
  expect(reportText(name, report, 'smoke')).toContain(`${name}: ${answersChecked} answers checked`)

  for (const row of rows.filter(({ id }) => id.endsWith('-allocation'))) {
    if (row.id === 'copy-allocation') expect(row.a.value).toBeGreaterThan(8)
    else expect(row.a.value, row.id).toBeLessThan(0.01)
  }
  return skipped
}
