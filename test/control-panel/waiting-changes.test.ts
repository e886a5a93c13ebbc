/** Changes of second factors that wait for their turn: the session is looked at again when it comes. */
import { expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import { FactorRecords } from '../../sidecar/directory/factor-records.ts'
import { PanelChange } from '../../sidecar/directory/panel-change.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'
import { confirmSession } from '../../sidecar/usecases/control-panel/confirm-session.ts'
import {
  addPasskey,
  beginCode,
  deleteCode,
  deletePasskey,
  type FactorServices,
  optionsOfNewPasskey,
  replaceOwnPassword,
  setCode,
} from '../../sidecar/usecases/control-panel/factors.ts'
import { acceptInvitation, logInByLink } from '../../sidecar/usecases/control-panel/log-in.ts'
import {
  callFrom,
  ORIGIN,
  PASSWORD,
  PanelStage,
  type Person,
  reasonOf,
} from '../support/console/panel-stage.ts'
import { Authenticator } from '../support/identity/authenticator.ts'
import { codeAt } from '../support/identity/totp.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { eventually } from '../support/suite/resources.ts'

const CALL = {
  ...{ clientAddress: '203.0.113.1' as const, connection: 'a test', requestId: 'a test', client: 'a test' },
  ...{ page: ORIGIN, session: undefined },
}

const stage = new PanelStage()

const factorServices = () =>
  ({
    ...{ controlPanel: stage.panel, now: stage.now, engine: compile(supportMatrix) },
    changeRates: new ChangeRates({ burst: 100, administratorPerMinute: 1, userPerMinute: 1 }),
    callers: new Callers([], stage.now),
    trace: { refused: () => {} },
  }) as unknown as FactorServices

/**
 * The fate of a change's session while the change waits for its turn, and the answer to the change.
 */
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
      stage.clock.nowMs += 600_000
    },
    'REAUTHENTICATION_REQUIRED',
  ],
]

test.each(MEANWHILE)(
  'a change that waits while its session %s is not made',
  async (_what, happens, reason) => {
    const person = await stage.newPerson()
    await stage.withCode(person)
    const { id } = await stage.withPasskey(person)
    const services = factorServices()
    const call = { ...CALL, session: person.session.hash }
    const begun = await beginCode(services, call)
    const shown = { sealed: begun.sealed, code: codeAt(begun.secret.reveal(), stage.now()) }
    const options = await optionsOfNewPasskey(services, call)
    const made = { name: 'another', response: new Authenticator().create(options, ORIGIN) }
    const factors = new FactorRecords(stage.store.records)
    const { user } = person
    const before = [await factors.code(user.id), await factors.passkeys(user.id)]

    const held = Promise.withResolvers<void>()
    const holding = stage.store.change('a test', async (change) => {
      await held.promise
      await happens(change, person)
    })
    const changes = [
      deleteCode(services, call),
      deletePasskey(services, call, id),
      setCode(services, call, shown),
      addPasskey(services, call, made),
      replaceOwnPassword(services, call, {
        current: new Secret(PASSWORD),
        password: new Secret('a1'.repeat(9)),
      }),
    ].map(reasonOf)
    // One of them has begun, behind the change that is held.
    await eventually(() => {
      const { users = 0, revocations = 0 } = stage.store.waiting
      return users + revocations === changes.length - 1
    })
    held.resolve()
    await holding
    expect(await Promise.all(changes)).toEqual(changes.map(() => reason))
    expect([await factors.code(user.id), await factors.passkeys(user.id)]).toEqual(before)
  },
)

const linkFor = async ({ account, name }: Person, purpose: 'invitation' | 'login') =>
  (await stage.panel.links.create(TESTER, account, name, purpose)).secret.reveal()

/** Ways to a session, a proof or a password, with what a user had before their rights rose. */
const WAYS_IN: readonly [what: string, begin: (person: Person) => Promise<() => Promise<unknown>>][] = [
  ['a login by a password', async (person) => () => stage.logIn(person)],
  [
    'a login by a password and a code',
    async (person) => {
      const secret = await stage.withCode(person)
      return () => stage.logIn(person, codeAt(secret, stage.now()))
    },
  ],
  [
    'a login by a passkey',
    async (person) => {
      const answer = await stage.answerOf(await stage.withPasskey(person))
      return () => stage.logInByPasskey(answer)
    },
  ],
  [
    'a login by a link',
    async (person) => {
      const secret = await linkFor(person, 'login')
      return () => logInByLink(stage.services, callFrom(), secret)
    },
  ],
  [
    'the use of an invitation',
    async (person) => {
      const secret = await linkFor(person, 'invitation')
      return () => acceptInvitation(stage.services, callFrom(), secret, new Secret(PASSWORD))
    },
  ],
  [
    'a new proof in a session',
    async (person) => {
      const proof = { type: 'password', password: new Secret(PASSWORD), code: undefined } as const
      return () => confirmSession(...stage.own(person), person.session, proof)
    },
  ],
  [
    'the first password, in a session of a link',
    async (person) => {
      // As of a user without an invitation: there is no current password to ask for.
      await stage.store.change('a test', async (change) => {
        const { id } = person.user
        await change.writer.queries.all('DELETE FROM panel_passwords WHERE user_id = :id', { id })
      })
      const { session } = await logInByLink(stage.services, callFrom(), await linkFor(person, 'login'))
      const call = { ...CALL, session: session.hash }
      const password = new Secret('a1'.repeat(9))
      return () => replaceOwnPassword(factorServices(), call, { current: undefined, password })
    },
  ],
]

/** Begins what waits behind a change. @returns why it was not made */
async function reasonBehind(
  attempt: () => Promise<unknown>,
  happens: (change: DirectoryChange) => Promise<unknown>,
): Promise<string> {
  const held = Promise.withResolvers<void>()
  using changes = vi.spyOn(stage.store, 'change')
  const holding = stage.store.change('a test', async (change) => {
    await held.promise
    await happens(change)
  })
  const outcome = reasonOf(attempt())
  await eventually(() => changes.mock.calls.length === 2)
  held.resolve()
  await holding
  return outcome
}

test.each(WAYS_IN)('%s that waits while its user becomes an owner is not made', async (_what, begin) => {
  const person = await stage.newPerson()
  const attempt = await begin(person)
  const reason = await reasonBehind(attempt, (change) => change.setOwner(person.user, true))
  expect(reason).not.toBe('succeeded')
  expect(await stage.panel.sessions.list(person.user)).toEqual([])
  expect(await stage.panel.passwords.since(person.user.id)).toBeUndefined()
})

test.each(WAYS_IN)(
  '%s that waits while its account restricts addresses is not made',
  async (_what, begin) => {
    const person = await stage.newPerson()
    const attempt = await begin(person)
    const before = await stage.panel.sessions.list(person.user)
    const reason = await reasonBehind(attempt, async (change) => {
      const account = await change.records.account(person.account)
      if (account !== undefined) await change.setAddressRules(account, ['192.0.2.0/24'])
    })
    expect(reason).toBe('ADDRESS_NOT_ALLOWED')
    expect(await stage.panel.sessions.list(person.user)).toEqual(before)
  },
)
