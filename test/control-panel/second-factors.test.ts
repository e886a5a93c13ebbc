/** Second factors at a login: who has one does not get in without it, and nobody guesses or repeats it. On a real directory, without a protocol. */
import { createSecretKey, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { trusted } from '../../sidecar/authority/actor.ts'
import { ControlPanel } from '../../sidecar/authority/control-panel/control-panel.ts'
import type { LoginRequest } from '../../sidecar/authority/control-panel/log-in.ts'
import { sourceAt } from '../../sidecar/authority/login-source.ts'
import { Passwords } from '../../sidecar/authority/password.ts'
import { FailedLogins } from '../../sidecar/authority/throttle.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import { PanelChange } from '../../sidecar/directory/panel-change.ts'
import { openSqlite } from '../../sidecar/directory/sqlite.ts'
import { DirectoryStore } from '../../sidecar/directory/store.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'
import {
  addPasskey as addOwnPasskey,
  beginCode,
  deleteCode,
  deletePasskey,
  type FactorServices,
  optionsOfNewPasskey,
  replaceOwnPassword,
  setCode,
} from '../../sidecar/usecases/control-panel/factors.ts'
import { Authenticator } from '../support/authenticator.ts'
import { eventually, newFolder } from '../support/resources.ts'
import { codeAt, wrongCodeAt } from '../support/totp.ts'

const ORIGIN = 'https://panel.example'
const STEP_MS = 30_000
const FAILURES = 3
const PAUSE_MS = 60_000
const LOGIN = { purpose: 'login' } as const
const REFUSED = { reason: 'PASSKEY_REFUSED' }

const clock = { nowMs: 1_800_000_000_000 }
const now = () => clock.nowMs
const store = new DirectoryStore(openSqlite(join(newFolder(), 'directory.sqlite')), now)
afterAll(() => store.close())

const pepper = createSecretKey(randomBytes(32))
function openPanel(): ControlPanel {
  return new ControlPanel({
    ...{ store, pepper, now },
    passwords: new Passwords({ concurrent: 2, waiting: 1_000, rememberMs: 0 }),
    failedLogins: new FailedLogins({ failures: FAILURES, pauseMs: PAUSE_MS }, now),
    limits: { idleMs: 3_600_000, lifetimeMs: 12 * 3_600_000 },
  })
}
let panel = openPanel()
beforeEach(() => {
  panel = openPanel()
  // Each test has steps of its own.
  clock.nowMs += 100 * STEP_MS
})

function requestFrom(address: string): LoginRequest {
  return {
    origin: { protocol: 'http', address },
    from: { source: sourceAt(address) },
    ...{ client: 'a test', replaces: undefined, spend: () => {} },
  }
}
const request = requestFrom('203.0.113.1')

const CALL = {
  ...{ clientAddress: '203.0.113.1', connection: 'a test', requestId: 'a test', client: 'a test' },
  ...{ page: ORIGIN, session: undefined },
}

const PASSWORD = 'correct horse battery'
let people = 0

/** A user who accepted an invitation, in a session of theirs. */
async function newPerson() {
  const [account, name] = [`account-${people}`, `person-${people++}`]
  await store.change('a test', async (change) => {
    await change.createAccount(account)
    const record = await change.records.account(account)
    if (record !== undefined) await change.createUser(record, { name, type: 'control_panel_user' })
  })
  return { ...(await accept(account, name)), account, name }
}

async function accept(account: string, name: string) {
  const { secret } = await panel.links.create(trusted('a test'), account, name, 'invitation')
  const { session } = await panel.logIn.byInvitation(secret.reveal(), new Secret(PASSWORD), request)
  if (session.holder !== 'user') throw new TypeError('the session is not of the user')
  const setting = { user: session.user, session: session.id, actor: trusted('a test') }
  return { session, setting, user: session.user }
}

type Person = Awaited<ReturnType<typeof newPerson>>

/** Sets up a one-time code. Its secret. The step is used up. */
async function withCode({ setting }: Pick<Person, 'setting'>): Promise<string> {
  const { secret, sealed } = await panel.factors.beginCode(setting)
  await panel.factors.setCode(setting, { sealed, code: codeAt(secret.reveal(), now()) })
  clock.nowMs += STEP_MS
  return secret.reveal()
}

async function withPasskey({ setting }: Pick<Person, 'setting'>): Promise<Authenticator> {
  const authenticator = new Authenticator()
  await addPasskey({ setting }, authenticator)
  return authenticator
}

async function addPasskey({ setting }: Pick<Person, 'setting'>, authenticator: Authenticator) {
  const options = await panel.factors.optionsOfNewPasskey(setting, ORIGIN)
  const response = authenticator.create(options, ORIGIN)
  return panel.factors.addPasskey(setting, { name: 'a key', response }, ORIGIN)
}

function logIn({ account, name }: Person, code?: string, password = PASSWORD, from = request) {
  return panel.logIn.byPassword({ account, userName: name, password: new Secret(password) }, code, from)
}

async function passkeyResponse(authenticator: Authenticator) {
  return authenticator.get(await panel.factors.passkeyOptions(LOGIN, undefined, ORIGIN), ORIGIN)
}

async function logInByPasskey(response: Awaited<ReturnType<typeof passkeyResponse>>) {
  return panel.logIn.byPasskey(await panel.factors.provePasskey(LOGIN, response, ORIGIN), request)
}

const reasonOf = (login: Promise<unknown>) =>
  login.then(
    () => 'logged in',
    ({ reason }) => reason as string,
  )

describe('a password', () => {
  test('is enough for who has no second factor, and asks for what there is otherwise', async () => {
    const person = await newPerson()
    await logIn(person)
    await withCode(person)
    const asked = { reason: 'SECOND_FACTOR_REQUIRED', code: 'UNAUTHENTICATED' }
    await expect(logIn(person)).rejects.toMatchObject({ ...asked, metadata: { ways: 'code' } })
    await withPasskey(person)
    await expect(logIn(person)).rejects.toMatchObject({ ...asked, metadata: { ways: 'code passkey' } })
    await panel.factors.deleteCode(person.setting)
    for (const code of [undefined, ...Array.from({ length: FAILURES + 1 }, () => '123456')])
      await expect(logIn(person, code)).rejects.toMatchObject({ ...asked, metadata: { ways: 'passkey' } })
  })

  test('that is wrong tells nobody that there is a second factor, whatever code comes with it', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const secret = await withCode(person)
    for (const code of [undefined, codeAt(secret, now())]) {
      expect(await reasonOf(logIn(person, code, 'a wrong password'))).toBe('LOGIN_FAILED')
      expect(await reasonOf(logIn(other, code, 'a wrong password'))).toBe('LOGIN_FAILED')
    }
  })

  test('that is replaced ends the other sessions, and needs the current one', async () => {
    const person = await newPerson()
    const other = await logIn(person)
    const to = new Secret('another good password')
    const replace = (current: string | undefined, password = to) =>
      panel.passwords.replace(
        person.setting,
        { current: current === undefined ? undefined : new Secret(current), password },
        request.from,
      )
    await expect(replace('a wrong password')).rejects.toMatchObject({ reason: 'LOGIN_FAILED' })
    await expect(replace(undefined)).rejects.toMatchObject({ violations: [{ field: 'current' }] })
    await expect(replace(PASSWORD, new Secret(PASSWORD))).rejects.toMatchObject({
      violations: [{ field: 'password' }],
    })
    await expect(replace(PASSWORD, new Secret('short'))).rejects.toMatchObject({
      violations: [{ field: 'password' }],
    })
    expect(await panel.sessions.find(other.session.hash)).toBeDefined()
    await replace(PASSWORD)
    expect(await panel.sessions.find(other.session.hash)).toBeUndefined()
    expect(await panel.sessions.find(person.session.hash)).toBeDefined()
    expect(await reasonOf(logIn(person))).toBe('LOGIN_FAILED')
    await logIn(person, undefined, to.reveal())
  })

  test('that is guessed as the current one is throttled', async () => {
    const person = await newPerson()
    const replace = (current: string) =>
      panel.passwords.replace(
        person.setting,
        { current: new Secret(current), password: new Secret('another good password') },
        request.from,
      )
    for (let guess = 0; guess < FAILURES; guess++)
      expect(await reasonOf(replace(`guess number ${guess}`))).toBe('LOGIN_FAILED')
    expect(await reasonOf(replace(PASSWORD))).toBe('LOGIN_THROTTLED')
    expect(await reasonOf(logIn(person))).toBe('LOGIN_THROTTLED')
  })
})

describe('a one-time code', () => {
  test('logs in once, and the code that set it up does not', async () => {
    const person = await newPerson()
    const secret = await withCode(person)
    expect(await reasonOf(logIn(person, codeAt(secret, now() - STEP_MS)))).toBe('CODE_WRONG')
    const code = codeAt(secret, now())
    await logIn(person, code)
    expect(await reasonOf(logIn(person, code))).toBe('CODE_WRONG')
    clock.nowMs += STEP_MS
    await logIn(person, codeAt(secret, now()))
  })

  test('logs in one of several who send it at the same time', async () => {
    const person = await newPerson()
    const code = codeAt(await withCode(person), now())
    const outcomes = await Promise.all([1, 2, 3].map(() => reasonOf(logIn(person, code))))
    expect(outcomes.toSorted()).toEqual(['CODE_WRONG', 'CODE_WRONG', 'logged in'])
  })

  test('is not used up by a login that fails', async () => {
    const person = await newPerson()
    const code = codeAt(await withCode(person), now())
    const full = {
      ...request,
      spend: () => {
        throw new RangeError('too many changes')
      },
    }
    await expect(logIn(person, code, PASSWORD, full)).rejects.toThrow(RangeError)
    expect(await reasonOf(logIn(person, code, 'a wrong password'))).toBe('LOGIN_FAILED')
    await logIn(person, code)
  })

  test('is guessed a few times, and a right password without one gives no more guesses', async () => {
    const person = await newPerson()
    const secret = await withCode(person)
    for (let guess = 0; guess < FAILURES; guess++) {
      expect(await reasonOf(logIn(person))).toBe('SECOND_FACTOR_REQUIRED')
      expect(await reasonOf(logIn(person, wrongCodeAt(secret, now())))).toBe('CODE_WRONG')
    }
    expect(await reasonOf(logIn(person, codeAt(secret, now())))).toBe('LOGIN_THROTTLED')
    clock.nowMs += PAUSE_MS
    await logIn(person, codeAt(secret, now()))
  })

  test('is guessed no more often from many addresses than from one', async () => {
    const person = await newPerson()
    const secret = await withCode(person)
    const guess = (index: number, code = wrongCodeAt(secret, now())) =>
      reasonOf(logIn(person, code, PASSWORD, requestFrom(`198.51.100.${index}`)))
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => guess(index)))
    expect(outcomes.filter((outcome) => outcome === 'CODE_WRONG')).toHaveLength(FAILURES)
    expect(outcomes.filter((outcome) => outcome === 'LOGIN_THROTTLED')).toHaveLength(20 - FAILURES)
    expect(await guess(100, codeAt(secret, now()))).toBe('LOGIN_THROTTLED')
  })

  test('cannot be kept from its user by who does not know the password', async () => {
    const person = await newPerson()
    const secret = await withCode(person)
    for (let index = 0; index < 20; index++)
      expect(
        await reasonOf(logIn(person, '123456', 'a wrong password', requestFrom(`198.51.100.${index}`))),
      ).toBe('LOGIN_FAILED')
    await logIn(person, codeAt(secret, now()))
  })

  test('is asked for again to confirm, and confirms once', async () => {
    const person = await newPerson()
    const secret = await withCode(person)
    const confirm = (code?: string) => {
      const claim = { account: person.account, userName: person.name, password: new Secret(PASSWORD) }
      return panel.logIn.confirmByPassword(person.session, claim, code, request)
    }
    expect(await reasonOf(confirm())).toBe('SECOND_FACTOR_REQUIRED')
    expect(await reasonOf(confirm(wrongCodeAt(secret, now())))).toBe('CODE_WRONG')
    expect((await confirm(codeAt(secret, now()))).confirmedAtMs).toBe(now())
    expect(await reasonOf(confirm(codeAt(secret, now())))).toBe('CODE_WRONG')
  })
})

describe('a passkey', () => {
  test('logs in by itself, also who has a one-time code, and each answer once', async () => {
    const person = await newPerson()
    await withCode(person)
    const authenticator = await withPasskey(person)
    const response = await passkeyResponse(authenticator)
    const { session } = await logInByPasskey(response)
    expect(session).toMatchObject({ holder: 'user', user: { id: person.user.id } })
    await expect(logInByPasskey(response)).rejects.toMatchObject(REFUSED)
    await logInByPasskey(await passkeyResponse(authenticator))
    expect(await panel.factors.passkeys(person.user.id)).toMatchObject([
      { counter: 2, lastUsedDay: Math.floor(now() / 86_400_000) },
    ])
  })

  test('that does not count logs in by each answer once, too', async () => {
    const person = await newPerson()
    const authenticator = new Authenticator('EdDSA', false)
    await addPasskey(person, authenticator)
    const response = await passkeyResponse(authenticator)
    const outcomes = await Promise.all([1, 2, 3].map(() => reasonOf(logInByPasskey(response))))
    expect(outcomes.toSorted()).toEqual(['PASSKEY_REFUSED', 'PASSKEY_REFUSED', 'logged in'])
    await logInByPasskey(await passkeyResponse(authenticator))
  })

  test('whose copy counted on is refused', async () => {
    const person = await newPerson()
    const authenticator = await withPasskey(person)
    const earlier = await passkeyResponse(authenticator)
    const later = await passkeyResponse(authenticator)
    await logInByPasskey(later)
    await expect(logInByPasskey(earlier)).rejects.toMatchObject(REFUSED)
  })

  test.each<[what: string, lose: (person: Person, id: string) => Promise<unknown>]>([
    ['was deleted', ({ setting }, id) => panel.factors.deletePasskey(setting, id)],
    [
      'belongs to a disabled user',
      ({ user }) => store.change('a test', (change) => change.setUserEnabled(user, false)),
    ],
    ['belongs to a deleted user', ({ user }) => store.change('a test', (change) => change.deleteUser(user))],
    ['belongs to who was invited again', ({ account, name }) => accept(account, name)],
  ])('that %s is refused, also where its answer was verified before', async (_what, lose) => {
    const person = await newPerson()
    const authenticator = await withPasskey(person)
    const proof = await panel.factors.provePasskey(LOGIN, await passkeyResponse(authenticator), ORIGIN)
    await lose(person, authenticator.id)
    await expect(panel.logIn.byPasskey(proof, request)).rejects.toMatchObject(REFUSED)
    const response = await passkeyResponse(authenticator)
    await expect(logInByPasskey(response)).rejects.toMatchObject(REFUSED)
  })

  test('confirms the session of its user, and no other one', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const [authenticator, another] = [await withPasskey(person), await withPasskey(other)]
    clock.nowMs += 600_000
    const what = { purpose: 'confirm', session: person.session.id } as const
    const confirm = async (key: Authenticator) => {
      const options = await panel.factors.passkeyOptions(what, person.user, ORIGIN)
      const proof = await panel.factors.provePasskey(what, key.get(options, ORIGIN), ORIGIN)
      return panel.logIn.confirmByPasskey(person.session, proof, request)
    }
    await expect(confirm(another)).rejects.toMatchObject(REFUSED)
    expect((await confirm(authenticator)).confirmedAtMs).toBe(now())
  })

  test('is added once, for one user, and 20 to each', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const options = await panel.factors.optionsOfNewPasskey(person.setting, ORIGIN)
    const authenticator = new Authenticator()
    const made = { name: 'a key', response: authenticator.create(options, ORIGIN) }
    const add = () => panel.factors.addPasskey(person.setting, made, ORIGIN)
    await expect(
      panel.factors.addPasskey(person.setting, { ...made, name: '' }, ORIGIN),
    ).rejects.toMatchObject({ violations: [{ field: 'name' }] })
    expect(await add()).toMatchObject({ id: authenticator.id, name: 'a key', lastUsedDay: undefined })
    await expect(add()).rejects.toMatchObject(REFUSED)
    await expect(addPasskey(other, authenticator)).rejects.toMatchObject({ reason: 'ALREADY_EXISTS' })
    for (let more = 1; more < 20; more++) await withPasskey(person)
    await expect(withPasskey(person)).rejects.toMatchObject({ reason: 'PASSKEYS_FULL' })
    await withPasskey(other)
  })
})

test('an invitation that is accepted removes the second factors', async () => {
  const person = await newPerson()
  await withCode(person)
  await withPasskey(person)
  await accept(person.account, person.name)
  expect(await panel.factors.codeSince(person.user.id)).toBeUndefined()
  expect(await panel.factors.passkeys(person.user.id)).toEqual([])
  await logIn(person)
})

test('the last factor can be deleted, what is not there cannot', async () => {
  const person = await newPerson()
  await withCode(person)
  const { id } = await withPasskey(person)
  await panel.factors.deletePasskey(person.setting, id)
  await panel.factors.deleteCode(person.setting)
  await logIn(person)
  for (const again of [
    () => panel.factors.deleteCode(person.setting),
    () => panel.factors.deletePasskey(person.setting, id),
    () => panel.factors.deletePasskey(person.setting, '\u0000'),
  ])
    await expect(again()).rejects.toMatchObject({ reason: 'NOT_FOUND' })
})

/** What becomes of the session of a change while the change waits for its turn, and what the change is told. */
const MEANWHILE: readonly [
  what: string,
  happens: (change: DirectoryChange, person: Person) => Promise<void>,
  reason: string,
][] = [
  [
    'ended',
    (change, { session }) => new PanelChange(change).logOut(session, ''),
    'REQUESTER_NOT_AUTHENTICATED',
  ],
  ['lost its user', (change, { user }) => change.setUserEnabled(user, false), 'REQUESTER_NOT_AUTHENTICATED'],
  [
    'was confirmed too long ago',
    async () => {
      clock.nowMs += 600_000
    },
    'REAUTHENTICATION_REQUIRED',
  ],
]

test.each(MEANWHILE)(
  'a change that waits while its session %s is not made',
  async (_what, happens, reason) => {
    const person = await newPerson()
    await withCode(person)
    const { id } = await withPasskey(person)
    const services = {
      ...{ controlPanel: panel, now, engine: compile(supportMatrix) },
      changeRates: new ChangeRates({ burst: 100, administratorPerMinute: 1, userPerMinute: 1 }),
      callers: new Callers([], now),
      trace: { refused: () => {} },
    } as unknown as FactorServices
    const call = { ...CALL, session: person.session.hash }
    const begun = await beginCode(services, call)
    const shown = { sealed: begun.sealed, code: codeAt(begun.secret.reveal(), now()) }
    const options = await optionsOfNewPasskey(services, call)
    const made = { name: 'another', response: new Authenticator().create(options, ORIGIN) }
    const before = [
      await panel.factors.codeSince(person.user.id),
      await panel.factors.passkeys(person.user.id),
    ]

    const held = Promise.withResolvers<void>()
    const holding = store.change('a test', async (change) => {
      await held.promise
      await happens(change, person)
    })
    const changes = [
      deleteCode(services, call),
      deletePasskey(services, call, id),
      setCode(services, call, shown),
      addOwnPasskey(services, call, made),
      replaceOwnPassword(services, call, {
        current: new Secret(PASSWORD),
        password: new Secret('a1'.repeat(9)),
      }),
    ].map(reasonOf)
    // One of them has begun, behind the change that is held.
    await eventually(() => {
      const { users = 0, revocations = 0 } = store.waiting
      return users + revocations === changes.length - 1
    })
    held.resolve()
    await holding
    expect(await Promise.all(changes)).toEqual(changes.map(() => reason))
    expect([
      await panel.factors.codeSince(person.user.id),
      await panel.factors.passkeys(person.user.id),
    ]).toEqual(before)
  },
)

test('strangers who ask for challenges, and answer them wrongly, leave nothing behind', async () => {
  const person = await newPerson()
  const authenticator = await withPasskey(person)
  const everything = async () =>
    JSON.stringify(await store.records.queries.all('SELECT * FROM panel_challenges ORDER BY hash'))
  const before = await everything()
  for (let index = 0; index < 50; index++) {
    const response = await passkeyResponse(authenticator)
    response.response.signature = randomBytes(70).toString('base64url')
    await expect(logInByPasskey(response)).rejects.toMatchObject(REFUSED)
  }
  expect(await everything()).toBe(before)
})
