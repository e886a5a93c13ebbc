/**
 * The past of decisions, as operators ask for it: the query, the names that it shows, and the queue.
 * `test/control-panel/past-decisions.test.ts` searches a log over HTTP.
 */
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { callError, invalidArgument } from '../../sidecar/base/call-error.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import {
  DecisionSearches,
  type SearchQuestion,
  WAITING_MAX,
} from '../../sidecar/usecases/control-panel/search.ts'
import type { DecisionLog } from '../../sidecar/usecases/decision-recorder.ts'
import type { DecisionQuery, FoundDecisions, SearchTurn } from '../../sidecar/usecases/decision-search.ts'
import type { Requester } from '../../sidecar/usecases/requester.ts'
import { callerNamed, openPeople, outcomeOf } from '../support/sidecar/services.ts'
import { eventually } from '../support/suite/resources.ts'

const ACCOUNT = '4711'
const { administration, engine, userNamed } = await openPeople(ACCOUNT)
const searching = { engine, administration }
afterEach(() => void vi.restoreAllMocks())

const operator = (name: string, right: 'read' | 'revoke' = 'read'): Requester => ({
  type: 'operator',
  caller: { ...callerNamed(name, { [right]: true }), identifiedBy: { type: 'certificate', names: [] } },
  from: { protocol: 'http', address: '192.0.2.7' },
})
const QUESTION: SearchQuestion = {
  ...{ user: undefined, token: undefined, fingerprint: undefined, pageToken: undefined },
}
const NOTHING: FoundDecisions = { rows: [], next: undefined, damaged: 0, unreadable: [] }

/** A log in which this is found, and what it was asked for. */
function newLog(search: () => Promise<FoundDecisions> = async () => NOTHING) {
  const asked: { query: DecisionQuery; turn: SearchTurn }[] = []
  const decisions = {
    search: {
      fingerprintsOf: (token: string) => [`fingerprint of ${token}`],
      search: (query: DecisionQuery, turn: SearchTurn) => {
        asked.push({ query, turn })
        return search()
      },
    },
  } as unknown as DecisionLog
  const searches = new DecisionSearches(decisions)
  const find = (question: Partial<SearchQuestion> = {}, by = operator('reader'), signal = GOES_ON) =>
    searches.search(searching, by, { ...QUESTION, ...question }, signal)
  return { find, asked }
}
const GOES_ON = new AbortController().signal

const idOf = async (name: string) => (await userNamed(name)).id

test.each<[what: string, question: Partial<SearchQuestion>, query: () => Promise<DecisionQuery>]>([
  ['nothing', {}, async () => ({})],
  [
    'what a query has',
    { api: 'iam', sinceMs: 1, allowed: false, shadow: 'opened' },
    async () => ({ api: 'iam', sinceMs: 1, allowed: false, shadow: 'opened' }),
  ],
  ['a fingerprint', { fingerprint: 'f' }, async () => ({ tokens: ['f'] })],
  [
    'a token, as it was copied',
    { token: new Secret('X-Auth-Token: secret') },
    async () => ({ tokens: ['fingerprint of secret'] }),
  ],
  ['a user by the id', { user: 'some id' }, async () => ({ users: ['some id'] })],
  [
    'a service user by the name',
    { user: 'robot', account: ACCOUNT },
    async () => ({ account: ACCOUNT, users: ['robot', await idOf('robot')] }),
  ],
  [
    'a control panel user by the name',
    { user: 'owner', account: ACCOUNT },
    async () => ({ account: ACCOUNT, users: ['owner', await idOf('owner')] }),
  ],
  [
    'an unknown name',
    { user: 'nobody', account: ACCOUNT },
    async () => ({ account: ACCOUNT, users: ['nobody'] }),
  ],
  [
    'an impossible account',
    { user: 'robot', account: '\u0000' },
    async () => ({ account: '\u0000', users: ['robot'] }),
  ],
])('the log is searched for %s', async (_what, question, query) => {
  const { find, asked } = newLog()
  expect(await find({ ...question, pageToken: 'page 2' })).toEqual(NOTHING)
  const turn = { from: 'page 2', rowsMax: 200, engine, signal: GOES_ON }
  expect(asked).toEqual([{ query: await query(), turn }])
})

test('a text that is not one token is refused, and the log is not searched', async () => {
  const { find, asked } = newLog()
  expect(await outcomeOf(() => find({ token: new Secret('one, two') }))).toBe(
    'INVALID_ARGUMENT: token: expected one token, alone or behind its header and its scheme',
  )
  expect(asked).toEqual([])
})

test.each([
  ['that does not answer', () => new RangeError('a defect')],
  ['that has too much to do', () => callError('DIRECTORY_EXHAUSTED', { what: 'calls' })],
  ['that is not there', () => Object.assign(new Error('NOT_FOUND'), { code: 'NOT_FOUND' })],
])('an error of a directory %s does not mean an unknown user', async (_what, error) => {
  const { find, asked } = newLog()
  vi.spyOn(administration.records, 'user').mockRejectedValueOnce(error())
  await expect(find({ user: 'robot', account: ACCOUNT })).rejects.toThrow(error().message)
  expect(asked).toEqual([])
})

test('a name that the database cannot have belongs to no user', async () => {
  const { find, asked } = newLog()
  const refused = () => Promise.reject(invalidArgument({ field: 'name', expected: 'another' }))
  vi.spyOn(administration.records, 'user').mockImplementation(refused)
  await find({ user: 'robot', account: ACCOUNT })
  expect(asked.map(({ query }) => query.users)).toEqual([['robot']])
})

test('rows have the names of their users, each of whom is looked for once', async () => {
  const [robot, owner] = [await idOf('robot'), await idOf('owner')]
  const row = (user: string | undefined) => ({ line: {}, user, afterwards: {} }) as never
  const users = [robot, 'gone', undefined, owner, robot, 'gone']
  const found = { ...NOTHING, rows: users.map(row), next: 'page 3', damaged: 1, unreadable: ['a file'] }
  const look = vi.spyOn(administration.records, 'userById')
  const { rows, ...rest } = await newLog(async () => found).find()
  expect(rest).toEqual({ next: 'page 3', damaged: 1, unreadable: ['a file'] })
  const names = ['robot', undefined, undefined, 'owner', 'robot', undefined]
  expect(rows.map(({ user, userName }) => [user, userName])).toEqual(
    users.map((user, index) => [user, names[index]]),
  )
  expect(look.mock.calls).toEqual([[robot], ['gone'], [owner]])
})

describe('no search runs', () => {
  test.each<[what: string, decisions: Pick<DecisionLog, 'search'> | undefined]>([
    ['without a log', undefined],
    ['a log that goes elsewhere', { search: undefined }],
  ])('%s, and the answer says how to keep one', async (_what, decisions) => {
    const searches = new DecisionSearches(decisions as DecisionLog | undefined)
    const asking = () => searches.search(searching, operator('reader'), QUESTION, GOES_ON)
    expect(await outcomeOf(asking)).toBe(
      'NOT_FOUND: there is no decision log on this host: `decision_log.file.path` in the configuration keeps one',
    )
  })

  test('without the right to read', async () => {
    const { find, asked } = newLog()
    expect(await outcomeOf(() => find({}, operator('clerk', 'revoke')))).toMatch(/^CALLER_RIGHT_MISSING/)
    expect(asked).toEqual([])
  })
})

describe('one search runs at a time', () => {
  /** A log whose searches end when the test ends them. */
  function slowLog() {
    const running: (() => void)[] = []
    const { find, asked } = newLog(
      () =>
        new Promise((resolve) => {
          running.push(() => resolve(NOTHING))
        }),
    )
    const next = () =>
      eventually(() => {
        const [end] = running.splice(0, 1)
        end?.()
        return end !== undefined
      })
    return { find, asked, next, running }
  }
  const names = (asked: ReturnType<typeof slowLog>['asked']) => asked.map(({ query }) => query.api)

  test('and callers take turns', async () => {
    const { find, asked, next } = slowLog()
    const all = [
      ...['a1', 'a2', 'a3'].map((api) => find({ api }, operator('a'))),
      find({ api: 'b1' }, operator('b')),
    ]
    for (let search = 1; search <= 4; search++) {
      await eventually(() => asked.length === search)
      await next()
    }
    await Promise.all(all)
    expect(names(asked)).toEqual(['a1', 'a2', 'b1', 'a3'])
  })

  test('some wait, and further ones are refused', async () => {
    const { find, asked, next } = slowLog()
    const all = Array.from({ length: WAITING_MAX + 2 }, () => outcomeOf(() => find()))
    const last = await all.at(-1)
    expect(last).toBe('WATCHES_EXHAUSTED: too many watches of the decision log; try again later')
    for (let search = 0; search <= WAITING_MAX; search++) await next()
    expect(await Promise.all(all.slice(0, -1))).toEqual(Array(WAITING_MAX + 1).fill(NOTHING))
    expect(asked).toHaveLength(WAITING_MAX + 1)
  })

  test('and none for a client who has left', async () => {
    const { find, asked, next } = slowLog()
    const leaving = new AbortController()
    const [first, left] = [find(), find({}, operator('reader'), leaving.signal)]
    const outcome = left.catch(({ message }) => message)
    leaving.abort(new Error('the client has gone'))
    await next()
    await first
    await setImmediate()
    expect(asked).toHaveLength(1)
    expect(await outcome).toBe('the client has gone')
  })
})
