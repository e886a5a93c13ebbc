/**
 * The written bounds. A row that has one is judged by it; `npm run bench -- --gate` fails where a row is over. A machine
 * that others use too scatters ratios, so a row is over where nine pairs in ten are beyond the bound: on a quiet machine
 * hardly more lenient than the median, and on a busy one no alarm about what may be its doing.
 */
import type { Row, SuiteReport } from './suite.ts'

export interface Gate {
  readonly suite: string
  /** Id of the row. */
  readonly row: string
  /** What is judged: the ratio, or the figure of A itself. */
  readonly of: 'ratio' | 'figure'
  /** Largest value that passes. */
  readonly bound: number
  /** Why this and not another number. */
  readonly because: string
}

export const gates: readonly Gate[] = [
  {
    suite: 'engine',
    row: 'decide',
    of: 'ratio',
    bound: 3,
    because:
      'two look-ups are the least that a table of APIs and kinds can cost; judging the scope may cost twice as much again',
  },
  {
    suite: 'engine',
    row: 'decide-at',
    of: 'ratio',
    bound: 1.15,
    because:
      'the aim is 1: with the cell at hand only the scope is left to judge; the rest is for the noise of six nanoseconds',
  },
  ...['decide-allocation', 'decide-with-target-allocation', 'decide-at-allocation'].map(
    (row): Gate => ({
      suite: 'engine',
      row,
      of: 'figure',
      // What the readings themselves allocate, spread over the calls, is far below this; one object is 12 bytes.
      bound: 0.01,
      because: 'every answer is built beforehand: `decide` allocates nothing (engine/decide.ts)',
    }),
  ),
  {
    suite: 'sidecar',
    row: 'check-claims',
    of: 'ratio',
    bound: 1.3,
    because:
      'grpc-js with a constant for an answer is the floor of a unary call; the aim is that reading the question and deciding add a fifth, and the rest is room for a busy machine',
  },
  {
    suite: 'sidecar',
    row: 'check-iam-token',
    of: 'ratio',
    bound: 1.5,
    because:
      'the aim is 1.35: a digest of the token, a look-up and the look at whether another process has changed the directory; the rest is room for a busy machine',
  },
  {
    suite: 'sidecar',
    row: 'check-iam-token-claims',
    of: 'ratio',
    bound: 1.4,
    because: 'the aim is 1.25, by the same calls and look-ups; the rest is room for a busy machine',
  },
  {
    suite: 'sidecar',
    row: 'check-batch',
    of: 'ratio',
    bound: 0.06,
    because:
      'the aim is 0.04, twenty-five times the decisions of unary calls for the same processor time; the rest is room for a busy machine',
  },
  {
    suite: 'tokens',
    row: 'unseen-token',
    of: 'ratio',
    bound: 1.5,
    because:
      'the aim is 1; reading the claims, asking the directory about them and remembering both take a fifth beside the signature, and the rest is room for a busy machine',
  },
  ...['issue', 'issue-http'].map(
    (row): Gate => ({
      suite: 'issue',
      row,
      of: 'ratio',
      bound: 1.4,
      because:
        'the aim is 1: argon2id alone bounds how many logins there are a second; the driver, which has no processor of its own, takes a tenth, and the rest is room for a busy machine',
    }),
  ),
  ...['issue-cpu', 'issue-http-cpu'].map(
    (row): Gate => ({
      suite: 'issue',
      row,
      of: 'ratio',
      bound: 1.2,
      because: 'what a login takes beside argon2id is a twentieth of it; the rest is room for a busy machine',
    }),
  ),
  {
    suite: 'growth',
    row: 'slowdown-apis',
    of: 'ratio',
    bound: 1.3,
    because:
      'a decision may miss the cache a little more often than the Maps that it is made of, and no more',
  },
  {
    suite: 'growth',
    row: 'slowdown-kinds',
    of: 'ratio',
    bound: 1.3,
    because: 'as with APIs',
  },
  {
    suite: 'growth',
    row: 'memory',
    of: 'figure',
    bound: 600,
    because:
      'a token that is remembered takes more than two thousand bytes: what grows by far less forgets as it should',
  },
  {
    suite: 'start',
    row: 'ready',
    of: 'ratio',
    bound: 4,
    because:
      'the aim is 350 ms where a bare server takes 100, and the rest is room for a busy machine; HTTP, SQLite, identity and the log are that much more to load and to compile than grpc-js',
  },
  {
    suite: 'start',
    row: 'idle-memory',
    of: 'ratio',
    bound: 1.6,
    because: 'HTTP, SQLite, identity and the log on top of gRPC may add three fifths of a bare server',
  },
  {
    suite: 'workers',
    row: 'claims-cpu',
    of: 'ratio',
    bound: 1.25,
    because:
      'the primary is on the way of no call; two event loops each find fewer events at once, which may cost a quarter',
  },
  {
    suite: 'peers',
    row: 'casl',
    of: 'ratio',
    bound: 0.45,
    because:
      'the aim is a third; two look-ups by name and nothing else take a quarter of CASL’s time, and the scope, which CASL is not asked about, is judged on top',
  },
  ...['casbin', 'cedar'].map(
    (row): Gate => ({
      suite: 'peers',
      row,
      of: 'ratio',
      bound: 0.003334,
      because:
        'an answer that is built beforehand takes a three-hundredth of the time of expressions that are evaluated',
    }),
  ),
  {
    suite: 'servers',
    row: 'cerbos-cpu',
    of: 'ratio',
    bound: 0.45,
    because: 'a call of a sidecar is paid for by the service beside it: less than half of what Cerbos takes',
  },
  {
    suite: 'servers',
    row: 'cerbos-time',
    of: 'ratio',
    bound: 0.7,
    because:
      'the aim is 0.556, 1.8 times the calls a second of Cerbos under the same driver on the same processors; it is the clock, of which a busy machine takes its part from both alike, and the rest is room for that',
  },
]

/** `unclear`: the median is beyond the bound, but not nine pairs in ten. */
export type Verdict = 'ok' | 'unclear' | 'over' | 'not gated'

export function gateOf(suite: string, row: Row, list: readonly Gate[] = gates): Gate | undefined {
  return list.find((gate) => gate.suite === suite && gate.row === row.id)
}

export function verdictOf(gate: Gate | undefined, row: Row): Verdict {
  if (gate === undefined) return 'not gated'
  // A figure that is missing or no number does not pass.
  const passes = (value: number | undefined) => value !== undefined && value <= gate.bound
  if (gate.of === 'figure') return passes(row.a.value) ? 'ok' : 'over'
  if (passes(row.ratio?.median)) return 'ok'
  return passes(row.ratio?.p10) ? 'unclear' : 'over'
}

/**
 * Rows that a gate speaks of and the suite neither produced nor skipped for a stated reason: a bound that nothing
 * enforces.
 */
export function unmeasured(suite: string, { rows, skipped = [] }: SuiteReport): string[] {
  const accounted = new Set([...rows.map(({ id }) => id), ...skipped.map(({ row }) => row)])
  return gates.filter((gate) => gate.suite === suite && !accounted.has(gate.row)).map((gate) => gate.row)
}
