/**
 * A costly check does not hold up other calls, be it a batch of many or a single long one. A batch ends once
 * however its checks end.
 */
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import type { CallContext, Responses } from '../../sidecar/contract/call.ts'
import { type CheckServices, checkHandlers } from '../../sidecar/contract/check-handlers.ts'
import { expectNotOver } from '../../sidecar/contract/handler.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { answerBasisOf } from '../../sidecar/usecases/answer-basis.ts'
import { perCall } from '../../sidecar/usecases/capabilities.ts'
import { messageType } from '../support/contract/black-box.ts'
import { working } from '../support/suite/resources.ts'

const rules = new Rules({ path: undefined, strict: false, pollMs: 0, onRefused: () => {} })
const CONTEXT = {} as CallContext
const CHECKS = 200

/** The handlers with an authority that does what the test says. */
function handlersUnder(verify: (index: number) => Verification | Promise<Verification>, turns = new Turns()) {
  let asked = 0
  const verifier = { recognize: () => 'issue', verify: () => verify(asked++) }
  const services = {
    rules,
    forCall: perCall(rules, { verifier, authority: verifier }),
    turns,
    cacheForMs: 0,
    now: Date.now,
    changes: { latest: () => undefined },
    basis: answerBasisOf(() => []),
  } as unknown as CheckServices
  return checkHandlers(services, CHECKS, false)
}

const batchUnder = (verify: Parameters<typeof handlersUnder>[0]) => handlersUnder(verify).checkBatch

const credentials = { headers: [{ name: 'X-Auth-Token', value: 'a' }] }
const claims = { kind: 'iam_token_account_scoped', scope: { account: '1' } }
const batchOf = (check: object) =>
  Buffer.from(
    messageType('CheckBatchRequest').serialize({
      checks: Array.from({ length: CHECKS }, () => ({ api: 'balance', ...check })),
    }),
  )

const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

test('others have their turn between the slices of a costly batch', async () => {
  const batch = batchUnder(() => {
    // As long as a signature takes.
    working(0.1)
    return INVALID
  })
  const answer = batch(batchOf({ credentials }), CONTEXT)
  let turns = 0
  const count = () => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const { results } = messageType('CheckBatchResponse').deserialize(await answer) as { results: unknown[] }
  clearImmediate(next)
  expect(turns).toBeGreaterThan(2)
  expect(results).toHaveLength(CHECKS)
})

test('a batch of claims is answered at once', () => {
  // The clock stands still, so a busy machine changes nothing.
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const batch = batchUnder(() => INVALID)
  expect(batch(batchOf({ token: claims }), CONTEXT)).toBeInstanceOf(Buffer)
})

test('a call that has ended takes no more work: a batch, or a long check', async () => {
  let asked = 0
  const turns = new Turns()
  const { check, checkBatch } = handlersUnder(() => {
    asked++
    working(1)
    return INVALID
  }, turns)
  const context = { over: false } as CallContext & { over: boolean }
  const long = { headers: [{ name: 'X-Auth-Token', value: 'a'.repeat(100_000) }] }
  const question = messageType('CheckRequest').serialize({ api: 'balance', credentials: long })
  const batch = checkBatch(batchOf({ credentials }), context)
  const waiting = checkBatch(batchOf({ credentials: long }), context)
  const single = check(Buffer.from(question), context)
  context.over = true
  // At once: none may be rejected while another is waited for.
  const ends = await Promise.allSettled([batch, waiting, single])
  const cancelled = { status: 'rejected', reason: { status: { code: 1 } } }
  expect(ends).toMatchObject([cancelled, cancelled, cancelled])
  // The first slice of each batch had begun before.
  expect(asked).toBe(2)
})

test.each([
  ['has ended', { over: true }, 0, true],
  ['has waited for as long as its client waits', { timeoutMs: 60_000 }, 60_000, true],
  ['has waited for less', { timeoutMs: 60_000 }, 59_999, false],
  ['has a client that waits for ever', {}, 1e9, false],
] as const)('a call of a follower that %s takes no work', (_what, context, waitedMs, isRefused) => {
  const expecting = () => expectNotOver({ ...CONTEXT, ...context }, waitedMs)
  if (isRefused) expect(expecting).toThrow('the call has ended')
  else expect(expecting).not.toThrow()
})

// An unhandled error would end the process.
test('a check that fails at once ends the batch, whatever becomes of those that still wait', async () => {
  const unavailable = () => callError('DIRECTORY_UNAVAILABLE', {})
  const waiting = Promise.withResolvers<Verification>()
  const batch = batchUnder((index) => {
    if (index === 0) return waiting.promise
    throw unavailable()
  })
  const failed = (async () => batch(batchOf({ credentials }), CONTEXT))()
  await expect(failed).rejects.toMatchObject({ reason: 'DIRECTORY_UNAVAILABLE' })
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  waiting.reject(unavailable())
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

test.each([
  ['ordinary', 'a', 0],
  ['long', 'a'.repeat(100_000), 1],
])(
  'a single %s check, over Check and in a stream, has a turn if it is long',
  async (_length, value, turns) => {
    let taken = 0
    const counting = Object.assign(new Turns(), {
      run: <T>(_connection: object | undefined, work: () => T) => {
        taken++
        return Promise.resolve().then(work)
      },
    })
    const { check, checkStream } = handlersUnder(() => INVALID, counting)
    const question = { api: 'balance', credentials: { headers: [{ name: 'X-Auth-Token', value }] } }
    const request = Buffer.from(messageType('CheckRequest').serialize(question))
    const lent = Buffer.from(request)
    const answer = check(lent, CONTEXT)
    // The lent bytes are another request by the time of its turn.
    lent.fill(0xff)
    expect(messageType('CheckResponse').deserialize(await answer)).toMatchObject({ allowed: false })
    expect(taken).toBe(turns)
    const written: Buffer[] = []
    const responses = { write: (response: Buffer) => written.push(response) } as unknown as Responses
    const streamed = messageType('CheckStreamRequest').serialize({ id: 'q', check: question })
    await checkStream(responses, CONTEXT).next(Buffer.from(streamed))
    expect([written.length, taken]).toEqual([1, 2 * turns])
  },
)
