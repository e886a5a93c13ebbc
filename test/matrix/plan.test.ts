/** The planner: the smallest set of tokens that opens what a job calls, held to a search of every set. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CompiledKind, compile, type Engine, type Matrix, type TokenKind } from '../../engine/index.ts'
import { contestedCells, planTokens, preferredKinds } from '../../matrix/plan.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { matrices } from '../support/matrices/generated-matrices.ts'
import { printedApis } from '../support/matrices/oracle.ts'

interface Row {
  readonly claim: string
  readonly mode?: Engine
  readonly apis: readonly string[]
  /** Kind and APIs of each token. */
  readonly tokens: readonly (readonly [kind: string, apis: readonly string[]])[]
  readonly unopened?: readonly string[]
  readonly unknown?: readonly string[]
}

test.each<Row>([
  { claim: 'one API needs the one kind that opens it', apis: ['iam'], tokens: [[ACCOUNT_KIND, ['iam']]] },
  {
    claim: 'one kind that opens all is enough',
    apis: ['iam', 'balance', 'global-router'],
    tokens: [[ACCOUNT_KIND, ['iam', 'balance', 'global-router']]],
  },
  {
    claim: 'a project-scoped token is preferred where both IAM tokens open',
    apis: ['dedicated-servers'],
    tokens: [[PROJECT_KIND, ['dedicated-servers']]],
  },
  {
    claim: 'a token that can be issued is preferred to a static one',
    apis: ['balance', 'dns-hosting-legacy'],
    tokens: [[ACCOUNT_KIND, ['balance', 'dns-hosting-legacy']]],
  },
  {
    claim: 'a static token is planned where nothing else opens',
    apis: ['tickets', 'reports'],
    tokens: [[STATIC_KIND, ['tickets', 'reports']]],
  },
  {
    claim: 'a static token that is needed anyway makes no other token needless',
    apis: ['tickets', 'iam'],
    tokens: [
      [ACCOUNT_KIND, ['iam']],
      [STATIC_KIND, ['tickets']],
    ],
  },
  {
    claim: 'a static token that is needed anyway is used for the rest',
    apis: ['tickets', 'balance'],
    tokens: [[STATIC_KIND, ['tickets', 'balance']]],
  },
  {
    claim: 'a mixture needs all three, and each API goes to one token',
    apis: ['iam', 'secrets', 'tickets', 'mobile-farm', 'balance'],
    tokens: [
      // The source contradicts itself about mobile-farm and project-scoped tokens.
      [ACCOUNT_KIND, ['iam', 'mobile-farm', 'balance']],
      [PROJECT_KIND, ['secrets']],
      [STATIC_KIND, ['tickets']],
    ],
  },
  {
    claim: 'an API that is asked for twice is planned once',
    apis: ['iam', 'iam'],
    tokens: [[ACCOUNT_KIND, ['iam']]],
  },
  { claim: 'nothing asked needs nothing', apis: [], tokens: [] },
  {
    claim: 'ids that are not in the matrix are listed',
    apis: ['no-such-api', 'iam', 'constructor'],
    tokens: [[ACCOUNT_KIND, ['iam']]],
    unknown: ['no-such-api', 'constructor'],
  },
  {
    claim: 'in strict mode what only a contested cell opens is listed',
    mode: strictEngine,
    apis: ['cdn', 'audit-logs', 'secrets'],
    tokens: [[PROJECT_KIND, ['secrets']]],
    unopened: ['cdn', 'audit-logs'],
  },
  {
    claim: 'in strict mode a contested cell opens nothing',
    mode: strictEngine,
    apis: ['mobile-farm'],
    tokens: [[ACCOUNT_KIND, ['mobile-farm']]],
  },
  {
    claim: 'where nothing opens, no token is planned',
    mode: strictEngine,
    apis: ['cdn', 'nothing'],
    tokens: [],
    unopened: ['cdn'],
    unknown: ['nothing'],
  },
])('$claim', ({ mode = engine, apis, tokens, unopened = [], unknown = [] }) => {
  const plan = planTokens(mode, apis)
  expect(plan.tokens.map((token) => [token.kind.id, token.apis])).toEqual(tokens)
  expect(plan).toMatchObject({ unopened, unknown })
  for (const { kind } of plan.tokens) expect(kind).toBe(mode.tokenKinds.get(kind.id))
})

test('all thirty APIs need all three kinds of token', () => {
  const { tokens, unopened } = planTokens(engine, printedApis())
  expect(tokens.map(({ kind }) => kind.id)).toEqual([ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND])
  expect(unopened).toEqual([])
})

test('the plan has the set of two with one size that has more kinds that can be issued', () => {
  // `bound` is the best kind, but its only companion for all three doors is the static one.
  const matrix = houseOf(
    [
      ['bound', 'issue', 'project'],
      ['left', 'issue', 'account'],
      ['right', 'issue', 'account'],
      ['static', 'control_panel', 'account'],
    ],
    [
      ['first', ['bound', 'left']],
      ['second', ['right', 'static']],
      ['third', ['left', 'static']],
    ],
  )
  const { tokens } = planTokens(compile(matrix), ['first', 'second', 'third'])
  expect(tokens.map(({ kind, apis }) => [kind.id, apis])).toEqual([
    ['left', ['first', 'third']],
    ['right', ['second']],
  ])
})

test('kinds that are needed anyway are not searched for', () => {
  const ids = Array.from({ length: 14 }, (_, index) => `k${index}`)
  const { apis, tokenKinds } = compile(
    houseOf(
      ids.map((id) => [id, 'issue', 'account']),
      ids.map((id) => [`for-${id}`, [id]]),
    ),
  )
  let looks = 0
  const counted = [...tokenKinds].map(([id, kind]): [string, CompiledKind] => [
    id,
    new Proxy(kind, {
      get: (target, field, receiver) => {
        looks++
        return Reflect.get(target, field, receiver)
      },
    }),
  ])
  const { tokens } = planTokens({ apis, tokenKinds: new Map(counted) }, [...apis.keys()])
  expect(tokens.map(({ apis }) => apis)).toEqual(ids.map((id) => [`for-${id}`]))
  // A search would look at each of 2¹⁴ sets.
  expect(looks).toBeLessThan(2 ** 14)
})

test('kinds that a call can obtain are preferred, then few contested cells, then a project, then the first', () => {
  const { tokenKinds } = houseOf(
    [
      ['static', 'control_panel', 'project'],
      ['doubtful', 'issue', 'project'],
      ['wide', 'issue', 'account'],
      ['narrow', 'issue', 'project'],
      ['other', 'issue', 'account'],
    ],
    [],
  )
  const ids = (kinds: readonly TokenKind[]) => kinds.map(({ id }) => id)
  expect(ids(preferredKinds(tokenKinds))).toEqual(['doubtful', 'narrow', 'wide', 'other', 'static'])
  const contested = ({ id }: TokenKind) => (id === 'doubtful' ? 2 : id === 'static' ? 0 : 1)
  expect(ids(preferredKinds(tokenKinds, contested))).toEqual([
    'narrow',
    'wide',
    'other',
    'doubtful',
    'static',
  ])
})

test('the contested cells of a kind are counted', () => {
  const kind = engine.tokenKinds.get(PROJECT_KIND) as TokenKind
  expect(contestedCells(engine, kind, ['cdn', 'mobile-farm', 'iam', 'nothing'])).toBe(2)
  expect(contestedCells(engine, kind, [])).toBe(0)
})

const asked: fc.Arbitrary<{ matrix: Matrix; apis: string[] }> = matrices(6, 8).chain((matrix) =>
  fc.record({
    matrix: fc.constant(matrix),
    apis: fc.array(fc.constantFrom(...matrix.apis.map((api) => api.id), 'no-such-api'), { maxLength: 8 }),
  }),
)

test('each API that was asked for is given to one token of any matrix that opens it, or listed', () => {
  fc.assert(
    fc.property(asked, fc.boolean(), ({ matrix, apis }, strict) => {
      const compiled = compile(matrix, { strict })
      const plan = planTokens(compiled, apis)
      for (const { kind, apis: given } of plan.tokens) {
        expect(given).not.toHaveLength(0)
        for (const api of given) expect(opens(compiled, kind.id, api)).toBe(true)
      }
      const placed = [...plan.tokens.flatMap((token) => token.apis), ...plan.unopened, ...plan.unknown]
      expect(placed.sort()).toEqual([...new Set(apis)].sort())
      for (const api of plan.unopened)
        expect([...compiled.tokenKinds.keys()].filter((kind) => opens(compiled, kind, api))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('no smaller set of kinds of any matrix would do, and none of that size has more kinds that can be issued, then fewer contested cells, nor then more bound to a project', () => {
  fc.assert(
    fc.property(asked, ({ matrix, apis }) => {
      const compiled = compile(matrix)
      const kinds = planTokens(compiled, apis).tokens.map((token) => token.kind)
      expect(meritsOf(compiled, apis, kinds)).toEqual(bestOf(compiled, apis))
    }),
    { numRuns: 300 },
  )
})

/** A matrix of these kinds and APIs, without statements and conflicts. */
function houseOf(
  kinds: readonly (readonly [id: string, by: 'issue' | 'control_panel', scopeLevel: 'account' | 'project'])[],
  doors: readonly (readonly [id: string, accepts: readonly string[]])[],
): Matrix {
  return {
    title: 'a house',
    tokenKinds: kinds.map(([id, by, scopeLevel]) => ({
      id,
      title: id,
      family: 'family',
      scopeLevel,
      header: 'X-Key',
      issuedTo: 'guest',
      obtained: { by },
      permissionScopes: [],
      lifetimeSeconds: null,
      section: '§1',
    })),
    apis: doors.map(([id, accepts]) => ({ id, title: id, accepts, section: '§1' })),
    statements: [],
    conflicts: [],
  }
}

interface Merits {
  readonly size: number
  readonly issuable: number
  /** APIs that only a contested cell opens, of the kinds that can be issued if there is one. */
  readonly contested: number
  readonly projectBound: number
}

/**
 * The merits of the best of all sets of kinds that open what can be opened, as the planner's contract ranks
 * them.
 */
function bestOf(compiled: Engine, apis: readonly string[]): Merits {
  const kinds = [...compiled.tokenKinds.values()]
  const openable = apis.filter((api) => kinds.some((kind) => opens(compiled, kind.id, api)))
  const sets = Array.from({ length: 2 ** kinds.length }, (_, bits) =>
    kinds.filter((_kind, index) => (bits >> index) & 1),
  )
  const covering = sets.filter((set) =>
    openable.every((api) => set.some((kind) => opens(compiled, kind.id, api))),
  )
  const [best] = covering
    .map((set) => meritsOf(compiled, apis, set))
    .sort(
      (a, b) =>
        a.size - b.size ||
        b.issuable - a.issuable ||
        a.contested - b.contested ||
        b.projectBound - a.projectBound,
    )
  if (best === undefined) throw new Error('the set of all kinds opens what can be opened')
  return best
}

function meritsOf(compiled: Engine, apis: readonly string[], kinds: readonly TokenKind[]): Merits {
  const contested = [...new Set(apis)].filter((api) => {
    const openers = kinds.filter((kind) => opens(compiled, kind.id, api))
    const issued = openers.filter((kind) => kind.obtained.by === 'issue')
    const used = issued.length > 0 ? issued : openers
    return used.length > 0 && used.every((kind) => compiled.apis.get(api)?.contested.includes(kind.id))
  })
  return {
    size: kinds.length,
    issuable: kinds.filter((kind) => kind.obtained.by === 'issue').length,
    contested: contested.length,
    projectBound: kinds.filter((kind) => kind.scopeLevel === 'project').length,
  }
}

/** Asked of the decision itself, so that the plan is held to what the engine will say. */
function opens(compiled: Engine, kind: string, api: string): boolean {
  const bound = compiled.tokenKinds.get(kind)?.scopeLevel === 'project'
  const scope = bound ? { account: '123456', project: 'alpha' } : { account: '123456' }
  return compiled.decide({ api, kind, scope }).allowed
}
