/**
 * What users log in to the control panel with: who sees and changes it, in which session, and that the
 * session is looked at again when it is the turn of the change.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { LiveSession } from '../../sidecar/authority/control-panel/panel-sessions.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import {
  addPasskey,
  beginCode,
  deleteCode,
  deletePasskey,
  type FactorServices,
  factorsOf,
  optionsOfNewPasskey,
  replaceOwnPassword,
  setCode,
} from '../../sidecar/usecases/control-panel/factors.ts'
import type { PanelCall } from '../../sidecar/usecases/control-panel/panel-call.ts'
import {
  ACCOUNT,
  ADDRESS,
  BY,
  callOf,
  ELSEWHERE,
  ENDED,
  OUTSIDE,
  openPanelServices,
  PAGE,
  PASSWORD,
} from '../support/console/panel-services.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { codeAt } from '../support/identity/totp.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

const MINUTE_MS = 60_000
const panel = await openPanelServices()
afterEach(() => void vi.restoreAllMocks())
const { services, clock, controlPanel, userNamed } = panel
const NO_USER = 'NOT_ADMINISTRATOR: only control panel users may do this'
const AGAIN =
  'REAUTHENTICATION_REQUIRED: confirm your password, passkey or caller token: the last confirmation is more than ten minutes old'

type Change = (given: FactorServices, call: PanelCall) => Promise<unknown>
interface Row {
  readonly what: string
  /** The lane of the change, and its name in the trail; absent: nothing is stored. */
  readonly lane?: 'users' | 'revocations'
  readonly action?: string
  /** Makes what the change needs, in this session. */
  readonly prepare: (session: LiveSession) => Promise<Change>
  readonly done: (result: unknown, view: Awaited<ReturnType<typeof factorsOf>>) => void
}

const ROWS: readonly Row[] = [
  {
    ...{ what: 'the password is replaced', lane: 'users', action: 'replace_password' },
    prepare: async () => (given, call) =>
      replaceOwnPassword(given, call, {
        current: new Secret(PASSWORD),
        password: new Secret('ten yellow bottles'),
      }),
    done: (_result, { passwordChangedAtMs }) => expect(passwordChangedAtMs).toBe(clock.nowMs),
  },
  {
    what: 'the setup of a code begins',
    prepare: async () => beginCode,
    done: (result, { codeCreatedAtMs }) => {
      expect(result).toMatchObject({ secret: expect.any(Secret), sealed: expect.any(String) })
      expect(codeCreatedAtMs).toBeUndefined()
    },
  },
  {
    ...{ what: 'a code is set up', lane: 'users', action: 'set_code' },
    prepare: async (session) => {
      const { secret, sealed } = await beginCode(services, callOf({ session: session.hash }))
      return (given, call) => setCode(given, call, { sealed, code: codeAt(secret.reveal(), clock.nowMs) })
    },
    done: (_result, { codeCreatedAtMs }) => expect(codeCreatedAtMs).toBe(clock.nowMs),
  },
  {
    ...{ what: 'the code is deleted', lane: 'revocations', action: 'delete_code' },
    prepare: async (session) => {
      const call = callOf({ session: session.hash })
      const { secret, sealed } = await beginCode(services, call)
      await setCode(services, call, { sealed, code: codeAt(secret.reveal(), clock.nowMs) })
      return deleteCode
    },
    done: (_result, { codeCreatedAtMs }) => expect(codeCreatedAtMs).toBeUndefined(),
  },
  {
    what: 'a new passkey is asked for',
    prepare: async () => optionsOfNewPasskey,
    done: (result, { passkeys }) => {
      expect(result).toMatchObject({ rp: { id: 'panel.example' }, user: { name: `tester (${ACCOUNT})` } })
      expect(passkeys).toEqual([])
    },
  },
  {
    ...{ what: 'a passkey is added', lane: 'users', action: 'add_passkey' },
    prepare: async (session) => {
      const options = await optionsOfNewPasskey(services, callOf({ session: session.hash }))
      const response = new Authenticator().create(options, PAGE)
      return (given, call) => addPasskey(given, call, { name: 'my key', response })
    },
    done: (result, { passkeys }) => {
      expect(result).toMatchObject({ name: 'my key', createdAtMs: clock.nowMs })
      expect(passkeys).toEqual([result])
    },
  },
  {
    ...{ what: 'a passkey is deleted', lane: 'revocations', action: 'delete_passkey' },
    prepare: async (session) => {
      const call = callOf({ session: session.hash })
      const response = new Authenticator().create(await optionsOfNewPasskey(services, call), PAGE)
      const { id } = await addPasskey(services, call, { name: 'my key', response })
      return (given, called) => deletePasskey(given, called, id)
    },
    done: (_result, { passkeys }) => expect(passkeys).toEqual([]),
  },
]

/** Somebody without a code and a passkey, in a new session, who is about to make the change. */
async function about({ prepare }: Row) {
  const session = await panel.sessionOf('tester')
  const change = await prepare(session)
  const call = callOf({ session: session.hash })
  return { session, change, call, before: await factorsOf(services, call) }
}

describe.each(ROWS)('$what', (row) => {
  const { lane, action, done } = row

  test('by the user in a session of theirs, and the trail has it', async () => {
    const { session, change, call } = await about(row)
    clock.nowMs += 1_000
    const spend = vi.spyOn(services.changeRates, 'spend')
    const result = await change(services, call)
    done(result, await factorsOf(services, call))
    const { id } = await userNamed('tester')
    expect(spend.mock.calls.map(([author]) => [author.lane, author.principal])).toEqual(
      lane ? [[lane, id]] : [],
    )
    const recorded = await panel.lastRecord()
    if (action === undefined) return
    expect(recorded).toMatchObject({
      ...{ action: `control_panel_user.${action}`, subject: 'tester' },
      actor: `control_panel_user ${id} (tester)`,
      details: { by: { ...BY, request_id: 'r-1', session_id: session.id } },
    })
  })

  test('by nobody else, and in no session that was not confirmed lately', async () => {
    const { session, change, call, before } = await about(row)
    const refusal = (given: PanelCall) => outcomeOf(() => change(services, given))
    expect(await refusal(callOf())).toBe(ENDED)
    expect(await refusal(callOf({ session: (await panel.sessionOf('clerk')).hash }))).toBe(NO_USER)
    await panel.restrictTo(ELSEWHERE)
    expect(await refusal(call)).toBe(OUTSIDE)
    await panel.restrictTo()
    clock.nowMs = session.confirmedAtMs + 10 * MINUTE_MS
    expect(await refusal(call)).toBe(AGAIN)
    expect(await factorsOf(services, call)).toEqual(before)
  })

  if (lane === undefined) return
  test('not where there were too many changes, or where the session does not count any more', async () => {
    const { session, change, call, before } = await about(row)
    vi.spyOn(services.changeRates, 'spend').mockImplementationOnce(() => {
      throw new RangeError('too many changes')
    })
    await expect(change(services, call)).rejects.toThrow('too many changes')
    // It waited so long for its turn.
    let { nowMs } = clock
    const begin = controlPanel.change.bind(controlPanel)
    vi.spyOn(controlPanel, 'change').mockImplementationOnce((...given) => {
      nowMs = session.confirmedAtMs + 10 * MINUTE_MS
      return begin(...given)
    })
    expect(await outcomeOf(() => change({ ...services, now: () => nowMs }, call))).toBe(AGAIN)
    vi.spyOn(controlPanel.sessions, 'again').mockResolvedValueOnce(undefined)
    expect(await outcomeOf(() => change(services, call))).toBe(ENDED)
    expect(await factorsOf(services, call)).toEqual(before)
  })
})

test('what a user logs in with is shown to them alone', async () => {
  const { session, passkey } = await panel.withPasskey('tester')
  const call = callOf({ session: session.hash })
  expect(await factorsOf(services, call)).toEqual({
    ...{ passwordChangedAtMs: session.createdAtMs, codeCreatedAtMs: undefined, passkeys: [passkey] },
  })
  for (const [given, refusal] of [
    [callOf(), ENDED],
    [callOf({ session: (await panel.sessionOf('root')).hash }), NO_USER],
  ] as const)
    expect(await outcomeOf(() => factorsOf(services, given))).toBe(refusal)
})

test('an owner, too, changes it at the addresses of the account alone', async () => {
  const call = callOf({ session: (await panel.sessionOf('owner')).hash })
  await panel.restrictTo(ELSEWHERE)
  for (const asked of [factorsOf, beginCode, deleteCode])
    expect(await outcomeOf<unknown>(() => asked(services, call))).toBe(OUTSIDE)
  await panel.restrictTo()
})

describe('in words', () => {
  const inNewSession = async () => callOf({ session: (await panel.sessionOf('tester')).hash })
  const added = async (call: PanelCall, authenticator = new Authenticator()) => {
    const response = authenticator.create(await optionsOfNewPasskey(services, call), PAGE)
    return { authenticator, add: () => addPasskey(services, call, { name: 'my key', response }) }
  }

  test.each<[what: string, ask: (call: PanelCall) => Promise<unknown>, outcome: string]>([
    [
      'a code that is not there',
      (call) => deleteCode(services, call),
      'NOT_FOUND: there is no one-time code',
    ],
    [
      'a passkey that is not there',
      (call) => deletePasskey(services, call, 'unknown'),
      'NOT_FOUND: there is no such passkey',
    ],
    [
      'the same password',
      (call) =>
        replaceOwnPassword(services, call, { current: new Secret(PASSWORD), password: new Secret(PASSWORD) }),
      'INVALID_ARGUMENT: password: expected another password than the current one',
    ],
    [
      'no current password',
      (call) =>
        replaceOwnPassword(services, call, {
          current: undefined,
          password: new Secret('ten yellow bottles'),
        }),
      'INVALID_ARGUMENT: current: expected the password that the user has',
    ],
    [
      'the passkey of another user',
      async (call) => {
        const { authenticator, add } = await added(callOf({ session: (await panel.sessionOf('owner')).hash }))
        await add()
        return (await added(call, authenticator)).add()
      },
      'ALREADY_EXISTS: the passkey already exists',
    ],
  ])('%s is refused', async (_what, ask, outcome) => {
    const call = await inNewSession()
    expect(await outcomeOf(() => ask(call))).toBe(outcome)
  })

  test('a passkey too many is refused, before it is made and when it is added', async () => {
    const call = await inNewSession()
    const full = 'PASSKEYS_FULL: a user has at most 20 passkeys; delete one first'
    const last = await added(call)
    for (let count = 0; count < 20; count++) await (await added(call)).add()
    expect(await outcomeOf(last.add)).toBe(full)
    expect(await outcomeOf(() => optionsOfNewPasskey(services, call))).toBe(full)
  })
})

test('a link logs in a user without a password, who sets the first one; and a current one that was replaced meanwhile does not count', async () => {
  const call = callOf({ session: (await panel.sessionOf('tester')).hash })
  const user = await userNamed('tester')
  const password = new Secret('ten yellow bottles')
  vi.spyOn(controlPanel.passwords, 'prove').mockImplementationOnce(async (_claim, _from, then) =>
    then({ user, addresses: [], passwordHash: 'one from before' }),
  )
  const replaced = { current: new Secret(PASSWORD), password }
  expect(await outcomeOf(() => replaceOwnPassword(services, call, replaced))).toBe(
    'LOGIN_FAILED: the name of the user or the password is wrong',
  )
  await controlPanel.change(TESTER, async ({ writer }) =>
    writer.queries.all('DELETE FROM panel_passwords WHERE user_id = :id', { id: user.id }),
  )
  expect(await outcomeOf(() => replaceOwnPassword(services, call, { current: undefined, password }))).toBe(
    undefined,
  )
})

test('a wrong current password is a login that failed, where it comes from', async () => {
  const session = await panel.sessionOf('owner')
  const call = callOf({ session: session.hash })
  const prove = vi.spyOn(controlPanel.passwords, 'prove')
  const password = { current: new Secret('a wrong one'), password: new Secret('ten yellow bottles') }
  const { outcome, lines } = await panel.traced((given) => replaceOwnPassword(given, call, password))
  expect(outcome).toBe('LOGIN_FAILED: the name of the user or the password is wrong')
  const { id } = await userNamed('owner')
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'a login failed', reason: 'LOGIN_FAILED', user: id, user_name: 'owner' },
  ])
  const from = { source: { type: 'address', address: ADDRESS }, connection: 'connection 1' }
  const claim = { account: ACCOUNT, userName: 'owner', password: password.current }
  expect(prove).toHaveBeenCalledWith(claim, from, expect.any(Function))
})
