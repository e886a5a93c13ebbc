/**
 * What the page of the matrix in force shows, without a browser: what a shadow would change, the way back,
 * and the commands that do the same.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { GetMatrixRolloutResponseSchema } from '../../../console/gen/portcullis/v1/directory_pb.ts'
import type { ApiError } from '../../../console/panel/model/errors.ts'
import { timestampOf } from '../../../console/panel/model/iam-records.ts'
import { Matrices } from '../../../console/panel/model/matrices.ts'
import {
  confirmsOpened,
  openedIn,
  promoteCommand,
  rollBackCommand,
  rolloutOf,
  shortOf,
} from '../../../console/panel/model/rollout.ts'
import { finish } from '../../../engine/index.ts'
import { compareMatrices, supportMatrix } from '../../../matrix/index.ts'
import { OTHER_CELLS } from '../../support/matrices/shadow-matrices.ts'

type Given = MessageInitShape<typeof GetMatrixRolloutResponseSchema>

const answer = (given: Given) =>
  create(GetMatrixRolloutResponseSchema, { digest: 'sha256:a', configuredDigest: 'sha256:a', ...given })

const version = (digest: string, action = 'promoted') => ({
  ...{ digest, action, actor: 'caller root', reason: `why ${digest}`, putInForceAt: timestampOf(1_500) },
})

test.each<[claim: string, given: Given, by: string | undefined, behind: boolean, earlier: readonly string[]]>(
  [
    ['nobody promoted one', {}, undefined, false, []],
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

test('what would open comes first, then what would close, then what cannot be said', () => {
  const row = (direction: string, api: string, count: bigint, more: object = {}) => ({
    ...{ api, kind: 'static_token', direction, count, ...more },
    ...{ first: timestampOf(1_000), last: timestampOf(2_500), accounts: [], otherAccounts: 0n },
  })
  const { shadow } = rolloutOf(
    answer({
      shadow: {
        ...{ digest: 'sha256:b', since: timestampOf(500), compared: 1_000n, beyond: 7n },
        differences: [
          row('closed', 'balance', 90n),
          row('unknown', 'iam', 40n, { kind: '' }),
          row('of a later version', 'iam', 30n),
          { ...row('opened', 'cdn', 5n), accounts: [{ account: '1', count: 3n }], otherAccounts: 2n },
          row('opened', 'reports', 1n),
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

test('the number of cells that open is confirmed as people write it', () => {
  for (const typed of ['1204', ' 1,204', '1 204', '1.204']) expect(confirmsOpened(typed, 1_204)).toBe(true)
  for (const typed of ['', '120', '01204', 'all']) expect(confirmsOpened(typed, 1_204)).toBe(false)
})

test('the commands say the same, and quote what somebody typed', () => {
  expect(promoteCommand("it's time; rm", 2)).toMatch(
    /portcullis matrix promote --reason 'it'\\''s time; rm' --max-opened 2$/,
  )
  expect(promoteCommand(' ', 0)).toMatch(/ matrix promote --reason '<reason>'$/)
  expect(rollBackCommand('agreed', '')).toMatch(/ matrix rollback --to-configured --reason agreed$/)
  expect(rollBackCommand('agreed', 'sha256:a')).toMatch(
    / matrix rollback --to \S*sha256:a\S* --reason agreed$/,
  )
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
        shadow: { digest: 'sha256:b', matrix: JSON.stringify(OTHER_CELLS) },
        toMatrix: toDigest === 'sha256:earlier' ? JSON.stringify({ ...OTHER_CELLS, conflicts: [] }) : '',
      })
    },
    run: async (steps) => finish(steps),
  })
  const forth = await matrices.compared('sha256:a', 'sha256:b', signal)
  expect(forth.comparison).toEqual(compareMatrices(supportMatrix, OTHER_CELLS))
  const back = await matrices.compared('sha256:b', 'sha256:a', signal)
  expect(openedIn(back.comparison)).toBe(forth.comparison.flips.length - openedIn(forth.comparison))
  const earlier = await matrices.compared('sha256:a', 'sha256:earlier', signal)
  expect(earlier.comparison).toEqual(compareMatrices(supportMatrix, { ...OTHER_CELLS, conflicts: [] }))
  expect(read).toEqual(['sha256:b', 'sha256:earlier'])
  // The sidecar has another shadow by now.
  const refused = await matrices.compared('sha256:a', 'sha256:c', signal).catch((error: ApiError) => error)
  expect(refused).toMatchObject({ reason: 'MATRIX_REPLACED' })
})
