/** What is remembered of a directory: for how long, for whom, and when it is forgotten. */
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { callError } from '../../sidecar/base/call-error.ts'
import { CachedDirectory } from '../../sidecar/directory/cached.ts'
import type { Directory, IamTokenQuery, StaticToken, TokenStatus } from '../../sidecar/directory/directory.ts'

const STALENESS_MS = 5_000

const GROUND: IamTokenQuery = {
  tokenId: 'token',
  subjectId: 'user',
  generation: 1,
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
  holder: { id: 'user', name: 'name' },
}

/** A directory far away: every question waits until the test answers it. */
class Remote implements Directory {
  version(): undefined {}
  readonly asked: { what: string; answer: PromiseWithResolvers<unknown> }[] = []

  iamTokenStatus = (ground: IamTokenQuery) => this.#ask<TokenStatus>(`iam ${ground.tokenId}`)
  staticToken = (hash: Buffer) => this.#ask<StaticToken | undefined>(`static ${hash}`)
  serviceUser = () => this.#ask<undefined>('service user')
  permits = () => this.#ask<undefined>('permits')

  #ask<T>(what: string): Promise<T> {
    const answer = Promise.withResolvers<unknown>()
    this.asked.push({ what, answer })
    return answer.promise as Promise<T>
  }

  /** Answers the question that was asked last. */
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

/** Both kinds of question, with every kind of answer. */
const QUESTIONS: readonly [what: string, ask: () => unknown, answer: unknown][] = [
  ['an IAM token that stands', () => cached.iamTokenStatus(GROUND), ACTIVE],
  ['an IAM token that has fallen', () => cached.iamTokenStatus(GROUND), INACTIVE],
  ['a static token that stands', () => cached.staticToken(Buffer.from('h')), STATIC],
  [
    'a static token that has fallen',
    () => cached.staticToken(Buffer.from('h')),
    { ...STATIC, active: false },
  ],
  ['a static token that nobody made', () => cached.staticToken(Buffer.from('h')), undefined],
]

describe.each(QUESTIONS)('%s', (_what, ask, answer) => {
  async function warm(): Promise<void> {
    const first = ask()
    expect(first).toBeInstanceOf(Promise)
    await remote.answer(answer)
    expect(await first).toEqual(answer)
  }

  test('is asked about once, and then known without waiting', async () => {
    await warm()
    for (const afterMs of [0, 1, STALENESS_MS / 2 - 2]) {
      clock.nowMs += afterMs
      const known = ask()
      expect(known).not.toBeInstanceOf(Promise)
      expect(known).toEqual(answer)
    }
    expect(remote.asked).toHaveLength(1)
  })

  test('never waits where it is asked about regularly', async () => {
    await warm()
    for (let time = 0; time < 20; time++) {
      clock.nowMs += STALENESS_MS / 4
      expect(ask()).toEqual(answer)
      await remote.answer(answer)
    }
    // Every other time found it as old as half the bound.
    expect(remote.asked).toHaveLength(1 + 10)
  })

  test('that is being refreshed is asked about once, and whoever comes after the bound shares the answer', async () => {
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
    // It is as old as the refresh was when its answer came.
    clock.nowMs += STALENESS_MS / 2 - 1
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    expect(ask()).toBeInstanceOf(Promise)
  })

  test('lapses at the bound all the same where its refresh fails, and that is tried twice', async () => {
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

  test('that was being refreshed before a change is not brought back by the answer', async () => {
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

  test('is asked about again after the bound, which runs from the question and not from the answer', async () => {
    const first = ask()
    clock.nowMs += STALENESS_MS - 1
    await remote.answer(answer)
    await first
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    expect(ask()).toBeInstanceOf(Promise)
    expect(remote.asked).toHaveLength(2)
  })

  test('is asked about again after a change', async () => {
    await warm()
    cached.clear()
    // In the very moment of a change nothing is taken for later than it.
    for (const asked of [2, 3, 3]) {
      expect(ask()).toBeInstanceOf(Promise)
      expect(remote.asked).toHaveLength(asked)
      clock.nowMs += 1
    }
  })

  test('that was asked about before a change is not remembered, and not shared with whoever asks after it', async () => {
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

  test('is asked about once by many at a time', async () => {
    const answers = Array.from({ length: 100 }, ask)
    expect(remote.asked).toHaveLength(1)
    await remote.answer(answer)
    expect(await Promise.all(answers)).toEqual(answers.map(() => answer))
  })

  test('that is being asked about for longer than the bound is asked about anew', async () => {
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

  test('gets no answer where there is none, and that is not remembered', async () => {
    const failure = callError('DIRECTORY_UNAVAILABLE', {})
    const answers = Array.from({ length: 3 }, ask)
    remote.asked[0]?.answer.reject(failure)
    for (const each of await Promise.allSettled(answers)) expect(each).toMatchObject({ reason: failure })
    ask()
    expect(remote.asked).toHaveLength(2)
  })

  test('is known within the bound while nobody answers, and not beyond', async () => {
    await warm()
    clock.nowMs += STALENESS_MS - 1
    expect(ask()).toEqual(answer)
    clock.nowMs += 1
    const unknown = ask()
    remote.asked.at(-1)?.answer.reject(new Error('down'))
    await expect(unknown).rejects.toThrow('down')
  })

  test('is asked about every time where nothing may be stale', async () => {
    cached = new CachedDirectory(remote, { stalenessMs: 0, now: () => clock.nowMs })
    await warm()
    const both = [ask(), ask()]
    expect(remote.asked).toHaveLength(3)
    for (const { answer: each } of remote.asked) each.resolve(answer)
    expect(await Promise.all(both)).toEqual([answer, answer])
  })
})

test('an answer that changed replaces the other, in both directions', async () => {
  for (const status of [ACTIVE, INACTIVE, ACTIVE]) {
    const asked = cached.iamTokenStatus(GROUND)
    await remote.answer(status)
    expect(await asked).toEqual(status)
    expect(cached.iamTokenStatus(GROUND)).toEqual(status)
    clock.nowMs += STALENESS_MS
  }
})

test('an answer that changed arrives by a refresh, in both directions, and nobody waits', async () => {
  void cached.iamTokenStatus(GROUND)
  await remote.answer(ACTIVE)
  for (const [known, changed] of [
    [ACTIVE, INACTIVE],
    [INACTIVE, ACTIVE],
  ] as const) {
    clock.nowMs += STALENESS_MS / 2
    expect(cached.iamTokenStatus(GROUND)).toEqual(known)
    await remote.answer(changed)
    expect(cached.iamTokenStatus(GROUND)).toEqual(changed)
  }
})

/** Grounds of which each differs from the first in one thing; a key that took two for one would be a way in. */
test.each<[differs: string, ground: IamTokenQuery]>([
  ['token', { ...GROUND, tokenId: 'other' }],
  ['holder', { ...GROUND, subjectId: 'other' }],
  ['generation', { ...GROUND, generation: 2 }],
  ['account', { ...GROUND, account: '12345' }],
  ['project', { ...GROUND, projectId: '' }],
  ['name of the project', { ...GROUND, projectId: 'null' }],
  ['scopes', { ...GROUND, permissionScopes: [] }],
  ['number of scopes', { ...GROUND, permissionScopes: ['account', 'projects'] }],
  ['division between fields', { ...GROUND, tokenId: 'token","user', subjectId: '' }],
])('another %s is another question', async (_differs, ground) => {
  const first = cached.iamTokenStatus(GROUND)
  await remote.answer(ACTIVE)
  await first
  expect(cached.iamTokenStatus(ground)).toBeInstanceOf(Promise)
})

test('who logs in, and what a user may be issued, is asked every time', async () => {
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

test('guesses do not push out what is genuine', async () => {
  const genuine = cached.staticToken(Buffer.from('genuine'))
  await remote.answer(STATIC)
  await genuine
  for (let guess = 0; guess < 60_000; guess++) {
    void cached.staticToken(Buffer.from(`guess ${guess}`))
    remote.asked.at(-1)?.answer.resolve(undefined)
  }
  await turn()
  expect(cached.staticToken(Buffer.from('genuine'))).toEqual(STATIC)
  // The first guesses are forgotten: what is remembered is bounded.
  expect(cached.staticToken(Buffer.from('guess 0'))).toBeInstanceOf(Promise)
  expect(cached.staticToken(Buffer.from('guess 59999'))).toBeUndefined()
})
