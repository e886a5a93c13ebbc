/** Second factors of control panel users: what is stored of them, and what their use uses up. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { AlreadyExists } from '../../../sidecar/directory/database.ts'
import { FactorChange } from '../../../sidecar/directory/factor-change.ts'
import { FactorRecords } from '../../../sidecar/directory/factor-records.ts'
import { changing, newPanelUser } from './people.ts'
import type { Subject } from './subject.ts'

const DAY_MS = 86_400_000
/** More than 32 bits with a sign have: authenticators count to 2^32 - 1. */
const LARGE = 4_294_967_295

export function factorsContract(subject: () => Subject): void {
  const factors = <T>(work: (change: FactorChange) => Promise<T>): Promise<T> =>
    changing(subject(), (change) => work(new FactorChange(change)))
  const records = () => new FactorRecords(subject().store.records)
  const newCode = () => ({ secret: randomBytes(48), sealedWith: 'a fingerprint' })
  const newPasskey = (counter = 0) => ({
    ...{ id: randomBytes(16).toString('base64url'), name: 'a key', publicKey: randomBytes(77), counter },
    transports: ['internal', 'usb'],
  })
  const actionsOf = async (account: string) =>
    (await subject().store.records.audit(account, { after: '0', size: 100 }))
      .filter(({ action }) => action.startsWith('control_panel_user.') && !action.endsWith('.create'))
      .map(({ action, subject: whom, details }) => ({ action, whom, details }))

  test('a one-time code is read as it was set, until it is replaced or deleted', async () => {
    const { user } = await newPanelUser(subject())
    const [one, other] = [newCode(), newCode()]
    expect(await records().code(user.id)).toBeUndefined()
    expect(await records().kinds(user.id)).toEqual({ code: false, passkey: false })
    await factors((change) => change.setCode(user, one, 7))
    expect(await records().code(user.id)).toEqual({ ...one, createdAtMs: subject().clock.nowMs })
    expect(await records().kinds(user.id)).toEqual({ code: true, passkey: false })
    await factors((change) => change.setCode(user, other, 7))
    expect(await records().code(user.id)).toMatchObject(other)
    expect(await factors((change) => change.deleteCode(user))).toBe(true)
    expect(await factors((change) => change.deleteCode(user))).toBe(false)
    expect(await records().code(user.id)).toBeUndefined()
    const [set, deleted] = ['set_code', 'delete_code'].map((verb) => ({
      ...{ action: `control_panel_user.${verb}`, whom: 'person', details: {} },
    }))
    expect(await actionsOf(user.account)).toEqual([set, set, deleted])
  })

  test('a step is used once, and those before it not at all', async () => {
    const { user } = await newPanelUser(subject())
    const code = newCode()
    await factors((change) => change.setCode(user, code, 7))
    const used = []
    for (const step of [6, 7, 8, 8, 7, 10, 9, 11])
      used.push(await factors((change) => change.useStep(user.id, code, step)))
    expect(used).toEqual([false, false, true, false, false, true, false, true])
    const atOnce = Array.from({ length: 5 }, () => factors((change) => change.useStep(user.id, code, 12)))
    expect((await Promise.all(atOnce)).filter(Boolean)).toHaveLength(1)
  })

  test('no step of a code is used that was replaced meanwhile', async () => {
    const { user } = await newPanelUser(subject())
    const [before, after] = [newCode(), newCode()]
    await factors((change) => change.setCode(user, before, 1))
    await factors((change) => change.setCode(user, after, 1))
    expect(await factors((change) => change.useStep(user.id, before, 2))).toBe(false)
    expect(await factors((change) => change.useStep(user.id, after, 2))).toBe(true)
  })

  test('passkeys are read as they were added, the oldest first', async () => {
    const { user } = await newPanelUser(subject())
    const { clock } = subject()
    const [one, other] = [newPasskey(LARGE), { ...newPasskey(), transports: [] }]
    await factors((change) => change.addPasskey(user, one))
    clock.nowMs++
    await factors((change) => change.addPasskey(user, other))
    const added = { userId: user.id, lastUsedDay: undefined }
    expect(await records().passkeys(user.id)).toEqual([
      { ...one, ...added, createdAtMs: clock.nowMs - 1 },
      { ...other, ...added, createdAtMs: clock.nowMs },
    ])
    expect(await records().passkey(one.id)).toMatchObject(one)
    expect(await records().passkey('another')).toBeUndefined()
    expect(await records().kinds(user.id)).toEqual({ code: false, passkey: true })
  })

  test('a passkey belongs to one user, who alone deletes it', async () => {
    const { user } = await newPanelUser(subject())
    const { user: another } = await newPanelUser(subject())
    const passkey = newPasskey()
    await factors((change) => change.addPasskey(user, passkey))
    await expect(factors((change) => change.addPasskey(another, passkey))).rejects.toThrow(AlreadyExists)
    expect(await factors((change) => change.deletePasskey(another, passkey.id))).toBe(false)
    expect(await factors((change) => change.deletePasskey(user, passkey.id))).toBe(true)
    expect(await records().passkeys(user.id)).toEqual([])
    expect(await actionsOf(user.account)).toEqual(
      ['add_passkey', 'delete_passkey'].map((verb) => ({
        action: `control_panel_user.${verb}`,
        ...{ whom: 'person', details: { name: 'a key', id: passkey.id } },
      })),
    )
    expect(await actionsOf(another.account)).toEqual([])
  })

  test('a passkey that counts must count on, and one that does not is used again and again', async () => {
    const { user } = await newPanelUser(subject())
    const { clock } = subject()
    const [counting, silent] = [newPasskey(3), newPasskey()]
    await factors((change) => change.addPasskey(user, counting))
    await factors((change) => change.addPasskey(user, silent))
    const used = []
    for (const counter of [3, 2, 0, 4, 4, LARGE])
      used.push(await factors((change) => change.usePasskey(counting.id, counter)))
    expect(used).toEqual([false, false, false, true, false, true])
    expect(await records().passkey(counting.id)).toMatchObject({
      counter: LARGE,
      lastUsedDay: Math.floor(clock.nowMs / DAY_MS),
    })
    for (const expected of [true, true])
      expect(await factors((change) => change.usePasskey(silent.id, 0))).toBe(expected)
    expect(await factors((change) => change.usePasskey('another', 1))).toBe(false)
  })

  test('a challenge is answered once, also by several at the same time', async () => {
    const { clock } = subject()
    const challenge = { hash: randomBytes(32), endsAtMs: clock.nowMs + 1_000 }
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => factors((change) => change.useChallenge(challenge))),
    )
    expect(answers.filter(Boolean)).toHaveLength(1)
  })

  test('a change uses up a secret only if the change is made', async () => {
    const { user } = await newPanelUser(subject())
    const [code, passkey] = [newCode(), newPasskey(1)]
    const challenge = { hash: randomBytes(32), endsAtMs: subject().clock.nowMs + 60_000 }
    await factors((change) => change.setCode(user, code, 1))
    await factors((change) => change.addPasskey(user, passkey))
    const useAll = async (change: FactorChange) => [
      await change.useStep(user.id, code, 2),
      await change.usePasskey(passkey.id, 2),
      await change.useChallenge(challenge),
    ]
    await expect(
      factors(async (change) => {
        await useAll(change)
        throw new RangeError('in the middle')
      }),
    ).rejects.toThrow('in the middle')
    expect(await factors(useAll)).toEqual([true, true, true])
    expect(await factors(useAll)).toEqual([false, false, false])
  })
}
