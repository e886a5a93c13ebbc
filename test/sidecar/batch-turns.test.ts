/** A batch of checks that are costly does not hold up other calls, and ends once however its checks end. */
import { expect, test } from 'vitest'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import type { CallContext } from '../../sidecar/contract/call.ts'
import { checkHandlers } from '../../sidecar/contract/check-handlers.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import type { Services } from '../../sidecar/usecases/services.ts'
import { messageType } from '../support/black-box.ts'

const rules = new Rules({ path: undefined, strict: false, pollMs: 0, onRefused: () => {} })
const CONTEXT = {} as CallContext
const CHECKS = 200

/** The handler of `CheckBatch` with an authority that does what the test says. */
function batchUnder(verify: (index: number) => Verification | Promise<Verification>) {
  let asked = 0
  const verifier = { recognize: () => 'issue', verify: () => verify(asked++) }
  const services = {
    rules,
    verifier,
    authority: verifier,
    turns: new Turns(),
    cacheForMs: 0,
    now: Date.now,
  } as unknown as Services
  return checkHandlers(services, CHECKS, false).checkBatch
}

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
    for (const endMs = performance.now() + 0.1; performance.now() < endMs; );
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
  const batch = batchUnder(() => INVALID)
  expect(batch(batchOf({ token: claims }), CONTEXT)).toBeInstanceOf(Buffer)
})

// An error that nobody waits for would end the process.
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
  await new Promise((resolve) => setTimeout(resolve, 20))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
