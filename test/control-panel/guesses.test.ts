/** People's passwords and codes can be guessed with patience, or from many networks. Both gain little. */
import { beforeEach, expect, test } from 'vitest'
import { nameOfSource, sourceAt } from '../../sidecar/authority/login-source.ts'
import { FailedLogins, type LoginAttempt, type LoginOutcome } from '../../sidecar/authority/throttle.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'

const FAILURES = 3
const PAUSE_MS = 5_000
const USER = { account: ACCOUNT, userName: 'user' }

const clock = { nowMs: 0 }
let logins: FailedLogins
beforeEach(() => {
  clock.nowMs = 1_000_000
  logins = new FailedLogins({ failures: FAILURES, pauseMs: PAUSE_MS }, () => clock.nowMs)
})

/** Whether a login is let through; then it is abandoned. */
async function admitted(attempt: LoginAttempt): Promise<boolean> {
  const [outcome] = await Promise.allSettled([logins.admit(attempt)])
  if (outcome?.status === 'fulfilled') outcome.value('abandoned')
  return outcome?.status === 'fulfilled'
}

/** Logins one after the other that end so. */
async function end(times: number, outcome: LoginOutcome, attempt: LoginAttempt): Promise<void> {
  for (let index = 0; index < times; index++) (await logins.admit(attempt))(outcome)
}

const DAY_MS = 24 * 3_600_000
const LOOK_MS = 4 * PAUSE_MS
const sources = Array.from({ length: 200 }, (_, index) =>
  nameOfSource(sourceAt(`2001:db8:1:${index.toString(16)}::1`)),
)

/** Looks whether they may guess three times a minute, for a day. Returns how often they guessed. */
async function guessesOfADay(attempt: (index: number) => LoginAttempt): Promise<number> {
  let guesses = 0
  for (let steps = 0; steps < DAY_MS / LOOK_MS; steps++, clock.nowMs += LOOK_MS)
    while (await admitted(attempt(steps + guesses))) {
      await end(1, 'failed', attempt(steps + guesses))
      guesses++
    }
  return guesses
}

const CODES: LoginAttempt = { ...USER, source: 'codes of user', guesses: 'code' }
const from = (source: string | undefined): LoginAttempt => ({
  ...{ ...USER, guesses: 'chosen password' },
  source: source ?? 'nowhere',
})

test('codes of a user are guessed no more than 200 times a day', async () => {
  expect(await guessesOfADay(() => CODES)).toBeLessThan(200)
})

test('the pause doubles up to a quarter of an hour, and a right code ends that', async () => {
  await end(FAILURES, 'failed', CODES)
  for (const seconds of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]) {
    clock.nowMs += seconds * 1000 - 1
    expect(await admitted(CODES)).toBe(false)
    clock.nowMs += 1
    await end(1, 'failed', CODES)
  }
  clock.nowMs += 900_000
  await end(1, 'succeeded', CODES)
  await end(FAILURES, 'failed', CODES)
  clock.nowMs += PAUSE_MS
  expect(await admitted(CODES)).toBe(true)
})

test('passwords of a user are guessed from many networks no more than 300 times a day', async () => {
  expect(await guessesOfADay((index) => from(sources[index % sources.length]))).toBeLessThan(300)
})

test('a network where the user has logged in is spared, and so are other users', async () => {
  await end(1, 'succeeded', from('home'))
  const outcomes = []
  for (const source of sources) {
    const isAdmitted = await admitted(from(source))
    if (isAdmitted) await end(1, 'failed', from(source))
    outcomes.push(isAdmitted)
  }
  expect(outcomes.filter(Boolean)).toHaveLength(100)
  await expect(logins.admit(from('elsewhere'))).rejects.toThrow(
    'too many failed logins of this user; try again in 5 s',
  )
  expect(await admitted(from('home'))).toBe(true)
  expect(await admitted({ ...from('elsewhere'), userName: 'other' })).toBe(true)
  clock.nowMs += PAUSE_MS
  await end(1, 'succeeded', from('elsewhere'))
  expect(await admitted(from('a third place'))).toBe(true)
})

test('passwords that a machine has count from each source alone', async () => {
  for (const source of sources) await end(1, 'failed', { ...USER, source })
  expect(await admitted({ ...USER, source: 'elsewhere' })).toBe(true)
})
