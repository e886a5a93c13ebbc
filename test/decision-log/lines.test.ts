/** Lines: their content, the decisions that have one, and those for which there is no room. */
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { CallError } from '../../sidecar/base/call-error.ts'
import type { Health } from '../../sidecar/base/health.ts'
import { BLOCK_BYTES, WriteLater } from '../../sidecar/signals/backlog.ts'
import { Fingerprints } from '../../sidecar/signals/decision-log/fingerprints.ts'
import { checkClaims, checkCredentials } from '../../sidecar/usecases/check.ts'
import { FACTS, newDecisionLog } from '../support/signals/decision-log.ts'

const engine = compile(supportMatrix, {})
const KIND = 'iam_token_account_scoped'
const DENIED = { api: 'reports', kind: 'nosuch', scope: { account: '1' }, target: undefined }
const ALLOWED = { ...DENIED, api: 'balance', kind: KIND }
const contested = supportMatrix.conflicts.flatMap(({ cells }) => cells)[0] as { api: string; kind: string }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a line says what was asked, whatever its characters, and says so where it says a part', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.constantFrom(
      '"',
      '\\',
      '\n',
      '\u2028',
      '\ud800',
      '\u0085',
      'a"b',
      'é',
      'x'.repeat(257),
      '😀'.repeat(200),
    ),
  )
  const scope = fc.record({ account: text, project: fc.option(text, { nil: undefined }) })
  const question = fc.record({
    ...{ api: text, kind: text },
    scope: fc.option(scope, { nil: undefined }),
    target: fc.option(scope, { nil: undefined }),
  })
  const { log, kept, listener } = newDecisionLog({ bytesMax: 1 << 28 })
  const asked = fc.sample(question, 400)
  for (const each of asked) checkClaims({ engine }, each, listener)
  await log.close()
  const short = (value: string | undefined) => value?.slice(0, 256)
  const lines = kept.lines
  expect(lines).toHaveLength(asked.length)
  // Lines are characters: half of a pair of surrogates stays half.
  for (const [index, { api, kind, scope, target }] of asked.entries()) {
    const texts = [api, kind, scope?.account, scope?.project, target?.account, target?.project]
    const line = lines[index]
    expect([
      ...[line?.api, line?.kind, line?.scope?.account, line?.scope?.project],
      ...[line?.target?.account, line?.target?.project],
    ]).toEqual(texts.map(short))
    expect(line?.cut === true).toBe(texts.some((each) => (each?.length ?? 0) > 256))
  }
})

test('denied and contested decisions always have a line, others as often as is configured', async () => {
  const count = async (samplePercent: number) => {
    const { log, kept, listener } = newDecisionLog({ samplePercent, bytesMax: 1 << 28 })
    const scope = { account: '1', project: 'p' }
    for (let index = 0; index < 1_000; index++)
      for (const question of [ALLOWED, DENIED, { ...ALLOWED, ...contested, scope }])
        checkClaims({ engine }, question, listener)
    await log.close()
    const { lines } = kept
    for (const line of lines)
      expect(line.sample_percent).toBe(
        samplePercent < 100 && line.allowed && line.conflicts.length === 0 ? samplePercent : undefined,
      )
    return [ALLOWED.api, DENIED.api, contested.api].map(
      (api) => lines.filter((line) => line.api === api).length,
    )
  }
  expect(await count(100)).toEqual([1_000, 1_000, 1_000])
  expect(await count(0)).toEqual([0, 1_000, 1_000])
  const [some] = await count(30)
  // Six standard deviations.
  expect(Math.abs((some ?? 0) - 300)).toBeLessThan(90)
})

const problemsOf = ({ state }: Health) => Object.keys(state.problems)

/** Asks until a decision has no line. @returns how many have one */
function fill(listener: ReturnType<typeof newDecisionLog>['listener'], isFull: () => boolean): number {
  for (let lines = 0; lines < 100_000; lines++) {
    checkClaims({ engine }, ALLOWED, listener)
    if (isFull()) return lines
  }
  throw new Error('expected a bound')
}

test('without room decisions are given and counted: in the log, by health, and in the next line', async () => {
  const { log, kept, health, said, listener } = newDecisionLog()
  kept.hold()
  const lines = fill(listener, () => problemsOf(health).length > 0)
  expect(lines * 300).toBeLessThan(1_048_576)
  for (let index = 0; index < 9; index++)
    expect(checkClaims({ engine }, ALLOWED, listener).allowed).toBe(true)
  expect(said).toMatchObject([{ decisions: 1 }])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(said).toMatchObject([{ decisions: 1 }, { decisions: 9 }])
  expect([problemsOf(health), health.ready]).toEqual([['decision_log_dropping'], true])

  kept.release()
  await vi.advanceTimersByTimeAsync(1)
  expect(problemsOf(health)).toEqual([])
  checkClaims({ engine }, ALLOWED, listener)
  checkClaims({ engine }, ALLOWED, listener)
  await log.close()
  expect(kept.lines.slice(lines).map(({ dropped }) => dropped)).toEqual([10, undefined])
})

test('where a line is required, a decision without one is not an answer, and the sidecar gets no traffic', async () => {
  const { log, kept, health, listener } = newDecisionLog({ required: true })
  kept.hold()
  const full = (call: () => unknown) => {
    try {
      call()
      return undefined
    } catch (error) {
      return error instanceof CallError ? error.reason : error
    }
  }
  let lines = 0
  while (lines < 100_000 && full(() => checkClaims({ engine }, ALLOWED, listener)) === undefined) lines++
  const authority = {
    recognize: () => undefined,
    verify: () => ({ ok: false, reason: 'CREDENTIAL_INVALID' }) as const,
  }
  const question = {
    api: 'balance',
    headers: [['X-Auth-Token', 'x']],
    target: undefined,
    clientAddress: undefined,
  } as const
  const services = { engine, authority, verifier: authority }
  expect(full(() => checkCredentials(services, question, { connection: undefined, listener }))).toBe(
    'DECISION_NOT_LOGGED',
  )
  const later = { ...authority, verify: async () => authority.verify() }
  await expect(
    checkCredentials({ engine, authority: later, verifier: later }, question, {
      connection: undefined,
      listener,
    }),
  ).rejects.toMatchObject({ reason: 'DECISION_NOT_LOGGED' })
  expect([problemsOf(health), health.ready]).toEqual([['decision_log_full'], false])

  kept.release()
  await vi.advanceTimersByTimeAsync(1)
  expect([problemsOf(health), health.ready]).toEqual([[], true])
  expect(checkClaims({ engine }, ALLOWED, listener).allowed).toBe(true)
  await log.close()
  // Nothing was dropped: each decision has a line.
  expect(kept.lines.map(({ dropped }) => dropped)).toEqual(Array(lines + 1).fill(undefined))
})

test('lines wait while the destination fails, and are written whole when it does not, however few bytes it takes', async () => {
  const { log, kept, health, said, listener } = newDecisionLog()
  kept.failing = Object.assign(new Error('no space'), { code: 'ENOSPC' })
  for (let index = 0; index < 2_000; index++)
    checkClaims({ engine }, { ...ALLOWED, scope: { account: `${index}` } }, listener)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(said).toMatchObject([{ problem: 'ENOSPC' }])
  expect([problemsOf(health), health.ready]).toEqual([['decision_log_unwritable'], true])
  expect(kept.text).toBe('')
  kept.failing = undefined
  kept.bytesMax = 100_001
  await vi.advanceTimersByTimeAsync(30_000)
  expect(problemsOf(health)).toEqual([])
  expect(kept.lines.map(({ scope }) => scope?.account)).toEqual(
    Array.from({ length: 2_000 }, (_, index) => `${index}`),
  )
  expect(said).toHaveLength(2)
  await log.close()
})

test('while the destination fails for hours, memory stays bounded, and no line takes the room of many', async () => {
  const { log, kept, health, listener } = newDecisionLog()
  kept.failing = new Error('away')
  const before = process.memoryUsage().arrayBuffers
  for (let index = 0; index < 100; index++) {
    checkClaims({ engine }, ALLOWED, listener)
    await vi.advanceTimersByTimeAsync(30_000)
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * BLOCK_BYTES)
  expect(problemsOf(health)).toEqual(['decision_log_unwritable'])
  kept.failing = undefined
  await vi.advanceTimersByTimeAsync(31_000)
  expect(kept.lines.map(({ dropped }) => dropped)).toEqual(Array(100).fill(undefined))
  await log.close()
})

test('lines that the destination refuses are counted, and the later ones are written', async () => {
  const { log, kept, said, listener } = newDecisionLog()
  kept.refusing = 'the endpoint answers with the status 400'
  checkClaims({ engine }, ALLOWED, listener)
  checkClaims({ engine }, ALLOWED, listener)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(said).toMatchObject([{ decisions: 2, problem: 'the endpoint answers with the status 400' }])
  kept.refusing = undefined
  checkClaims({ engine }, ALLOWED, listener)
  await log.close()
  expect(kept.lines).toMatchObject([{ dropped: 2 }])
})

test('a destination that asks for a pause gets no lines for that time', async () => {
  const { log, kept, listener } = newDecisionLog()
  kept.failing = new WriteLater('the endpoint answers with the status 429', 120_000)
  checkClaims({ engine }, ALLOWED, listener)
  await vi.advanceTimersByTimeAsync(1_000)
  kept.failing = undefined
  checkClaims({ engine }, ALLOWED, listener)
  await vi.advanceTimersByTimeAsync(118_000)
  expect(kept.lines).toEqual([])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(kept.lines).toHaveLength(2)
  await log.close()
})

test('a sidecar that stops waits for its destination for a while, and says what is lost', async () => {
  const { log, kept, said, listener } = newDecisionLog()
  kept.hold()
  checkClaims({ engine }, ALLOWED, listener)
  const closed = log.close()
  await vi.advanceTimersByTimeAsync(5_000)
  await closed
  expect(said).toMatchObject([{ decisions: 1 }])
})

test('calls with the same context have the same listener, until the identity of a caller may have changed', async () => {
  const { log, kept } = newDecisionLog()
  let name = 'one'
  const listenerOf = log.listeners((_context: object) => ({ ...FACTS, name }), undefined)
  const [first, second] = [{}, {}]
  const ask = (context: object) => checkClaims({ engine }, ALLOWED, listenerOf(context))
  for (const context of [first, second, first]) ask(context)
  name = 'other'
  for (const context of [first, second]) ask(context)
  log.forgetAskers()
  for (const context of [first, second]) ask(context)
  await log.close()
  expect(kept.lines.map(({ caller }) => caller.name)).toEqual([...Array(5).fill('one'), 'other', 'other'])
})

test.each<[traceparent: string[], traceId: string | undefined]>([
  [['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'], '4bf92f3577b34da6a3ce929d0e0e4736'],
  [['01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more'], '4bf92f3577b34da6a3ce929d0e0e4736'],
  [['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more'], undefined],
  [['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'], undefined],
  [[`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`], undefined],
  [[`00-4bf92f3577b34da6a3ce929d0e0e4736-${'0'.repeat(16)}-01`], undefined],
  [['00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01'], undefined],
  [Array(2).fill('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'), undefined],
  [[], undefined],
])('of the header traceparent %j the trace is %s', async (traceparent, traceId) => {
  const { log, kept } = newDecisionLog()
  checkClaims({ engine }, ALLOWED, log.listener({ ...FACTS, traceparent }, undefined))
  await log.close()
  expect(kept.lines[0]?.trace_id).toBe(traceId)
})

test('a fingerprint needs the key: it is not a digest of the token, and another pepper makes another one', () => {
  const token = 'a token'
  const one = new Fingerprints('a pepper').of(token)
  expect(new Fingerprints('a pepper\n').of(token)).toBe(one)
  expect(new Fingerprints('another pepper').of(token)).not.toBe(one)
  for (const algorithm of ['sha256', 'sha512', 'sha1', 'md5'])
    expect(hash(algorithm, token, 'hex')).not.toContain(one)
})

test('a line has room in a block, whatever is asked', () => {
  expect(BLOCK_BYTES).toBeGreaterThan(20 * 1_024)
})
