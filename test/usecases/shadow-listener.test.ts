/** The events of a listener when decisions are compared with a second matrix: all of before, and more. */
import { expect, test } from 'vitest'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import { ACCOUNT_KIND } from '../support/matrices/engines.ts'
import { beside, OTHER, SHIPPED } from '../support/sidecar/beside.ts'

const QUESTION = { api: 'balance', kind: ACCOUNT_KIND, scope: { account: '1' }, target: undefined }
const DECISION = SHIPPED.decide(QUESTION)
/** All events that a listener receives. */
const ear = (more: Partial<DecisionListener> = {}) => {
  const told: unknown[][] = []
  const hear =
    (what: string) =>
    (...heard: unknown[]) =>
      void told.push([what, ...heard])
  const listener: DecisionListener = {
    startMs: () => 17,
    ...{ ofClaims: hear('claims'), ofKind: hear('kind') },
    ...{ ofCredentials: hear('credentials'), ofOwnToken: hear('own') },
    ...more,
  }
  return { listener, told }
}

test('a listener hears what the shadow would have answered, beside what was asked', () => {
  const { compared } = beside(OTHER)
  const { listener, told } = ear()
  const ours = compared.listener(listener)
  const credentials = { api: 'balance', headers: [], target: undefined, clientAddress: undefined }
  const found = { ok: false, reason: 'CREDENTIAL_MISSING' } as const
  const outcome = { decision: DECISION, token: undefined, verified: false }
  const own = { kind: ACCOUNT_KIND, scope: { account: '1' } }
  ours.ofClaims(QUESTION, DECISION)
  ours.ofKind('balance', ACCOUNT_KIND, DECISION)
  ours.ofCredentials(credentials, found, outcome, 17)
  ours.ofOwnToken('balance', own, DECISION)
  expect(told).toEqual([
    ['claims', QUESTION, DECISION, 'closed'],
    ['kind', 'balance', ACCOUNT_KIND, DECISION, 'closed'],
    ['credentials', credentials, found, outcome, 17, 'closed'],
    ['own', 'balance', own, DECISION, 'unknown'],
  ])
  expect(compared.compared).toBe(4)
  compared.close()
})

test('decisions are compared without a listener', () => {
  const { compared } = beside(OTHER)
  const ours = compared.listener(undefined)
  expect([ours.startMs(), ours.verifying]).toEqual([0, undefined])
  expect(ours.forOne?.()).toBe(ours)
  const credentials = { api: 'balance', headers: [], target: undefined, clientAddress: undefined }
  ours.ofClaims(QUESTION, DECISION)
  ours.ofKind('balance', ACCOUNT_KIND, DECISION)
  ours.ofCredentials(credentials, undefined, { decision: DECISION, token: undefined, verified: false }, 0)
  ours.ofOwnToken('balance', undefined, DECISION)
  expect(compared.compared).toBe(4)
  compared.close()
})

test('a listener has its clock, its trace of verifications and its own listener for one question', () => {
  const { compared } = beside(OTHER)
  const one = ear()
  const traced: unknown[] = []
  const { listener, told } = ear({
    forOne: () => one.listener,
    verifying(verify) {
      traced.push(this)
      return verify()
    },
  })
  const ours = compared.listener(listener)
  expect(ours.startMs()).toBe(17)
  expect(ours.verifying?.(() => 'verified')).toBe('verified')
  expect(traced).toEqual([listener])
  ours.forOne?.().ofKind('balance', ACCOUNT_KIND, DECISION)
  expect([told, one.told]).toEqual([[], [['kind', 'balance', ACCOUNT_KIND, DECISION, 'closed']]])
  const plain = compared.listener(ear().listener)
  expect(plain.forOne?.()).toBe(plain)
  expect(plain.verifying).toBeUndefined()
  compared.close()
})

test('a listener is made once for calls that have the same one', () => {
  const { compared } = beside(OTHER)
  const [one, other] = [ear(), ear()]
  const of = compared.listeners((name: string) =>
    name === 'one' ? one.listener : name === 'other' ? other.listener : undefined,
  )
  const first = of('one')
  expect(of('one')).toBe(first)
  of('other').ofKind('balance', ACCOUNT_KIND, DECISION)
  expect([one.told.length, other.told.length]).toEqual([0, 1])
  expect(of('other')).toBe(of('other'))
  of('one').ofKind('balance', ACCOUNT_KIND, DECISION)
  of('none').ofKind('balance', ACCOUNT_KIND, DECISION)
  expect([one.told.length, other.told.length, compared.compared]).toEqual([1, 1, 3])
  const without = compared.listeners(undefined)
  expect(without({})).toBe(without({}))
  without({}).ofKind('balance', ACCOUNT_KIND, DECISION)
  expect(compared.compared).toBe(4)
  compared.close()
})
