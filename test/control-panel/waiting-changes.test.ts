/** Changes of second factors that wait for their turn: the session is looked at again when it comes. */
import { expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import type { DirectoryChange } from '../../sidecar/directory/change.ts'
import { PanelChange } from '../../sidecar/directory/panel-change.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import { ChangeRates } from '../../sidecar/usecases/change-rates.ts'
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
import { Authenticator } from '../support/authenticator.ts'
import { ORIGIN, PASSWORD, PanelStage, type Person, reasonOf } from '../support/panel-stage.ts'
import { eventually } from '../support/resources.ts'
import { codeAt } from '../support/totp.ts'

const CALL = {
  ...{ clientAddress: '203.0.113.1', connection: 'a test', requestId: 'a test', client: 'a test' },
  ...{ page: ORIGIN, session: undefined },
}

const stage = new PanelStage()

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
    const services = {
      ...{ controlPanel: stage.panel, now: stage.now, engine: compile(supportMatrix) },
      changeRates: new ChangeRates({ burst: 100, administratorPerMinute: 1, userPerMinute: 1 }),
      callers: new Callers([], stage.now),
      trace: { refused: () => {} },
    } as unknown as FactorServices
    const call = { ...CALL, session: person.session.hash }
    const begun = await beginCode(services, call)
    const shown = { sealed: begun.sealed, code: codeAt(begun.secret.reveal(), stage.now()) }
    const options = await optionsOfNewPasskey(services, call)
    const made = { name: 'another', response: new Authenticator().create(options, ORIGIN) }
    const before = [
      await stage.panel.factors.codeSince(person.user.id),
      await stage.panel.factors.passkeys(person.user.id),
    ]

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
    expect([
      await stage.panel.factors.codeSince(person.user.id),
      await stage.panel.factors.passkeys(person.user.id),
    ]).toEqual(before)
  },
)
