/** Each code of the linter: a matrix that has it, where, and that nothing else is said. */
import { describe, expect, test } from 'vitest'
import type { Matrix } from '../../engine/index.ts'
import {
  FINDINGS,
  type FindingCode,
  findingsOf,
  lintFile,
  problemText,
  supportMatrix,
  warningsOf,
} from '../../matrix/index.ts'
import { similarIds } from '../../matrix/similar-ids.ts'
import { planted, smallMatrix } from '../support/matrices/small-matrix.ts'

const small = () => smallMatrix() as unknown as Matrix
const plant = (path: string, value: unknown) => JSON.stringify(planted(smallMatrix(), path, value))
const bare = (): Matrix => ({ ...small(), statements: [], conflicts: [] })
const withApis = (...ids: string[]) => ({
  ...bare(),
  apis: ids.map((id) => ({ id, title: id, accepts: ['day_pass', 'room_key'], section: 'x' })),
})

/** `code path`, each. */
const found = (text: string) => {
  const { problems, warnings } = lintFile(text)
  return [...problems, ...warnings].map(({ code, path }) => `${code} ${path}`)
}

const ROWS: readonly (readonly [code: FindingCode, text: string, findings: string[]])[] = [
  ['unreadable', '{', ['unreadable ']],
  ['repeated-key', '{"title": 1, "title": 2}', ['repeated-key title']],
  ['malformed', plant('title', 7), ['malformed title']],
  ['malformed', plant('apis[0].id', 'No Id'), ['malformed apis[0].id']],
  ['id-taken', JSON.stringify(withApis('cellar', 'cellar')), ['id-taken apis[1].id']],
  ['id-unknown', plant('apis[0].accepts[1]', 'nothing'), ['id-unknown apis[0].accepts[1]']],
  [
    'undeclared-conflict',
    plant('conflicts', []),
    ['undeclared-conflict conflicts', 'undeclared-conflict conflicts'],
  ],
  ['wrong-statements', plant('conflicts[0].statements', []), ['wrong-statements conflicts[0].statements']],
  [
    'dead-conflict',
    JSON.stringify({
      ...bare(),
      conflicts: small()
        .conflicts.slice(1)
        .map((each) => ({ ...each, statements: [] })),
    }),
    ['dead-conflict conflicts[0]'],
  ],
  [
    'conflict-declared-twice',
    JSON.stringify({
      ...small(),
      conflicts: [...small().conflicts, { ...small().conflicts[1], id: 'again' }],
    }),
    ['conflict-declared-twice conflicts[2]'],
  ],
  [
    'opposed-resolutions',
    JSON.stringify({
      ...small(),
      conflicts: [
        ...small().conflicts,
        { ...small().conflicts[0], id: 'other', type: 'omission', resolution: 'prose' },
      ],
    }),
    ['dead-conflict conflicts[2]', 'opposed-resolutions conflicts[2].resolution'],
  ],
  [
    'unaccepted-kind',
    JSON.stringify({ ...bare(), apis: bare().apis.map((api) => ({ ...api, accepts: ['day_pass'] })) }),
    ['unaccepted-kind tokenKinds[1]'],
  ],
  [
    'unopened-api',
    JSON.stringify({
      ...bare(),
      apis: [...bare().apis, { id: 'attic', title: 'x', accepts: [], section: 'x' }],
    }),
    ['unopened-api apis[3].accepts'],
  ],
  [
    'no-source-section',
    plant('statements[2].section', 'a note'),
    ['no-source-section statements[2].section'],
  ],
  ['title-in-capitals', plant('tokenKinds[0].title', 'Day pass'), ['title-in-capitals tokenKinds[0].title']],
  ['similar-ids', JSON.stringify(withApis('servers', 'disks', 'sarvers')), ['similar-ids apis[2].id']],
]

test.each(ROWS)('%s', (code, text, findings) => {
  expect(found(text).filter((each) => !each.startsWith('unopened-api') || code === 'unopened-api')).toEqual(
    findings,
  )
  const { problems, warnings } = lintFile(text)
  for (const finding of [...problems, ...warnings].filter((each) => each.code === code)) {
    expect(finding).toMatchObject({ severity: FINDINGS[code].severity, fix: FINDINGS[code].fix, line: 1 })
    expect(problems.includes(finding)).toBe(finding.severity === 'error')
  }
})

test('every code has a row', () => {
  expect([...new Set(ROWS.map(([code]) => code))].sort()).toEqual(Object.keys(FINDINGS).sort())
})

test.each<[what: string, plants: (readonly [path: string, value: unknown])[], warnings: string[]]>([
  [
    'an id with a slip',
    [['apis[1].id', 'lobbi']],
    ['apis[1].id: expected an id that differs from `lobby` by more than a slip'],
  ],
  [
    'a title that begins with a capital',
    [['tokenKinds[0].title', 'Day pass']],
    ['tokenKinds[0].title: expected a title for the middle of a sentence: `day pass`'],
  ],
  ['an abbreviation', [['tokenKinds[0].title', 'API key']], []],
  ['a capital inside a title', [['tokenKinds[0].title', 'pass for a Day']], []],
  [
    'an invalid section',
    [['statements[1].section', 'see §2']],
    ['statements[1].section: expected a section of the source, as other statements have: `§3`'],
  ],
  ['invalid sections', [...Array(9).keys()].map((at) => [`statements[${at}].section`, 'a note']), []],
])('%s: what is said', (_what, plants, warnings) => {
  const matrix = smallMatrix()
  for (const [path, value] of plants) planted(matrix, path, value)
  expect(warningsOf(matrix as Matrix).map(problemText)).toEqual(warnings)
})

test('the shipped matrix has no finding', () => {
  expect(findingsOf(supportMatrix)).toMatchObject({ problems: [], warnings: [] })
})

test('a hundred of many findings are listed, and the others counted', () => {
  const apis = Array.from({ length: 250 }, (_, index) => ({
    ...{
      id: `door-${index}`,
      title: 'x',
      accepts: index === 0 ? ['day_pass', 'room_key'] : [],
      section: 'x',
    },
  }))
  const { warnings } = findingsOf({ ...bare(), apis })
  expect(warnings).toHaveLength(101)
  expect(warnings.at(-1)).toEqual({ path: '', expected: 'and 149 more', severity: 'warning' })
})

test('a cell that the prose opens is open, and one that it closes is closed', () => {
  const cell = { api: 'attic', kind: 'room_key' }
  const conflict = { ...(small().conflicts[0] as object), cells: [cell], resolution: 'prose' }
  const attic = { id: 'attic', title: 'x', section: 'x' }
  const codes = (accepts: string[]) =>
    findingsOf({
      ...bare(),
      apis: [...bare().apis, { ...attic, accepts }],
      conflicts: [conflict],
    } as unknown as Matrix)
      .warnings.filter(({ path }) => path.startsWith('apis[3]'))
      .map(({ code }) => code)
  expect(codes([])).toEqual([])
  expect(codes(['room_key'])).toEqual(['unopened-api'])
})

/** Ids in the manner of real ones: they differ in little, and all are meant. */
const OPERATIONS = [
  ...[
    'repos/get-branch',
    'repos/list-branches',
    'repos/get-content',
    'repos/get-contents',
    'repos/list-forks',
  ],
  ...[
    'activity/get-repo-subscription',
    'activity/set-repo-subscription',
    'activity/delete-repo-subscription',
  ],
  ...['issues/lock', 'issues/unlock', 'issues/get-label', 'issues/list-labels', 'issues/remove-label'],
  ...['gists/list-comments', 'gists/list-commits', 'gists/get-comment', 'gists/create-comment'],
  ...['users/list-followers', 'users/list-following', 'users/follow', 'users/unfollow', 'users/followed'],
  ...['checks/get', 'checks/get-suite', 'checks/list-suites', 'check/list-runs', 'apps/list-plans-v1'],
  ...['apps/list-plans-v2', 'read:user', 'read:users', 'write:user', 'admin:org', 'admin:repo_hook'],
]
const METHODS = [
  ...['users.getpresence', 'users.setpresence', 'users.profile.get', 'users.profile.set', 'users.info'],
  ...[
    'conversations.archive',
    'conversations.unarchive',
    'conversations.archived.list',
    'im.open',
    'mpim.open',
  ],
  ...['admin.teams.list', 'admin.team.list', 'admin.invite.approve', 'admin.invite.approved', 'stars.add'],
  ...['usergroups.list', 'usergroup.list', 'files.remote.add', 'files.remote.list', 'chat.postmessage'],
]

describe('ids are similar', () => {
  test.each<[similar: boolean, one: string, other: string]>([
    [false, 'servers', 'server'],
    [false, 'list-keys', 'list-key'],
    [false, 'archive', 'archived'],
    [false, 'follow-user', 'follow-users'],
    [false, 'get-presence', 'set-presence'],
    [false, 'users.getpresence', 'users.setpresence'],
    [true, 'users.getpresence', 'users.getpresenze'],
    [true, 'repos/get-branch', 'repos/get-brunch'],
    [true, 'repos/get-branch', 'repos.get-branch'],
    [true, 'read:user', 'read_user'],
    [false, 'read:user', 'read:users'],
    [false, 'zone-a', 'zone-b'],
    [false, 'issues/lock', 'issues/look'],
    [true, 'server', 'sarver'],
    [true, 'cloud-quotas', 'cloud_quotas'],
    [true, 'cloud-quotas', 'cloudquotas'],
    [true, 'a-b-c', 'a_b_c'],
    [true, 'vpc-a', 'vpca'],
    [true, 'xserver', 'server'],
    [false, 'server', 'severs'],
    [false, 'disk-1', 'disk-2'],
    [false, 'disk-1', 'disk-12'],
    [false, 'disk-1-12', 'disk-11-2'],
    [false, 'disk', 'disk2'],
    [false, 'vpc', 'vpn'],
    [false, 'server', 'serv'],
    [false, 'server', 'server'],
    [true, 'server-1', 'server1'],
    [true, 'disk1-a', 'disk1a'],
    [true, 'serverz', 'server'],
    [true, 'servera', 'server'],
    [true, 'abcde', 'abcdf'],
    [true, 'abcd', 'abcde'],
    [false, 'server1', 'servera'],
    [false, 'disk-0-1', 'disk-01'],
    [false, 'disk-9-1', 'disk-91'],
  ])('%s: %s and %s', (similar, one, other) => {
    const expected = similar ? [{ index: 1, earlier: 0 }] : []
    expect(similarIds([one, other])).toEqual(expected)
    expect(similarIds([other, one])).toEqual(expected)
  })

  test.each([
    ['operations of a REST API', OPERATIONS],
    ['methods of an RPC API', METHODS],
  ])('not in a real list: %s; but a letter that is wrong is found', (_list, ids) => {
    expect(similarIds(ids)).toEqual([])
    for (const [index, id] of ids.entries()) {
      const long = /[a-z]{5,}(?=[^a-z]|$)/.exec(id)
      if (long === null) continue
      const typo = `${id.slice(0, long.index + 2)}x${id.slice(long.index + 3)}`
      expect(similarIds([...ids, typo])).toContainEqual({ index: ids.length, earlier: index })
    }
  })

  test('to one of the 64 before them, however many are alike', () => {
    const ids = Array.from({ length: 66 }, (_, index) =>
      [...'abcdefgh'].map((letter, at) => ((index >> at) & 1 ? `${letter}-` : letter)).join(''),
    )
    expect(similarIds(ids).slice(-2)).toEqual([
      { index: 64, earlier: 0 },
      { index: 65, earlier: 1 },
    ])
  })

  test('as a comparison of every pair says', () => {
    let state = 7
    const random = (below: number) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return (state >>> 16) % below
    }
    const ids = Array.from({ length: 400 }, () =>
      Array.from({ length: 4 + random(3) }, () => 'abc-1'[random(5)])
        .join('')
        .replace(/^[-1]+|-+$/g, 'b'),
    )
    const unique = [...new Set(ids)]
    const expected = unique.flatMap((id, index) => {
      const earlier = unique.findIndex((other) => similarIds([other, id]).length > 0)
      return earlier !== -1 && earlier < index ? [{ index, earlier }] : []
    })
    expect(expected.length).toBeGreaterThan(50)
    expect(similarIds(unique)).toEqual(expected)
  })
})
