/** `CheckStream` keeps its order under load, and calls respect deadlines and cancellations. */
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { BlackBox, type Message, refused } from '../support/contract/black-box.ts'
import { ACCOUNT, populate, runSidecar } from '../support/sidecar/sidecar.ts'
import { holdHashes } from '../support/suite/hashes.ts'
import { eventually } from '../support/suite/resources.ts'

const running = await runSidecar()
const box = new BlackBox(running.address)
const secrets = await populate(running)
const good: Message = { api: 'balance', token: { kind: 'static_token', scope: { account: ACCOUNT } } }
const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }

/** Checks with different answers, so that a wrong order is noticed. */
const APIS = ['balance', 'iam', 'reports', 'cdn', 'nothing']
const OPENED = new Set(['balance', 'reports'])
const questions = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `question ${index}`,
    check: { ...good, api: APIS[index % APIS.length] },
  }))

describe('a stream of checks', () => {
  test('5,000 answers keep their order and ids for a client that reads slowly at first', async () => {
    const asked = questions(5_000)
    const stream = box.converse('checkStream')
    const writing = (async () => {
      for (const question of asked) if (!stream.write(question)) await once(stream, 'drain')
      stream.end()
    })()
    const answers: Message[] = []
    for await (const answer of stream as AsyncIterable<Message>) {
      answers.push(answer)
      // The sidecar must stop sending while the client does not read.
      if (answers.length % 1_000 === 1) await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await writing
    expect(answers.map(({ id }) => id)).toEqual(asked.map(({ id }) => id))
    expect(answers.map(({ result }) => (result as Message).allowed)).toEqual(
      asked.map(({ check }) => OPENED.has(check.api ?? '')),
    )
  })

  test('an id is returned unchanged, even if it is empty, long or contains any characters', async () => {
    const ids = ['', 'x'.repeat(100_000), 'Größe 🗝', '\u0000', 'same', 'same']
    const stream = box.converse('checkStream')
    for (const id of ids) stream.write({ id, check: good })
    stream.end()
    const found: unknown[] = []
    for await (const { id } of stream as AsyncIterable<Message>) found.push(id)
    expect(found).toEqual(ids)
  })

  test('a stream without checks ends without answers', async () => {
    const stream = box.converse('checkStream')
    stream.end()
    const answers: unknown[] = []
    for await (const answer of stream) answers.push(answer)
    expect(answers).toEqual([])
  })

  test('an answer arrives before the next check is sent', async () => {
    const stream = box.converse('checkStream')
    const answers = (stream as AsyncIterable<Message>)[Symbol.asyncIterator]()
    for (const question of questions(3)) {
      stream.write(question)
      expect((await answers.next()).value).toMatchObject({ id: question.id })
    }
    stream.end()
    expect(await answers.next()).toMatchObject({ done: true })
  })

  test('cancelled streams do not disturb another one', async () => {
    const steady = box.converse('checkStream')
    const answers = (steady as AsyncIterable<Message>)[Symbol.asyncIterator]()
    for (let round = 0; round < 20; round++) {
      const stream = box.converse('checkStream')
      for (const question of questions(200)) stream.write(question)
      const first = once(stream, 'data')
      await first
      stream.on('error', () => {})
      stream.cancel()
      steady.write({ id: `round ${round}`, check: good })
      expect((await answers.next()).value).toMatchObject({ id: `round ${round}`, result: ALLOWED })
    }
    steady.end()
    expect(await answers.next()).toMatchObject({ done: true })
    expect(
      running.logLines.filter((line) => (JSON.parse(line) as { level: number }).level >= 40),
    ).toHaveLength(0)
  })
})

describe('a call that takes too long', () => {
  const login = {
    password: { user_name: 'account', account: ACCOUNT, password: secrets.passwordOf('account') },
    scope: { account: ACCOUNT },
  }

  test('an Issue past its deadline gets DEADLINE_EXCEEDED, and the sidecar keeps answering', async () => {
    const goOn = holdHashes()
    const issuing = Array.from({ length: 20 }, () =>
      refused(box.ask('issue', login, { deadline: Date.now() + 1 })),
    )
    for (const { code } of await Promise.all(issuing)) expect(code).toBe('DEADLINE_EXCEEDED')
    goOn()
    expect(await box.ask('check', good)).toMatchObject(ALLOWED)
    expect(await box.ask('issue', login)).toMatchObject({ kind: 'iam_token_account_scoped' })
  })

  test('logins beyond the limit of waiting ones are refused, and the others get their tokens', async () => {
    const narrow = await runSidecar({
      folder: running.folder,
      flags: { 'passwords.concurrent': 1, 'passwords.waiting': 2, 'passwords.remember_ms': 0 },
    })
    const narrowBox = new BlackBox(narrow.address)
    const goOn = holdHashes()
    const refusals: unknown[] = []
    const asking = Array.from({ length: 12 }, () =>
      narrowBox.ask('issue', login).catch((error) => void refusals.push(error)),
    )
    // One login runs and two wait.
    await eventually(() => refusals.length === 9)
    goOn()
    await Promise.all(asking)
    expect(refusals).toHaveLength(9)
    for (const error of refusals)
      expect(await refused(Promise.reject(error))).toEqual({
        code: 'RESOURCE_EXHAUSTED',
        reason: 'PASSWORD_CHECKS_EXHAUSTED',
        message: 'too many passwords are being checked; try again later',
        metadata: {},
        violations: [],
      })
    expect(await narrowBox.ask('issue', login)).toMatchObject({ kind: 'iam_token_account_scoped' })
  })
})
