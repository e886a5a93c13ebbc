/** Laws of every decision, whatever is asked and by any client. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CREDENTIAL_REASONS,
  type CredentialReason,
  compile,
  type Engine,
  type Question,
  REASONS,
} from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import {
  hostileMakers,
  INHERITED_NAMES,
  type Maker,
  makerOf,
  makersOfAnything,
  makersOfRecords,
  throwingGetters,
} from '../support/inputs/hostile-values.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { matricesWithQuestions, questions } from '../support/matrices/generated-matrices.ts'
import { cells, printedApis, printedKinds, scopeFor } from '../support/matrices/oracle.ts'

const MODES: readonly [mode: string, engine: Engine][] = [
  ['default', engine],
  ['strict', strictEngine],
]

/** Makers of any of these values, or of any value whatever. */
const wild = (...values: readonly unknown[]): fc.Arbitrary<Maker> =>
  fc.oneof(fc.constantFrom(...values.map(makerOf)), makersOfAnything)

const wildScopes = fc.oneof(
  wild(...printedKinds().map(scopeFor)),
  makersOfRecords({ account: wild('123456'), project: wild('alpha', undefined) }),
)

/** Any part of a question may be any value while the rest is real, so that faults deep inside are reached. */
const wildQuestions: fc.Arbitrary<Maker> = fc.oneof(
  makersOfAnything,
  makersOfRecords({
    api: wild(...printedApis()),
    kind: wild(...printedKinds()),
    scope: wildScopes,
    target: wildScopes,
    holder: wild('control_panel_user'),
  }),
)

describe.each(MODES)('in %s mode', (_mode, asked) => {
  const known = new Set(asked.decisions())

  test('any input whatever gets one of the decisions that the engine lists', () => {
    fc.assert(
      fc.property(wildQuestions, (make) => known.has(asked.decide(make() as Question))),
      { numRuns: 1_000 },
    )
  })

  test('any api, reason, kind and holder whatever get one of the denials that the engine lists', () => {
    fc.assert(
      fc.property(
        fc.tuple(
          wild(...printedApis()),
          wild(...REASONS),
          wild(...printedKinds()),
          wild('control_panel_user'),
        ),
        (makers) => {
          const [api, reason, kind, holder] = makers.map((make) => make() as string)
          const denial = asked.deny(api as string, reason as CredentialReason, kind, holder)
          return known.has(denial) && !denial.allowed
        },
      ),
      { numRuns: 500 },
    )
  })

  test('the same question gets the same object', () => {
    fc.assert(
      fc.property(questions(supportMatrix), (question) => {
        expect(asked.decide(structuredClone(question))).toBe(asked.decide(question))
      }),
      { numRuns: 500 },
    )
  })

  test('no question is allowed that the source’s table does not allow, whatever the scope and the target', () => {
    fc.assert(
      fc.property(wildQuestions, questions(supportMatrix), (make, plausible) => {
        for (const question of [make() as Question, plausible])
          if (asked.decide(question).allowed) expect(opening).toContain(`${question.api} ${question.kind}`)
      }),
      { numRuns: 1_000 },
    )
  })

  test('the engine lists each decision once, and none that no question gets', () => {
    expect(known.size).toBe([...asked.decisions()].length)
    for (const decision of everyAnswer(asked)) known.delete(decision)
    expect([...known]).toEqual([])
  })

  test('every decision is frozen, to the last member', () => {
    for (const decision of asked.decisions()) expect(unfrozenMembers(decision)).toEqual([])
  })

  test('allowed and the reason ALLOWED are the same thing', () => {
    for (const { allowed, reason } of asked.decisions()) expect(allowed).toBe(reason === 'ALLOWED')
  })
})

test.each(INHERITED_NAMES)('the inherited name %s is neither an API nor a kind', (name) => {
  const scope = { account: '123456' }
  expect(engine.decide({ api: name, kind: 'static_token', scope }).reason).toBe('UNKNOWN_API')
  expect(engine.decide({ api: 'tickets', kind: name, scope }).reason).toBe('UNKNOWN_TOKEN_KIND')
  expect(engine.deny(name, 'CREDENTIAL_MISSING').reason).toBe('UNKNOWN_API')
})

test('an id that is not in the matrix is denied, however near it comes', () => {
  const near = (id: string) => [
    ` ${id}`,
    `${id} `,
    `${id}\0`,
    id.toUpperCase(),
    id.slice(1),
    `${id}${id}`,
    [id],
  ]
  for (const { api, kind } of cells()) {
    const scope = scopeFor(kind)
    for (const id of near(api))
      expect(engine.decide({ api: id as string, kind, scope }).reason).toBe('UNKNOWN_API')
    for (const id of near(kind))
      expect(engine.decide({ api, kind: id as string, scope }).reason).toBe('UNKNOWN_TOKEN_KIND')
  }
})

test('a question that cannot be read is denied', () => {
  const hostile = throwingGetters('api', 'kind', 'scope') as Question
  expect(engine.decide(hostile)).toMatchObject({ allowed: false, reason: 'UNKNOWN_API' })
  fc.assert(fc.property(hostileMakers, (make) => !engine.decide(make() as Question).allowed))
})

test('the order of the rows bears on no answer', () => {
  fc.assert(
    fc.property(
      matricesWithQuestions.chain((drawn) =>
        fc.record({
          drawn: fc.constant(drawn),
          tokenKinds: permuted(drawn.matrix.tokenKinds),
          apis: permuted(drawn.matrix.apis),
          conflicts: permuted(drawn.matrix.conflicts),
        }),
      ),
      fc.boolean(),
      ({ drawn: { matrix, asked }, tokenKinds, apis, conflicts }, strict) => {
        const one = compile(matrix, { strict })
        const other = compile({ ...matrix, tokenKinds, apis, conflicts }, { strict })
        for (const question of asked) {
          const { allowed, reason } = one.decide(question)
          expect(other.decide(question)).toMatchObject({ allowed, reason })
        }
      },
    ),
  )
})

const opening = new Set(
  cells()
    .filter((cell) => cell.accepted)
    .map(({ api, kind }) => `${api} ${kind}`),
)

const permuted = <T>(rows: readonly T[]): fc.Arbitrary<T[]> =>
  fc.shuffledSubarray([...rows], { minLength: rows.length, maxLength: rows.length })

/** The answers to a question of each sort, for every API and kind. */
function* everyAnswer(asked: Engine) {
  const scopes = [{ account: '' }, { account: '123456' }, { account: '123456', project: 'alpha' }]
  const targets = [undefined, { account: '654321' }, { account: '123456', project: 'beta' }]
  for (const api of [...asked.apis.keys(), 'no-such-api'])
    for (const kind of [...asked.tokenKinds.keys(), 'no_such_kind'])
      for (const scope of scopes)
        for (const target of targets)
          for (const holder of [undefined, 'control_panel_user'])
            yield asked.decide({ api, kind, scope, target, holder })
  for (const api of asked.apis.keys())
    for (const reason of CREDENTIAL_REASONS) {
      yield asked.deny(api, reason)
      for (const kind of asked.tokenKinds.keys()) yield asked.deny(api, reason, kind, 'control_panel_user')
    }
}

/** Paths of the members that could be changed. */
function unfrozenMembers(value: unknown, path = 'decision'): string[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.entries(value).flatMap(([name, member]) => unfrozenMembers(member, `${path}.${name}`))
  return Object.isFrozen(value) ? inside : [path, ...inside]
}
