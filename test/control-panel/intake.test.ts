/**
 * The callers who wait where many ask at once: the calls of operators with a session come first, and a hint
 * gives no client a right.
 */
import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Caller, Callers } from '../../sidecar/usecases/callers.ts'
import { Intake } from '../../sidecar/usecases/intake.ts'

const TOKEN = 'a-caller-token'
const DIGEST = hash('sha256', TOKEN, 'buffer')
const [OF_OPERATOR, OF_NOBODY] = [Buffer.alloc(32, 2), Buffer.alloc(32, 3)]

const CLERK: Caller = {
  name: 'clerk',
  tokenSha256: DIGEST.toString('hex'),
  certificateName: undefined,
  profiles: new Set(),
  rights: { everything: true, revoke: false, read: false, follow: false, administer: new Set() },
  expiresAtMs: undefined,
}

/** How many of a thousand calls of strangers begin before the one with the session. */
async function strangersBefore(
  presented: Parameters<Intake['turn']>[1],
  callers = new Callers([CLERK]),
): Promise<number> {
  const known = { callerBefore: (hash: Buffer) => (hash.equals(OF_OPERATOR) ? DIGEST : undefined) }
  const intake = new Intake(callers, known)
  let strangers = 0
  const begun = Array.from({ length: 1_000 }, async (_, index) => {
    await intake.turn(`stranger ${index % 100}`, { session: OF_NOBODY })
    strangers++
  })
  await intake.turn('page', presented)
  const before = strangers
  await Promise.all(begun)
  return before
}

test('a call of an operator with a session begins before strangers who came earlier', async () => {
  expect(await strangersBefore({ session: OF_OPERATOR })).toBeLessThan(20)
})

test('a login by a caller token begins before them, too', async () => {
  expect(await strangersBefore({ authorization: [`Bearer ${TOKEN}`] })).toBeLessThan(20)
  expect(await strangersBefore({ authorization: ['Bearer x'] })).toBeGreaterThan(20)
})

test('a call of a withdrawn caller does not; then connections take turns', async () => {
  const withdrawn = await strangersBefore({ session: OF_OPERATOR }, new Callers([]))
  expect(withdrawn).toBeGreaterThan(20)
  expect(withdrawn).toBe(await strangersBefore({ session: OF_NOBODY }))
})

test('a caller with a certificate comes first, where sessions are off too', async () => {
  const name = 'dns:clerk.example'
  const callers = new Callers([{ ...CLERK, tokenSha256: undefined, certificateName: name }])
  expect(await strangersBefore({ certificateNames: [name] }, callers)).toBeLessThan(20)
  const intake = new Intake(callers)
  const turns = ['no session', 'a session'].map((connection) =>
    intake.turn(connection, connection === 'a session' ? { session: OF_OPERATOR } : undefined),
  )
  expect(await Promise.all(turns)).toEqual([undefined, undefined])
})

test('four calls begin in a turn of the event loop, and the others wait in their lane', async () => {
  const intake = new Intake(new Callers([CLERK]))
  let begun = 0
  const turns = Array.from({ length: 9 }, async () => {
    await intake.turn('c')
    begun++
  })
  for (const [waiting, then] of [
    [5, 4],
    [1, 8],
    [0, 9],
  ]) {
    expect(intake.waiting).toEqual({ callers: 0, others: waiting, followers: 0 })
    await setImmediate()
    expect(begun).toBe(then)
  }
  await Promise.all(turns)
})

test('a bounded number of calls waits, and then the connection with most of them is refused', async () => {
  const intake = new Intake(new Callers([CLERK]))
  const turns = Array.from({ length: 2_005 }, () => intake.turn('c'))
  const stranger = intake.turn('another')
  const outcomes = await Promise.allSettled([...turns, stranger])
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  expect(refused.map(({ message }) => message)).toEqual(
    Array(2).fill('too many calls are waiting for the directory; try again later'),
  )
  expect(outcomes.at(-1)?.status).toBe('fulfilled')
})

test('of followers, the one that has waited longest since its last turn comes first, and no other call waits for them', async () => {
  const intake = new Intake(new Callers([CLERK]))
  const begun: string[] = []
  const { promise: isDone, resolve: end } = Promise.withResolvers<void>()
  const ask = (connection: string) =>
    intake.follower('hosts', connection, async () => {
      begun.push(connection)
      await isDone
    })
  const asked = [...Array(20).fill('busy'), 'b', 'c', 'b', ...Array(3).fill('busy')].map(ask)
  // Eight of them are answered at the same time.
  expect(begun).toEqual(Array(8).fill('busy'))
  expect(intake.waiting).toEqual({ callers: 0, others: 0, followers: 18 })
  await intake.turn('a revocation')
  expect(begun).toHaveLength(8)
  end()
  await Promise.all(asked)
  expect(begun.slice(8, 14)).toEqual(['busy', 'b', 'c', 'busy', 'b', 'busy'])
})
