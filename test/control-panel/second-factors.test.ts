/**
 * Second factors at a login: a user with one cannot log in without it, and a code cannot be guessed
 * or repeated.
 */
import { describe, expect, test, vi } from 'vitest'
import { Secret } from '../../sidecar/base/secret.ts'
import { confirmSession } from '../../sidecar/usecases/control-panel/confirm-session.ts'
import {
  deleteCode,
  deletePasskey,
  factorsOf,
  replaceOwnPassword,
} from '../../sidecar/usecases/control-panel/factors.ts'
import {
  callFrom,
  FAILURES,
  PASSWORD,
  PAUSE_MS,
  PanelStage,
  reasonOf,
  STEP_MS,
} from '../support/console/panel-stage.ts'
import { codeAt, wrongCodeAt } from '../support/identity/totp.ts'

const stage = new PanelStage()

describe('a password', () => {
  test('is enough without a second factor, and else asks for one that there is', async () => {
    const person = await stage.newPerson()
    await stage.logIn(person)
    await stage.withCode(person)
    const asked = { reason: 'SECOND_FACTOR_REQUIRED', code: 'UNAUTHENTICATED' }
    await expect(stage.logIn(person)).rejects.toMatchObject({ ...asked, metadata: { ways: 'code' } })
    await stage.withPasskey(person)
    await expect(stage.logIn(person)).rejects.toMatchObject({ ...asked, metadata: { ways: 'code passkey' } })
    await deleteCode(...stage.own(person))
    for (const code of [undefined, ...Array.from({ length: FAILURES + 1 }, () => '123456')])
      await expect(stage.logIn(person, code)).rejects.toMatchObject({
        ...asked,
        metadata: { ways: 'passkey' },
      })
  })

  test('that is wrong does not reveal a second factor, whatever code comes with it', async () => {
    const [person, other] = [await stage.newPerson(), await stage.newPerson()]
    const secret = await stage.withCode(person)
    for (const code of [undefined, codeAt(secret, stage.now())]) {
      expect(await reasonOf(stage.logIn(person, code, 'a wrong password'))).toBe('LOGIN_FAILED')
      expect(await reasonOf(stage.logIn(other, code, 'a wrong password'))).toBe('LOGIN_FAILED')
    }
  })

  test('that is replaced ends the other sessions, and needs the current one', async () => {
    const person = await stage.newPerson()
    const other = await stage.logIn(person)
    const to = new Secret('another good password')
    const replace = (current: string | undefined, password = to) =>
      replaceOwnPassword(...stage.own(person), {
        ...{ current: current === undefined ? undefined : new Secret(current), password },
      })
    await expect(replace('a wrong password')).rejects.toMatchObject({ reason: 'LOGIN_FAILED' })
    await expect(replace(undefined)).rejects.toMatchObject({ violations: [{ field: 'current' }] })
    await expect(replace(PASSWORD, new Secret(PASSWORD))).rejects.toMatchObject({
      violations: [{ field: 'password' }],
    })
    await expect(replace(PASSWORD, new Secret('short'))).rejects.toMatchObject({
      violations: [{ field: 'password' }],
    })
    expect(await stage.panel.sessions.find(other.session.hash)).toBeDefined()
    await replace(PASSWORD)
    expect(await stage.panel.sessions.find(other.session.hash)).toBeUndefined()
    expect(await stage.panel.sessions.find(person.session.hash)).toBeDefined()
    expect(await reasonOf(stage.logIn(person))).toBe('LOGIN_FAILED')
    await stage.logIn(person, undefined, to.reveal())
  })

  test('that is guessed from many networks is throttled for its user, but not where they have logged in', async () => {
    const person = await stage.newPerson()
    await stage.logIn(person)
    const { account, name: userName } = person
    for (let index = 0; index < 100; index++) {
      const source = `address 2001:db8:1:${index.toString(16)}::/64`
      const attempt = { account, userName, source, guesses: 'chosen password' } as const
      const settle = await stage.failedLogins.admit(attempt)
      settle('failed')
    }
    const elsewhere = () => stage.logIn(person, undefined, PASSWORD, callFrom('198.51.100.1'))
    expect(await reasonOf(elsewhere())).toBe('LOGIN_THROTTLED')
    await stage.logIn(person)
    stage.clock.nowMs += PAUSE_MS
    await elsewhere()
  })

  test('that is guessed as the current one is throttled', async () => {
    const person = await stage.newPerson()
    const replace = (current: string) =>
      replaceOwnPassword(...stage.own(person), {
        ...{ current: new Secret(current), password: new Secret('another good password') },
      })
    for (let guess = 0; guess < FAILURES; guess++)
      expect(await reasonOf(replace(`guess number ${guess}`))).toBe('LOGIN_FAILED')
    expect(await reasonOf(replace(PASSWORD))).toBe('LOGIN_THROTTLED')
    expect(await reasonOf(stage.logIn(person))).toBe('LOGIN_THROTTLED')
  })
})

describe('a one-time code', () => {
  test('logs in once, and the code that set it up does not', async () => {
    const person = await stage.newPerson()
    const secret = await stage.withCode(person)
    expect(await reasonOf(stage.logIn(person, codeAt(secret, stage.now() - STEP_MS)))).toBe('CODE_WRONG')
    const code = codeAt(secret, stage.now())
    await stage.logIn(person, code)
    expect(await reasonOf(stage.logIn(person, code))).toBe('CODE_WRONG')
    stage.clock.nowMs += STEP_MS
    await stage.logIn(person, codeAt(secret, stage.now()))
  })

  test('logs in one of several who send it at the same time', async () => {
    const person = await stage.newPerson()
    const code = codeAt(await stage.withCode(person), stage.now())
    const outcomes = await Promise.all([1, 2, 3].map(() => reasonOf(stage.logIn(person, code))))
    expect(outcomes.toSorted()).toEqual(['CODE_WRONG', 'CODE_WRONG', 'succeeded'])
  })

  test('is not used up by a login that fails', async () => {
    const person = await stage.newPerson()
    const code = codeAt(await stage.withCode(person), stage.now())
    vi.spyOn(stage.changeRates, 'spend').mockImplementationOnce(() => {
      throw new RangeError('too many changes')
    })
    await expect(stage.logIn(person, code)).rejects.toThrow(RangeError)
    expect(await reasonOf(stage.logIn(person, code, 'a wrong password'))).toBe('LOGIN_FAILED')
    await stage.logIn(person, code)
  })

  test('is guessed a few times, and a right password without one gives no more guesses', async () => {
    const person = await stage.newPerson()
    const secret = await stage.withCode(person)
    for (let guess = 0; guess < FAILURES; guess++) {
      expect(await reasonOf(stage.logIn(person))).toBe('SECOND_FACTOR_REQUIRED')
      expect(await reasonOf(stage.logIn(person, wrongCodeAt(secret, stage.now())))).toBe('CODE_WRONG')
    }
    expect(await reasonOf(stage.logIn(person, codeAt(secret, stage.now())))).toBe('LOGIN_THROTTLED')
    stage.clock.nowMs += PAUSE_MS
    await stage.logIn(person, codeAt(secret, stage.now()))
  })

  test('is guessed no more often from many addresses than from one', async () => {
    const person = await stage.newPerson()
    const secret = await stage.withCode(person)
    const guess = (index: number, code = wrongCodeAt(secret, stage.now())) =>
      reasonOf(stage.logIn(person, code, PASSWORD, callFrom(`198.51.100.${index}`)))
    const outcomes = await Promise.all(Array.from({ length: 20 }, (_, index) => guess(index)))
    expect(outcomes.filter((outcome) => outcome === 'CODE_WRONG')).toHaveLength(FAILURES)
    expect(outcomes.filter((outcome) => outcome === 'LOGIN_THROTTLED')).toHaveLength(20 - FAILURES)
    expect(await guess(100, codeAt(secret, stage.now()))).toBe('LOGIN_THROTTLED')
    await expect(stage.logIn(person, '123456', PASSWORD, callFrom('198.51.100.101'))).rejects.toThrow(
      /^too many wrong one-time codes of this user; try again in \d+ s$/,
    )
    // One at a time then, and after each the pause doubles.
    stage.clock.nowMs += PAUSE_MS
    expect(await guess(102)).toBe('CODE_WRONG')
    stage.clock.nowMs += PAUSE_MS
    expect(await guess(103)).toBe('LOGIN_THROTTLED')
    stage.clock.nowMs += PAUSE_MS
    expect(await guess(104)).toBe('CODE_WRONG')
  })

  test('cannot be kept from its user by a stranger without the password', async () => {
    const person = await stage.newPerson()
    const secret = await stage.withCode(person)
    for (let index = 0; index < 20; index++)
      expect(
        await reasonOf(stage.logIn(person, '123456', 'a wrong password', callFrom(`198.51.100.${index}`))),
      ).toBe('LOGIN_FAILED')
    await stage.logIn(person, codeAt(secret, stage.now()))
  })

  test('is asked for again to confirm, and confirms once', async () => {
    const person = await stage.newPerson()
    const secret = await stage.withCode(person)
    const confirm = (code?: string) =>
      confirmSession(...stage.own(person), person.session, {
        ...{ type: 'password', password: new Secret(PASSWORD), code },
      })
    expect(await reasonOf(confirm())).toBe('SECOND_FACTOR_REQUIRED')
    expect(await reasonOf(confirm(wrongCodeAt(secret, stage.now())))).toBe('CODE_WRONG')
    expect((await confirm(codeAt(secret, stage.now()))).confirmedAtMs).toBe(stage.now())
    expect(await reasonOf(confirm(codeAt(secret, stage.now())))).toBe('CODE_WRONG')
  })
})

test('an invitation that is accepted removes the second factors', async () => {
  const person = await stage.newPerson()
  await stage.withCode(person)
  await stage.withPasskey(person)
  const again = await stage.accept(person.account, person.name)
  expect(await factorsOf(...stage.own(again))).toMatchObject({ codeCreatedAtMs: undefined, passkeys: [] })
  await stage.logIn(person)
})

test('the last factor can be deleted, what is not there cannot', async () => {
  const person = await stage.newPerson()
  await stage.withCode(person)
  const { id } = await stage.withPasskey(person)
  await deletePasskey(...stage.own(person), id)
  await deleteCode(...stage.own(person))
  await stage.logIn(person)
  for (const again of [
    () => deleteCode(...stage.own(person)),
    () => deletePasskey(...stage.own(person), id),
    () => deletePasskey(...stage.own(person), '\u0000'),
  ])
    await expect(again()).rejects.toMatchObject({ reason: 'NOT_FOUND' })
})
