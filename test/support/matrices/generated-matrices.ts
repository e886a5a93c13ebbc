/**
 * Generated matrices and questions for the laws: small, consistent, and with every part that the rules look
 * at.
 */
import * as fc from 'fast-check'
import type { Claim, Conflict, Matrix, Question, Scope, Statement, TokenKind } from '../../../engine/index.ts'
import { scopeFor } from './oracle.ts'

const HOLDERS = ['service_user', 'control_panel_user', 'robot']

/** Matrices of 1 to `kindsMax` kinds and 1 to `apisMax` APIs, with any cells, conflicts and advice. */
export function matrices(kindsMax = 4, apisMax = 6): fc.Arbitrary<Matrix> {
  return fc
    .record({
      kindCount: fc.integer({ min: 1, max: kindsMax }),
      apiCount: fc.integer({ min: 1, max: apisMax }),
    })
    .chain(({ kindCount, apiCount }) => {
      const kindIds = numbered('kind', kindCount)
      const apiIds = numbered('api', apiCount)
      return fc
        .record({
          tokenKinds: fc.tuple(...kindIds.map(tokenKindOf)),
          accepts: fc.tuple(...apiIds.map(() => fc.subarray(kindIds))),
          contested: fc.subarray(apiIds.flatMap((api) => kindIds.map((kind) => ({ api, kind })))),
          resolution: fc.constantFrom<Conflict['resolution']>('table', 'prose'),
          advised: fc.array(fc.record({ kinds: fc.subarray(kindIds), holder: fc.constantFrom(...HOLDERS) }), {
            maxLength: 3,
          }),
        })
        .map(({ tokenKinds, accepts, contested, resolution, advised }) => ({
          title: 'a generated matrix',
          tokenKinds: withOneOfTheControlPanel(tokenKinds),
          apis: apiIds.map((id, index) => ({
            id,
            title: `the API ${id}`,
            accepts: accepts[index] ?? [],
            section: '§1',
          })),
          statements: advised.map(
            ({ kinds, holder }, index): Statement => ({
              id: `advice-${index}`,
              section: '§2',
              text: 'advice',
              claim: { type: 'advice', kinds, holder, text: `advice number ${index}` },
            }),
          ),
          conflicts: contested.map(
            (cell, index): Conflict => ({
              id: `conflict-${index}`,
              type: 'contradiction',
              cells: [cell],
              apis: [],
              kinds: [],
              statements: [],
              // Resolutions alternate from a generated start, so that one matrix has both.
              resolution: (index % 2 === 0) === (resolution === 'table') ? 'table' : 'prose',
              reason: 'generated',
            }),
          ),
        }))
    })
}

/** Ids with every mark that an id may have. */
const numbered = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${word}${MARKS[index % MARKS.length]}${index + 1}`)

const MARKS = ['-', '.', ':', '/', '_']

/** A second one would be refused. */
function withOneOfTheControlPanel(kinds: readonly TokenKind[]): TokenKind[] {
  const first = kinds.find(({ obtained }) => obtained.by === 'control_panel')
  return kinds.map((kind) => (kind === first ? kind : { ...kind, obtained: { by: 'issue' } }))
}

function tokenKindOf(id: string): fc.Arbitrary<TokenKind> {
  return fc.record({
    id: fc.constant(id),
    title: fc.constant(`token of ${id}`),
    family: fc.constantFrom('one', 'other'),
    scopeLevel: fc.constantFrom('account', 'project'),
    header: fc.constantFrom('X-One', 'X-Other'),
    issuedTo: fc.constantFrom(...HOLDERS),
    obtained: fc.record({ by: fc.constantFrom('issue', 'control_panel') }),
    permissionScopes: fc.constant([]),
    lifetimeSeconds: fc.constant(null),
    section: fc.constant('§1'),
  })
}

/** Few names, so that scopes and targets often meet; the empty ones are faults. */
const accounts = fc.constantFrom('123456', '123456', '123456', '654321', '')
const projects = fc.constantFrom('alpha', 'alpha', 'alpha', 'beta', '', undefined, undefined)
const scopes: fc.Arbitrary<Scope> = fc.record({ account: accounts, project: projects })

const targets: fc.Arbitrary<Scope | undefined> = fc.option(
  fc.record({
    account: fc.constantFrom('123456', '123456', '654321'),
    project: fc.constantFrom('alpha', 'beta', undefined),
  }),
  { nil: undefined },
)

/** Questions about a matrix: mostly about its own ids, with scopes that mostly fit. */
export function questions({ apis, tokenKinds }: Pick<Matrix, 'apis' | 'tokenKinds'>): fc.Arbitrary<Question> {
  const kindIds = tokenKinds.map((kind) => kind.id)
  return fc.record({
    api: fc.constantFrom(...apis.map((api) => api.id), 'no-such-api'),
    kind: fc.constantFrom(...kindIds, 'no_such_kind'),
    scope: fc.oneof(
      scopes,
      fc.constantFrom<Scope>({ account: '123456' }, { account: '123456', project: 'alpha' }),
      fc.constantFrom(...kindIds).map(scopeFor),
    ),
    target: targets,
    holder: fc.constantFrom(...HOLDERS, undefined),
  })
}

/** A matrix and some questions about it. */
export const matricesWithQuestions: fc.Arbitrary<{ matrix: Matrix; asked: Question[] }> = matrices().chain(
  (matrix) =>
    fc.record({
      matrix: fc.constant(matrix),
      asked: fc.array(questions(matrix), { minLength: 20, maxLength: 40 }),
    }),
)

/** Matrices whose statements make claims of every type that a row can contradict. */
export const matricesWithClaims: fc.Arbitrary<Matrix> = matrices().chain((matrix) => {
  const kindIds = matrix.tokenKinds.map(({ id }) => id)
  const kind = fc.constantFrom(...kindIds)
  const apis = fc.subarray(matrix.apis.map(({ id }) => id))
  const holder = fc.constantFrom('service_user', 'robot')
  const claims: fc.Arbitrary<Claim> = fc.oneof(
    fc.record({ type: fc.constant('manages'), kind, apis, complete: fc.boolean() }),
    fc.record({ type: fc.constantFrom('does_not_manage', 'only_option'), kind, apis }),
    fc.record({ type: fc.constant('most'), kind }),
    fc.record({ type: fc.constant('bound_to'), kind, scopeLevel: fc.constantFrom('account', 'project') }),
    fc.record({
      type: fc.constant('issued_to'),
      kinds: fc.subarray(kindIds),
      holder,
      exclusive: fc.boolean(),
    }),
    fc.record({
      type: fc.constant('row_repeated'),
      api: fc.constantFrom(...matrix.apis.map(({ id }) => id)),
      accepts: fc.subarray(kindIds),
    }),
  )
  return fc.array(claims, { maxLength: 8 }).map((drawn) => ({ ...matrix, statements: statementsOf(drawn) }))
})

/** A statement for each claim. */
export function statementsOf(claims: readonly Claim[]): Matrix['statements'] {
  return claims.map((claim, index) => ({ id: `statement-${index}`, section: '§3', text: 'words', claim }))
}
