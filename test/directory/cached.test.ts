/** The cache of a directory: what it stores, for how long, and when it is cleared. */
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { callError } from '../../sidecar/base/call-error.ts'
import { CachedDirectory } from '../../sidecar/directory/cached.ts'
import type { Directory, IamTokenQuery, StaticToken, TokenStatus } from '../../sidecar/directory/directory.ts'

const STALENESS_MS = 5_000

const QUERY: IamTokenQuery = {
  tokenId: 'token',
  ancestors: [],
  subjectId: 'user',
  generation: 1,
  changeNumber: 7,
  account: '123456',
  projectId: undefined,
  permissionScopes: ['account'],
}
const ACTIVE: TokenStatus = { active: true, addresses: ['10.0.0.0/8'] }
const INACTIVE: TokenStatus = { active: false, addresses: [] }
const STATIC: StaticToken = {
  ...ACTIVE,
  id: 'id',
  kind: 'static_token',
  account: '123456',
  createdAtMs: 1,
  lastUsedDay: undefined,
  holder: { id: 'user', name: 'name' },
}

/** A remote directory: every query waits until the test answers it. */
class Remote implements Directory {
  version(): undefined {}
  readonly asked: { what: string; answer: PromiseWithResolvers<unknown> }[] = []

  iamTokenStatus = (query: IamTokenQuery) => this.#ask<TokenStatus>(`iam ${query.tokenId}`)
  staticToken = (hash: Buffer) => this.#ask<StaticToken | undefined>(`static ${hash}`)
  serviceUser = () => this.#ask<undefined>('service user')
  permits = () => this.#ask<undefined>('permits')

  #ask<T>(what: string): Promise<T> {
    const answer = Promise.withResolvers<unknown>()
    this.asked.push({ what, answer })
    return answer.promise as Promise<T>
  }

  /** Answers the last query. */
  async answer(value: unknown): Promise<void> {
    this.asked.at(-1)?.answer.resolve(value)
    await turn()
  }
}

const clock = { nowMs: 1_000_000 }
let remote = new Remote()
let cached = new CachedDirectory(remote, { stalenessMs: STALENESS_MS, now: () => clock.nowMs })
beforeEach(() => {
  remote = new Remote()
  cached = new CachedDirectory(remote, { stalenessMs: STALENESS_MS, now: () => clock.nowMs })
})

/** Both kinds of queries, with every kind of result. */
const QUERIES: readonly [what: string, ask: () => unknown, answer: unknown][] = [
  ['an active IAM token', () => cached.iamTokenStatus(QUERY), ACTIVE],
  ['an inactive IAM token', () => cached.iamTokenStatus(QUERY), INACTIVE],
  ['an active static token', () => cached.staticToken(Buffer.from('h')), STATIC],
  ['an inactive static token', () => cached.staticToken(Buffer.from('h')), { ...STATIC, active: false }],
  ['an unknown static token', () => cached.staticToken(Buffer.from('h')), undefined],
]

describe.each(QUERIES)('%s', (_what, ask, answer) => {
  async function warm(): Promise<void> {
    const first = ask()
    expect(first).toBeInstanceOf(Promise)
    await remote.answer(answer)
    expect(await first).toEqual(answer)
  }

  test('is queried once, and then returned without waiting', async () => {
    await warm()
    for (const afterMs of [0, 1, STALENESS_MS / 2 - 2]) {
      clock.nowMs += afterMs
      const known = ask()
      expect(known).not.toBeInstanceOf(Promise)
      expect(known).toEqual(answer)
    }
    expect(remote.asked).toHaveLength(1)
  })

  test('is returned without waiting if it is checked regularly', async () => {
    await warm()
    for (let time = 0; time < 20; time++) {
      clock.nowMs += STALENESS_MS / 4
      expect(ask()).toEqual(answer)
      await remote.answer(answer)
    }
    // Every second call found an entry as old as half the bound.
    expect(remote.asked).toHaveLength(1 + 10)
  })

  test('that is being refreshed is queried once, and calls after the bound share the result', async () => {
    await warm()
    clock.nowMs += STALENESS_MS / 2
    for (const afterMs of [0, 0, STALENESS_MS / 4, STALENESS_MS / 4 - 1]) {
      clock.nowMs += afterMs
      expect(ask()).toEqual(answer)
      expect(remote.asked).toHaveLength(2)
    }
    clock.nowMs += 1
    const late = ask()
    expect(late).toBeInstanceOf(Promise)
    expect(remote.asked).toHaveLength(2)
    await remote.answer(answer)
    expect(await late).toEqual(answer)
    // The entry is as old as the refresh query.
    clock.nowMs += STALENESS_MS / 2 - 1
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    expect(ask()).toBeInstanceOf(Promise)
  })

  test('expires at the bound if its refresh fails, which is tried twice', async () => {
    await warm()
    const askedAtMs = clock.nowMs
    for (const [ageMs, asked] of [
      [STALENESS_MS / 2 - 1, 1],
      [STALENESS_MS / 2, 2],
      [STALENESS_MS / 2, 2],
      [STALENESS_MS * (3 / 4) - 1, 2],
      [STALENESS_MS * (3 / 4), 3],
      [STALENESS_MS - 1, 3],
    ] as const) {
      clock.nowMs = askedAtMs + ageMs
      expect(ask()).toEqual(answer)
      expect(remote.asked).toHaveLength(asked)
      remote.asked[asked - 1]?.answer.reject(new Error('down'))
      await turn()
    }
    clock.nowMs = askedAtMs + STALENESS_MS
    expect(ask()).toBeInstanceOf(Promise)
    expect(remote.asked).toHaveLength(4)
    await remote.answer(answer)
    expect(ask()).toEqual(answer)
  })

  test('that was being refreshed before a change is not cached with the old result', async () => {
    await warm()
    clock.nowMs += STALENESS_MS / 2
    expect(ask()).toEqual(answer)
    const [, refresh] = remote.asked
    clock.nowMs += 1
    cached.clear()
    clock.nowMs += 1
    const after = ask()
    expect(remote.asked).toHaveLength(3)
    refresh?.answer.resolve(answer)
    await turn()
    expect(ask()).toBeInstanceOf(Promise)
    await remote.answer(answer)
    expect(await after).toEqual(answer)
    expect(ask()).toEqual(answer)
    expect(remote.asked).toHaveLength(3)
  })

  test('is queried again after the bound, which counts from the start of the query', async () => {
    const first = ask()
    clock.nowMs += STALENESS_MS - 1
    await remote.answer(answer)
    await first
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    expect(ask()).toBeInstanceOf(Promise)
    expect(remote.asked).toHaveLength(2)
  })

  test('is queried again after a change', async () => {
    await warm()
    cached.clear()
    // A query in the same moment as the change does not count as later.
    for (const asked of [2, 3, 3]) {
      expect(ask()).toBeInstanceOf(Promise)
      expect(remote.asked).toHaveLength(asked)
      clock.nowMs += 1
    }
  })

  test('that was queried before a change is not cached, and not shared with calls after the change', async () => {
    const before = ask()
    const [asked] = remote.asked
    clock.nowMs += 1
    cached.clear()
    clock.nowMs += 1
    const after = ask()
    expect(remote.asked).toHaveLength(2)
    asked?.answer.resolve(answer)
    expect(await before).toEqual(answer)
    expect(ask()).toBeInstanceOf(Promise)
    await remote.answer(answer)
    expect(await after).toEqual(answer)
    expect(ask()).toEqual(answer)
    expect(remote.asked).toHaveLength(2)
  })

  test('is queried once by many calls at the same time', async () => {
    const answers = Array.from({ length: 100 }, ask)
    expect(remote.asked).toHaveLength(1)
    await remote.answer(answer)
    expect(await Promise.all(answers)).toEqual(answers.map(() => answer))
  })

  test('whose query takes longer than the bound is queried again', async () => {
    const slow = ask()
    clock.nowMs += STALENESS_MS
    const fresh = ask()
    expect(remote.asked).toHaveLength(2)
    await remote.answer(answer)
    expect(await fresh).toEqual(answer)
    remote.asked[0]?.answer.resolve('an old answer')
    expect(await slow).toBe('an old answer')
    expect(ask()).toEqual(answer)
  })

  test('gets an error if the query fails, and the error is not cached', async () => {
    const failure = callError('DIRECTORY_UNAVAILABLE', {})
    const answers = Array.from({ length: 3 }, ask)
    remote.asked[0]?.answer.reject(failure)
    for (const each of await Promise.allSettled(answers)) expect(each).toMatchObject({ reason: failure })
    ask()
    expect(remote.asked).toHaveLength(2)
  })

  test('is returned within the bound during an outage, but not longer', async () => {
    await warm()
    clock.nowMs += STALENESS_MS - 1
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    const unknown = ask()
    remote.asked.at(-1)?.answer.reject(new Error('down'))
    await expect(unknown).rejects.toThrow('down')
  })

  test('is queried every time if the bound is 0', async () => {
    cached = new CachedDirectory(remote, { stalenessMs: 0, now: () => clock.nowMs })
    await warm()
    const both = [ask(), ask()]
    expect(remote.asked).toHaveLength(3)
    for (const { answer: each } of remote.asked) each.resolve(answer)
    expect(await Promise.all(both)).toEqual([answer, answer])
  })
})

test('a changed status replaces the old one, in both directions', async () => {
  for (const status of [ACTIVE, INACTIVE, ACTIVE]) {
    const asked = cached.iamTokenStatus(QUERY)
    await remote.answer(status)
    expect(await asked).toEqual(status)
    expect(cached.iamTokenStatus(QUERY)).toEqual(status)
    clock.nowMs += STALENESS_MS
  }
})

test('a changed status arrives by a refresh without waiting, in both directions', async () => {
  void cached.iamTokenStatus(QUERY)
  await remote.answer(ACTIVE)
  for (const [known, changed] of [
    [ACTIVE, INACTIVE],
    [INACTIVE, ACTIVE],
  ] as const) {
    clock.nowMs += STALENESS_MS / 2
    expect(cached.iamTokenStatus(QUERY)).toEqual(known)
    await remote.answer(changed)
    expect(cached.iamTokenStatus(QUERY)).toEqual(changed)
  }
})

/** Queries that each differ from the first one in one field. If two had the same key, a token could get another's status. */
test.each<[differs: string, query: IamTokenQuery]>([
  ['token', { ...QUERY, tokenId: 'other' }],
  ['holder', { ...QUERY, subjectId: 'other' }],
  ['generation', { ...QUERY, generation: 2 }],
  ['change number', { ...QUERY, changeNumber: 8 }],
  ['account', { ...QUERY, account: '12345' }],
  ['project', { ...QUERY, projectId: '' }],
  ['name of the project', { ...QUERY, projectId: 'null' }],
  ['scopes', { ...QUERY, permissionScopes: [] }],
  ['number of scopes', { ...QUERY, permissionScopes: ['account', 'projects'] }],
  ['division between fields', { ...QUERY, tokenId: 'token","user', subjectId: '' }],
])('another %s is another query', async (_differs, query) => {
  const first = cached.iamTokenStatus(QUERY)
  await remote.answer(ACTIVE)
  await first
  expect(cached.iamTokenStatus(query)).toBeInstanceOf(Promise)
})

test('logins and grants are queried every time', async () => {
  for (const ask of [() => cached.serviceUser('a', 'b'), () => cached.permits('u', 'a', undefined, [])]) {
    const before = remote.asked.length
    for (let time = 0; time < 2; time++) {
      const asked = ask()
      await remote.answer(undefined)
      await asked
    }
    expect(remote.asked).toHaveLength(before + 2)
  }
})

test('guessed tokens do not push genuine ones out of the cache', async () => {
  const genuine = cached.staticToken(Buffer.from('genuine'))
  await remote.answer(STATIC)
  await genuine
  for (let guess = 0; guess < 60_000; guess++) {
    void cached.staticToken(Buffer.from(`guess ${guess}`))
    remote.asked.at(-1)?.answer.resolve(undefined)
  }
  await turn()
  expect(cached.staticToken(Buffer.from('genuine'))).toEqual(STATIC)
  // The first guesses are no longer in the cache, because its size is limited.
  expect(cached.staticToken(Buffer.from('guess 0'))).toBeInstanceOf(Promise)
  expect(cached.staticToken(Buffer.from('guess 59999'))).toBeUndefined()
})
