/**
 * A matrix is exchanged while checks wait for an upstream. Each answer is wholly that of one matrix, whose
 * digest it names.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { Verification } from '../../sidecar/authority/authority.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import type { CallContext } from '../../sidecar/contract/call.ts'
import { type CheckServices, checkHandlers } from '../../sidecar/contract/check-handlers.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { answerBasisOf } from '../../sidecar/usecases/answer-basis.ts'
import { perCall } from '../../sidecar/usecases/capabilities.ts'
import { messageType } from '../support/contract/black-box.ts'
import { eventually, newFolder } from '../support/suite/resources.ts'

interface Answer {
  readonly allowed: boolean
  readonly reason: string
  readonly digest: string
}

const OPEN = supportMatrix as Matrix
/** The same with no API called `balance`. */
const RENAMED: Matrix = {
  ...OPEN,
  apis: OPEN.apis.map((api) => (api.id === 'balance' ? { ...api, id: 'balances' } : api)),
  statements: JSON.parse(JSON.stringify(OPEN.statements).replaceAll('"balance"', '"balances"')),
}
const OF_OPEN = { allowed: true, reason: 'REASON_ALLOWED', digest: compile(OPEN).digest }
const OF_RENAMED = { allowed: false, reason: 'REASON_UNKNOWN_API', digest: compile(RENAMED).digest }

const TOKEN: Verification = {
  ok: true,
  token: {
    ...{ kind: 'iam_token_account_scoped', scope: { account: '1' }, tokenId: 'a', issuedAtMs: 0 },
    ...{ subject: { id: 'a', name: 'a', type: 'service_user' }, expiresAtMs: undefined },
  },
}

/** A sidecar's checks, with rules of a separate file. @param verify is the authority */
function serve(
  verify: (rules: Rules, replace: (matrix: Matrix) => void) => Verification | Promise<Verification>,
) {
  const path = join(newFolder(), 'matrix.json')
  const replace = (matrix: Matrix) => {
    writeFileSync(`${path}.new`, JSON.stringify(matrix))
    renameSync(`${path}.new`, path)
  }
  replace(OPEN)
  const rules = new Rules({ path, strict: false, pollMs: 0, onRefused: () => {} })
  const verifier = { recognize: () => 'issue', verify: () => verify(rules, replace) }
  const services = {
    rules,
    forCall: perCall(rules, { verifier, authority: verifier }),
    turns: new Turns(),
    cacheForMs: 0,
    now: Date.now,
    changes: { latest: () => undefined },
    basis: answerBasisOf(() => []),
  } as unknown as CheckServices
  const { check, checkBatch } = checkHandlers(services, CHECKS_MAX, false)
  const context = {} as CallContext
  return {
    rules,
    replace,
    one: async () =>
      messageType('CheckResponse').deserialize(
        await check(Buffer.from(messageType('CheckRequest').serialize(QUESTION)), context),
      ) as Answer,
    several: async (count: number) => {
      const checks = Array.from({ length: count }, () => QUESTION)
      const request = messageType('CheckBatchRequest').serialize({ checks })
      const response = await checkBatch(Buffer.from(request), context)
      return (messageType('CheckBatchResponse').deserialize(response) as { results: Answer[] }).results
    },
  }
}

const CHECKS_MAX = 1_000

test('a call keeps its engine, and no call makes an object for it', () => {
  const [before, after] = [compile(OPEN), compile(RENAMED)]
  const rules = { engine: before }
  const forCall = perCall(rules, { held: 'for the life of the sidecar' })
  const first = forCall()
  expect(forCall()).toBe(first)
  rules.engine = after
  expect(forCall().engine).toBe(after)
  expect(first.engine).toBe(before)
})
const QUESTION = { api: 'balance', credentials: { headers: [{ name: 'X-Auth-Token', value: 'a' }] } }

test('checks that began before an exchange end with the matrix that they began with', async () => {
  const waiting: ((verification: Verification) => void)[] = []
  const { rules, replace, one, several } = serve(
    () => new Promise<Verification>((resolve) => waiting.push(resolve)),
  )
  const before = [one(), several(2)]
  // A slow machine answers a batch in several slices.
  await eventually(() => waiting.length === 3)
  replace(RENAMED)
  rules.reload()
  expect(await one()).toMatchObject(OF_RENAMED)
  replace(OPEN)
  rules.reload()
  const after = one()
  for (const resolve of waiting) resolve(TOKEN)
  expect(waiting).toHaveLength(4)
  expect(await Promise.all(before)).toMatchObject([OF_OPEN, [OF_OPEN, OF_OPEN]])
  expect(await after).toMatchObject(OF_OPEN)
  rules.close()
})

test.each([3, 500])(
  'all %i checks of a batch have one matrix, although it is exchanged between them',
  async (count) => {
    let verified = 0
    const { rules, several, one } = serve((rules, replace) => {
      if (++verified === 2) {
        replace(RENAMED)
        rules.reload()
      }
      return TOKEN
    })
    const answers = await several(count)
    expect(answers).toHaveLength(count)
    expect(new Set(answers.map(({ digest }) => digest))).toEqual(new Set([OF_OPEN.digest]))
    expect(answers.every(({ allowed }) => allowed)).toBe(true)
    expect(await one()).toMatchObject(OF_RENAMED)
    rules.close()
  },
)
