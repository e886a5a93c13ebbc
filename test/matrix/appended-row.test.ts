/**
 * A row appended to a matrix needs no more than the row, or the message has the very JSON that is to be
 * added.
 */
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Api, type Conflict, compile, type Matrix } from '../../engine/index.ts'
import { loadMatrix, MatrixError, parseMatrix, problemText } from '../../matrix/index.ts'
import { ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND } from '../support/matrices/engines.ts'
import { matricesWithClaims } from '../support/matrices/generated-matrices.ts'
import { scopeFor } from '../support/matrices/oracle.ts'

const shipped = readFileSync(new URL('../../matrix/support-matrix.json', import.meta.url), 'utf8')

/** A row as an author writes it, and the conflicts that the prose of the source then has with it. */
test.each<[what: string, accepts: string[], conflicts: string[]]>([
  ['that accepts no kind', [], []],
  ['that accepts a static token', [STATIC_KIND], [omission(STATIC_KIND, 'static-only-option')]],
  ['that accepts the project-scoped kind', [PROJECT_KIND], [omission(PROJECT_KIND, 'project-manages')]],
  ['that accepts the account-scoped kind', [ACCOUNT_KIND], [omission(ACCOUNT_KIND, 'account-manages')]],
  [
    'that accepts both IAM tokens',
    [ACCOUNT_KIND, PROJECT_KIND],
    [omission(ACCOUNT_KIND, 'account-manages'), omission(PROJECT_KIND, 'project-manages')],
  ],
  [
    'that accepts a static token and another kind',
    [ACCOUNT_KIND, STATIC_KIND],
    [omission(ACCOUNT_KIND, 'account-manages')],
  ],
])('a row %s needs the row, and the conflicts that the message has ready', (_what, accepts, conflicts) => {
  const row: Api = { id: 'video-calls', title: 'Video calls', accepts, section: '§9' }
  const file = JSON.parse(shipped) as Matrix
  const appended = { ...file, apis: [...file.apis, row] }
  const problems = problemsOf(appended)
  expect(problems).toEqual(
    conflicts.map((json) => {
      const [cell] = (JSON.parse(json) as Conflict).cells
      return `conflicts: expected a declaration with a resolution and a reason for the omission about \`video-calls\` × \`${cell?.kind}\`; add to the list: ${json}`
    }),
  )

  const pasted = { ...appended, conflicts: [...file.conflicts, ...declarationsIn(problems)] }
  expect(problemsOf(pasted)).toEqual([])
  const engine = compile(loadMatrix(JSON.stringify(pasted)))
  for (const kind of [ACCOUNT_KIND, PROJECT_KIND, STATIC_KIND])
    expect(engine.decide({ api: 'video-calls', kind, scope: scopeFor(kind) }).allowed).toBe(
      accepts.includes(kind),
    )
})

test('the declarations that the messages have ready are all that was missing of any matrix', () => {
  fc.assert(
    fc.property(matricesWithClaims, (matrix) => {
      const missing = problemsOf({ ...matrix, conflicts: [] })
      expect(problemsOf({ ...matrix, conflicts: declarationsIn(missing) })).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('a declaration that is ready does not take the id of another conflict, and fits beside a resolution for the prose', () => {
  const claims = [
    { type: 'does_not_manage', kind: 'static_token', apis: ['tickets'] },
    { type: 'manages', kind: 'static_token', apis: [], complete: true },
  ]
  const { tokenKinds, title, apis } = JSON.parse(shipped) as Matrix
  const matrix = {
    title,
    tokenKinds,
    apis: apis.filter(({ id }) => id === 'tickets'),
    statements: claims.map((claim, index) => ({ id: `s${index}`, section: '§1', text: 'words', claim })),
    conflicts: [
      {
        // The id that the linter would have given to the other conflict about the cell.
        id: 'tickets-static_token-omission',
        ...{ type: 'contradiction', cells: [{ api: 'tickets', kind: 'static_token' }] },
        ...{ apis: [], kinds: [], statements: ['s0'], resolution: 'prose', reason: 'the prose is newer' },
      },
    ],
  }
  const problems = problemsOf(matrix)
  expect(declarationsIn(problems)).toMatchObject([
    { id: 'tickets-static_token-omission-2', type: 'omission', statements: ['s1'], resolution: 'prose' },
  ])
  expect(problemsOf({ ...matrix, conflicts: [...matrix.conflicts, ...declarationsIn(problems)] })).toEqual([])
})

test.each([
  ['a'.repeat(123), 128],
  // The cut is behind the hyphen, which goes, too.
  [`${'a'.repeat(113)}-${'a'.repeat(9)}`, 127],
  [`${'a'.repeat(113)}/${'a'.repeat(9)}`, 127],
])('a declaration that is ready has an id of at most 128 characters: long-%s', (rest, length) => {
  const long = `long-${rest}`
  const file = JSON.parse(shipped) as Matrix
  const row: Api = { id: long, title: 'Long', accepts: [PROJECT_KIND], section: '§9' }
  const appended = { ...file, apis: [...file.apis, row] }
  const [declaration] = declarationsIn(problemsOf(appended))
  expect(declaration?.id).toHaveLength(length)
  expect(problemsOf({ ...appended, conflicts: [...file.conflicts, declaration] })).toEqual([])
})

function omission(kind: string, statement: string): string {
  return JSON.stringify({
    id: `video-calls-${kind}-omission`,
    type: 'omission',
    cells: [{ api: 'video-calls', kind }],
    apis: [],
    kinds: [],
    statements: [statement],
    resolution: 'table',
    reason: 'write the reason here',
  })
}

/** The problems of a file of this content. The faults must concern the conflicts alone. */
function problemsOf(content: unknown): string[] {
  const file = JSON.stringify(content)
  parseMatrix(file)
  try {
    loadMatrix(file)
    return []
  } catch (error) {
    if (!(error instanceof MatrixError)) throw error
    return error.problems.map(problemText)
  }
}

/** The JSON at the end of each message. */
function declarationsIn(problems: readonly string[]): Conflict[] {
  return problems.map((problem) => JSON.parse(problem.slice(problem.indexOf('{'))) as Conflict)
}
