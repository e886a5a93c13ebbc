/** Logging in with a passkey: by each answer once, while it is the user's, and no other one. */
import { randomBytes } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { confirmSession } from '../../sidecar/usecases/control-panel/confirm-session.ts'
import {
  addPasskey,
  deletePasskey,
  factorsOf,
  optionsOfNewPasskey,
} from '../../sidecar/usecases/control-panel/factors.ts'
import { passkeyChallenge } from '../../sidecar/usecases/control-panel/log-in.ts'
import { ORIGIN, PanelStage, type Person, reasonOf } from '../support/console/panel-stage.ts'
import { Authenticator } from '../support/identity/authenticator.ts'

const REFUSED = { reason: 'PASSKEY_REFUSED' }

const stage = new PanelStage()

test('a passkey logs in by itself, also a user with a one-time code, and each answer once', async () => {
  const person = await stage.newPerson()
  await stage.withCode(person)
  const authenticator = await stage.withPasskey(person)
  const response = await stage.answerOf(authenticator)
  const { session } = await stage.logInByPasskey(response)
  expect(session).toMatchObject({ holder: 'user', user: { id: person.user.id } })
  await expect(stage.logInByPasskey(response)).rejects.toMatchObject(REFUSED)
  await stage.logInByPasskey(await stage.answerOf(authenticator))
  expect((await factorsOf(...stage.own(person))).passkeys).toMatchObject([
    { counter: 2, lastUsedDay: Math.floor(stage.now() / 86_400_000) },
  ])
})

test('a passkey that does not count logs in by each answer once, too', async () => {
  const person = await stage.newPerson()
  const authenticator = new Authenticator('EdDSA', false)
  await stage.addPasskey(person, authenticator)
  const response = await stage.answerOf(authenticator)
  const outcomes = await Promise.all([1, 2, 3].map(() => reasonOf(stage.logInByPasskey(response))))
  expect(outcomes.toSorted()).toEqual(['PASSKEY_REFUSED', 'PASSKEY_REFUSED', 'succeeded'])
  await stage.logInByPasskey(await stage.answerOf(authenticator))
})

test('a passkey whose copy counted on is refused', async () => {
  const person = await stage.newPerson()
  const authenticator = await stage.withPasskey(person)
  const earlier = await stage.answerOf(authenticator)
  const later = await stage.answerOf(authenticator)
  await stage.logInByPasskey(later)
  await expect(stage.logInByPasskey(earlier)).rejects.toMatchObject(REFUSED)
})

test.each<[what: string, lose: (person: Person, id: string) => Promise<unknown>]>([
  ['was deleted', (person, id) => deletePasskey(...stage.own(person), id)],
  [
    'belongs to a disabled user',
    ({ user }) => stage.store.change('a test', (change) => change.setUserEnabled(user, false)),
  ],
  [
    'belongs to a deleted user',
    ({ user }) => stage.store.change('a test', (change) => change.deleteUser(user)),
  ],
  ['belongs to a user who was invited again', ({ account, name }) => stage.accept(account, name)],
])('a passkey that %s is refused, also where its answer was verified before', async (_what, lose) => {
  const person = await stage.newPerson()
  const authenticator = await stage.withPasskey(person)
  const { passkeys } = stage.panel
  const verify = passkeys.verify.bind(passkeys)
  vi.spyOn(passkeys, 'verify').mockImplementationOnce(async (...given) => {
    const verified = await verify(...given)
    await lose(person, authenticator.id)
    return verified
  })
  await expect(stage.logInByPasskey(await stage.answerOf(authenticator))).rejects.toMatchObject(REFUSED)
  const response = await stage.answerOf(authenticator)
  await expect(stage.logInByPasskey(response)).rejects.toMatchObject(REFUSED)
})

test('a passkey confirms the session of its user, and no other one', async () => {
  const [person, other] = [await stage.newPerson(), await stage.newPerson()]
  const [authenticator, another] = [await stage.withPasskey(person), await stage.withPasskey(other)]
  stage.clock.nowMs += 600_000
  const confirm = async (key: Authenticator) => {
    const response = key.get(await passkeyChallenge(...stage.own(person)), ORIGIN)
    return confirmSession(...stage.own(person), person.session, { type: 'passkey', response })
  }
  await expect(confirm(another)).rejects.toMatchObject(REFUSED)
  expect((await confirm(authenticator)).confirmedAtMs).toBe(stage.now())
})

test('a passkey is added once, for one user, and 20 to each', async () => {
  const [person, other] = [await stage.newPerson(), await stage.newPerson()]
  const options = await optionsOfNewPasskey(...stage.own(person))
  const authenticator = new Authenticator()
  const made = { name: 'a key', response: authenticator.create(options, ORIGIN) }
  const add = (more: object = {}) => addPasskey(...stage.own(person), { ...made, ...more })
  await expect(add({ name: '' })).rejects.toMatchObject({ violations: [{ field: 'name' }] })
  expect(await add()).toMatchObject({ id: authenticator.id, name: 'a key', lastUsedDay: undefined })
  await expect(add()).rejects.toMatchObject(REFUSED)
  await expect(stage.addPasskey(other, authenticator)).rejects.toMatchObject({ reason: 'ALREADY_EXISTS' })
  for (let more = 1; more < 20; more++) await stage.withPasskey(person)
  await expect(stage.withPasskey(person)).rejects.toMatchObject({ reason: 'PASSKEYS_FULL' })
  await stage.withPasskey(other)
})

test('a passkey logs in and confirms from an address that the account allows, and is not used up elsewhere', async () => {
  const person = await stage.newPerson()
  const authenticator = await stage.withPasskey(person)
  const response = await stage.answerOf(authenticator)
  const toConfirm = authenticator.get(await passkeyChallenge(...stage.own(person)), ORIGIN)
  const confirm = () =>
    confirmSession(...stage.own(person), person.session, { type: 'passkey', response: toConfirm })
  const restrict = (cidrs: string[]) =>
    stage.store.change('a test', async (change) => {
      const account = await change.records.account(person.account)
      if (account !== undefined) await change.setAddressRules(account, cidrs)
    })
  await restrict(['198.51.100.0/24'])
  await expect(stage.logInByPasskey(response)).rejects.toMatchObject({ reason: 'ADDRESS_NOT_ALLOWED' })
  await expect(confirm()).rejects.toMatchObject({ reason: 'ADDRESS_NOT_ALLOWED' })
  await restrict(['203.0.113.0/24'])
  await stage.logInByPasskey(response)
  expect((await confirm()).confirmedAtMs).toBe(stage.now())
})

test('strangers who ask for challenges, and answer them wrongly, leave nothing behind', async () => {
  const person = await stage.newPerson()
  const authenticator = await stage.withPasskey(person)
  const everything = async () =>
    JSON.stringify(await stage.store.records.queries.all('SELECT * FROM panel_challenges ORDER BY hash'))
  const before = await everything()
  for (let index = 0; index < 50; index++) {
    const response = await stage.answerOf(authenticator)
    response.response.signature = randomBytes(70).toString('base64url')
    await expect(stage.logInByPasskey(response)).rejects.toMatchObject(REFUSED)
  }
  expect(await everything()).toBe(before)
})
