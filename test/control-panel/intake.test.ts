/**
 * Who waits where many ask at once: the calls of operators with a session come first, and a hint gives no
 * client a right.
 */
import { hash } from 'node:crypto'
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

test('so does the login of a caller by the caller token', async () => {
  expect(await strangersBefore({ authorization: [`Bearer ${TOKEN}`] })).toBeLessThan(20)
  expect(await strangersBefore({ authorization: ['Bearer x'] })).toBeGreaterThan(20)
})

test('a call does not where the caller was withdrawn; then connections take turns', async () => {
  const withdrawn = await strangersBefore({ session: OF_OPERATOR }, new Callers([]))
  expect(withdrawn).toBeGreaterThan(20)
  expect(withdrawn).toBe(await strangersBefore({ session: OF_NOBODY }))
})
