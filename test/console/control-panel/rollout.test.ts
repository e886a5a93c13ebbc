/**
 * The page of the matrix in force, without a browser: the changes that a shadow would make, the way back, and
 * the commands that do the same.
 */
import { expect, test } from 'vitest'
import { GetMatrixRolloutResponse, MatrixShadow } from '../../../console/gen/portcullis/v1/directory.ts'
import type { ApiError } from '../../../console/panel/model/errors.ts'
import { Matrices } from '../../../console/panel/model/matrices.ts'
import {
  confirmsNumber,
  openingOf,
  promoteCommand,
  rollBackCommand,
  rolloutOf,
  shortOf,
} from '../../../console/panel/model/rollout.ts'
import { finish, type TokenKind } from '../../../engine/index.ts'
import { compareMatrices, supportMatrix } from '../../../matrix/index.ts'
import { OTHER_CELLS } from '../../support/matrices/shadow-matrices.ts'

type Given = Partial<GetMatrixRolloutResponse>

const answer = (given: Given) => ({
  ...GetMatrixRolloutResponse.fromJSON({ digest: 'sha256:a', configuredDigest: 'sha256:a' }),
  ...given,
})

const version = (digest: string, action = 'promoted') => ({
  ...{ digest, action, actor: 'caller root', reason: `why ${digest}`, putInForceAt: new Date(1_500) },
})

test.each<[claim: string, given: Given, by: string | undefined, behind: boolean, earlier: readonly string[]]>(
  [
    ['none is promoted', {}, undefined, false, []],
    [
      'one is promoted',
      {
        digest: 'sha256:b',
        promoted: true,
        versions: [version('sha256:b'), version('sha256:a', 'replaced')],
      },
      'why sha256:b',
      false,
      ['sha256:a'],
    ],
    [
      'those of the configurations are in force again',
      { versions: [version('', 'rolled_back'), version('sha256:b'), version('sha256:a', 'replaced')] },
      'why ',
      false,
      ['sha256:b'],
    ],
    [
      'one was in force twice',
      {
        digest: 'sha256:c',
        promoted: true,
        versions: ['sha256:c', 'sha256:b', 'sha256:c', 'sha256:a', 'sha256:b'].map((each) => version(each)),
      },
      'why sha256:c',
      false,
      ['sha256:b', 'sha256:a'],
    ],
    [
      'this process is behind a promotion',
      { versions: [version('sha256:b')] },
      undefined,
      true,
      ['sha256:b'],
    ],
    [
      'this process is behind the way back',
      { digest: 'sha256:b', promoted: true, versions: [version('', 'rolled_back'), version('sha256:b')] },
      undefined,
      true,
      [],
    ],
  ],
)('%s', (_claim, given, by, behind, earlier) => {
  const rollout = rolloutOf(answer(given))
  expect(rollout.by?.reason).toBe(by)
  expect(rollout.behind).toBe(behind)
  expect(rollout.earlier.map(({ digest }) => digest)).toEqual(earlier)
  expect(rollout.shadow).toBeUndefined()
})

test('cells that would open come first, then those that would close, then the uncertain ones', () => {
  const row = (direction: string, api: string, count: number, more: object = {}) => ({
    ...{ api, kind: 'static_token', direction, count, ...more },
    ...{ first: new Date(1_000), last: new Date(2_500), accounts: [], otherAccounts: 0 },
  })
  const { shadow } = rolloutOf(
    answer({
      shadow: {
        ...MatrixShadow.fromJSON({ digest: 'sha256:b', compared: 1_000, beyond: 7 }),
        since: new Date(500),
        differences: [
          row('closed', 'balance', 90),
          row('unknown', 'iam', 40, { kind: '' }),
          row('of a later version', 'iam', 30),
          { ...row('opened', 'cdn', 5), accounts: [{ account: '1', count: 3 }], otherAccounts: 2 },
          row('opened', 'reports', 1),
        ],
      },
    }),
  )
  expect(shadow?.groups.map(({ direction, count }) => [direction, count])).toEqual([
    ...[
      ['opened', 6],
      ['closed', 90],
      ['unknown', 70],
    ],
  ])
  expect(shadow).toMatchObject({ sinceMs: 500, compared: 1_000, differing: 173, beyond: 7 })
  expect(shadow?.groups[0]?.rows[0]).toEqual({
    ...{ api: 'cdn', kind: 'static_token', count: 5, firstMs: 1_000, lastMs: 2_500 },
    ...{ accounts: [{ account: '1', count: 3 }], others: 2 },
  })
})

test('openings are counted separately for cells and for kinds: looser facts, and those that only change', () => {
  const [first, second, third] = supportMatrix.tokenKinds
  const other = {
    ...supportMatrix,
    tokenKinds: [
      { ...first, permissionScopes: [] },
      { ...second, lifetimeSeconds: 60 },
      { ...third, header: 'X-Key' },
    ] as TokenKind[],
  }
  expect(openingOf(compareMatrices(supportMatrix, other))).toEqual({ opened: 0, loosened: 2 })
  expect(openingOf(compareMatrices(other, supportMatrix))).toEqual({ opened: 0, loosened: 2 })
  // Of a renamed API, the cells of its new id count.
  const comparison = compareMatrices(supportMatrix, OTHER_CELLS)
  const opened = comparison.flips.filter(({ direction }) => direction === 'opened').length
  expect(comparison.renames.map(({ gained }) => gained.length)).toEqual([1])
  expect(openingOf(comparison)).toEqual({ opened: opened + 1, loosened: 0 })
})

test('a number that was shown is confirmed as people write it', () => {
  for (const typed of ['1204', ' 1,204', '1 204', '1.204']) expect(confirmsNumber(typed, 1_204)).toBe(true)
  for (const typed of ['', '120', '01204', 'all']) expect(confirmsNumber(typed, 1_204)).toBe(false)
})

test('the commands say the same, and quote what the user typed', () => {
  const nothing = { opened: 0, loosened: 0 }
  expect(promoteCommand("it's time; rm", { opened: 2, loosened: 1 })).toMatch(
    /portcullis matrix promote --reason 'it'\\''s time; rm' --max-opened 2 --max-loosened 1$/,
  )
  expect(promoteCommand(' ', nothing)).toMatch(/ matrix promote --reason '<reason>'$/)
  expect(rollBackCommand('agreed', '', nothing)).toMatch(/ matrix rollback --to-configured --reason agreed$/)
  expect(rollBackCommand('agreed', 'sha256:a', { opened: 3, loosened: 0 })).toMatch(
    / matrix rollback --to \S*sha256:a\S* --reason agreed --max-opened 3$/,
  )
  expect(rollBackCommand('agreed', '', undefined)).toMatch(/ --to-configured --reason agreed --unseen$/)
  expect(shortOf(`sha256:${'0123456789abcdef'.repeat(4)}`)).toBe('sha256:0123456789ab…')
})

test('matrices are read once, and compared as the explorer does', async () => {
  const { signal } = new AbortController()
  const read: string[] = []
  const matrices = new Matrices({
    read: async (toDigest) => {
      read.push(toDigest)
      return answer({
        matrix: JSON.stringify(supportMatrix),
        shadow: MatrixShadow.fromJSON({ digest: 'sha256:b', matrix: JSON.stringify(OTHER_CELLS) }),
        toMatrix: toDigest === 'sha256:earlier' ? JSON.stringify({ ...OTHER_CELLS, conflicts: [] }) : '',
      })
    },
    run: async (steps) => finish(steps),
  })
  const forth = await matrices.compared('sha256:a', 'sha256:b', signal)
  expect(forth.comparison).toEqual(compareMatrices(supportMatrix, OTHER_CELLS))
  const back = await matrices.compared('sha256:b', 'sha256:a', signal)
  const openedIn = ({ comparison: { flips } }: typeof back) =>
    flips.filter(({ direction }) => direction === 'opened').length
  expect(openedIn(back)).toBe(forth.comparison.flips.length - openedIn(forth))
  const earlier = await matrices.compared('sha256:a', 'sha256:earlier', signal)
  expect(earlier.comparison).toEqual(compareMatrices(supportMatrix, { ...OTHER_CELLS, conflicts: [] }))
  expect(read).toEqual(['sha256:b', 'sha256:earlier'])
  // The sidecar has another shadow by now.
  const refused = await matrices.compared('sha256:a', 'sha256:c', signal).catch((error: ApiError) => error)
  expect(refused).toMatchObject({ reason: 'MATRIX_REPLACED' })
})
