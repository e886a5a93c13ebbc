/** On which day static tokens were last used: what counts as a use, what it costs, and when it is written. */
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import { openEmbeddedAuthority } from '../../sidecar/authority/open-authority.ts'
import { NEVER_USED, StaticTokenUses } from '../../sidecar/authority/static-token-uses.ts'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { run } from '../../sidecar/usecases/administration/run.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, PEOPLE } from '../support/sidecar/sidecar.ts'
import { newFolder } from '../support/suite/resources.ts'

const SHIPPED = compile(supportMatrix)
const { tokenKinds } = SHIPPED
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const TODAY = 20_000

describe('a use that waits to be written', () => {
  /** Days that arrived, in the order of the writes. */
  const written: [id: string, day: number][][] = []
  const events: string[] = []
  let attempts = 0
  let refusal: Error | undefined

  beforeEach(() => {
    // Half a minute before midnight.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    vi.setSystemTime(TODAY * DAY_MS + DAY_MS - MINUTE_MS / 2)
    written.length = 0
    events.length = 0
    attempts = 0
    refusal = undefined
  })
  afterEach(() => vi.useRealTimers())

  const newUses = () =>
    new StaticTokenUses({
      write: async (days) => {
        attempts++
        if (refusal !== undefined) throw refusal
        written.push([...days])
      },
      onUnwritten: (error) => events.push(error === undefined ? 'written again' : String(error)),
      now: Date.now,
    })
  const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * MINUTE_MS)

  test('is written when the next minute begins, and once for each token and day', async () => {
    const uses = newUses()
    expect(uses.note('a', NEVER_USED)).toBe(TODAY)
    expect(uses.note('a', NEVER_USED)).toBe(TODAY)
    expect(uses.note('b', TODAY - 1)).toBe(TODAY)
    expect(uses.note('c', TODAY)).toBe(TODAY)
    expect(uses.note('of a host whose clock is ahead', TODAY + 1)).toBe(TODAY + 1)
    expect(written).toEqual([])
    await pass(1)
    const both = [
      ['a', TODAY],
      ['b', TODAY],
    ]
    expect(written).toEqual([both])
    await pass(10)
    expect(written).toEqual([both])
  })

  test('is of the new day as soon as it begins', async () => {
    const uses = newUses()
    uses.note('a', NEVER_USED)
    await pass(1)
    expect(uses.today).toBe(TODAY + 1)
    expect(uses.note('a', TODAY)).toBe(TODAY + 1)
    await pass(1)
    expect(written).toEqual([[['a', TODAY]], [['a', TODAY + 1]]])
  })

  test('is written when the sidecar stops, and nothing is noted after it', async () => {
    const uses = newUses()
    uses.note('a', NEVER_USED)
    await uses.close()
    expect(written).toEqual([[['a', TODAY]]])
    expect(uses.note('b', NEVER_USED)).toBe(NEVER_USED)
    await pass(10)
    expect(written).toHaveLength(1)
  })

  test('is bounded: another token is noted when there is room again', async () => {
    const uses = newUses()
    for (let index = 0; index < 10_000; index++) uses.note(`token-${index}`, NEVER_USED)
    expect(uses.note('one more', 7)).toBe(7)
    expect(uses.note('token-0', NEVER_USED)).toBe(TODAY)
    await pass(1)
    expect(uses.note('one more', 7)).toBe(TODAY + 1)
    await pass(1)
    expect(written.map((days) => days.length)).toEqual([10_000, 1])
  })

  test('is kept while it cannot be written, with ever fewer attempts and one report', async () => {
    const uses = newUses()
    uses.note('a', NEVER_USED)
    refusal = new Error('read-only')
    await pass(60)
    expect({ attempts, events }).toEqual({ attempts: 5, events: ['Error: read-only'] })
    refusal = undefined
    await pass(60)
    expect({ attempts, events }).toEqual({ attempts: 6, events: ['Error: read-only', 'written again'] })
    expect(written).toEqual([[['a', TODAY]]])
  })

  test('is given up at the end where the last attempt failed', async () => {
    const uses = newUses()
    uses.note('a', NEVER_USED)
    refusal = callError('DIRECTORY_UNAVAILABLE', {})
    await pass(1)
    refusal = undefined
    await uses.close()
    expect(written).toEqual([])
  })
})

describe('a use', () => {
  /** An authority on a folder, whose clock shows a day and counts the looks at it. */
  async function open(folder: string, day: number) {
    const clock = { looks: 0 }
    const opened = await openEmbeddedAuthority({
      ...{ folder, engine: () => SHIPPED },
      passwordLimits: { concurrent: 1, waiting: 1, rememberMs: 0 },
      ...{ onKeysRefused: () => {}, onKeysUnreadable: () => {}, onDirectoryReplaced: () => {} },
      ...{ onUnknownKey: () => {}, onDirectoryLost: () => {}, onForeignStaticTokens: () => {} },
      failedLogins: new FailedLogins({ failures: 1, pauseMs: 1 }, () => 0),
      now: () => {
        clock.looks++
        return day * DAY_MS + DAY_MS / 2
      },
    })
    return { ...opened, clock }
  }
  type Opened = Awaited<ReturnType<typeof open>>

  async function populated() {
    const folder = join(newFolder(), 'data')
    const opened = await open(folder, TODAY)
    const { secrets } = await applyFile(opened.administration, TESTER, PEOPLE)
    const value = secrets.find(({ type }) => type === 'static_token')?.value.reveal() ?? ''
    const verify = ({ authority }: Opened, from = {}) => authority.verify(value, tokenKinds, from)
    return { folder, opened, verify }
  }
  /** The day in the directory, once the waiting uses have been written. */
  async function dayIn(folder: string): Promise<number | undefined> {
    const { administration, close } = await open(folder, TODAY)
    const list = { account: ACCOUNT, userName: 'owner', pageSize: 1, pageToken: '' }
    const { items } = await run(administration, TESTER, 'listStaticTokens', list)
    const [token] = items
    await close()
    return token?.lastUsedDay
  }

  test('is a token that is accepted, on the last day', async () => {
    const { folder, opened, verify } = await populated()
    await opened.close()
    expect(await dayIn(folder)).toBeUndefined()
    for (const [day, known] of [
      [TODAY, TODAY],
      [TODAY + 3, TODAY + 3],
      [TODAY + 1, TODAY + 3],
    ] as const) {
      const later = await open(folder, day)
      expect(await verify(later)).toMatchObject({ ok: true })
      await later.close()
      expect(await dayIn(folder)).toBe(known)
    }
  })

  test.each<[what: string, from: object, befall: (opened: Opened) => Promise<unknown>]>([
    ['that is looked up to be revoked', { lookedUp: true }, async () => {}],
    [
      'from an address that the account does not allow',
      { clientAddress: '192.0.2.1' },
      ({ administration }) =>
        run(administration, TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['10.0.0.0/8'] }),
    ],
    [
      'of a disabled account',
      {},
      ({ administration }) =>
        run(administration, TESTER, 'updateAccount', { account: ACCOUNT, enabled: false }),
    ],
    [
      'that is revoked',
      {},
      ({ administration }) =>
        run(administration, TESTER, 'revokeStaticToken', {
          account: ACCOUNT,
          userName: 'owner',
          name: 'key',
        }),
    ],
  ])('is not a token %s, known or not', async (_what, from, befall) => {
    const { folder, opened, verify } = await populated()
    await befall(opened)
    for (let times = 0; times < 2; times++) await verify(opened, from)
    await opened.close()
    expect(await dayIn(folder)).toBeUndefined()
  })

  test('of a token that is known costs no look at the clock, and no second write on that day', async () => {
    const { folder, opened, verify } = await populated()
    await verify(opened)
    const { looks } = opened.clock
    for (let times = 0; times < 100; times++) await verify(opened)
    expect(opened.clock.looks).toBe(looks)
    const changes = vi.spyOn(DirectoryStore.prototype, 'change')
    await opened.close()
    expect(changes).toHaveBeenCalledOnce()
    const other = await open(folder, TODAY)
    expect(await verify(other)).toMatchObject({ ok: true })
    await other.close()
    expect(changes).toHaveBeenCalledOnce()
  })
})
