/**
 * Random logins, exchanges of tokens, revocations and jumps of the clock, under every combination of the
 * settings: a token never outlives the one that it was derived from, and one without a scope opens nothing.
 */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  about,
  changed,
  loginBody,
  rescopeBody,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { newFile } from '../support/suite/resources.ts'

const HOUR_MS = 60 * 60 * 1000

type Scope = 'account' | 'alpha' | 'beta' | 'unscoped'
type Step =
  | { readonly type: 'login'; readonly scope: Scope }
  | { readonly type: 'exchange'; readonly of: number; readonly scope: Scope }
  | { readonly type: 'revoke'; readonly of: number }
  | { readonly type: 'hours'; readonly count: number }
  | { readonly type: 'disable and enable' }

const scope = fc.constantFrom<Scope>('account', 'alpha', 'beta', 'unscoped')
/** Counted from the last one, because that is more often active. */
const of = fc.nat({ max: 3 })
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('login' as const), scope }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('exchange' as const), of, scope }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('revoke' as const), of }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('hours' as const), count: fc.nat({ max: 9 }) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: 'disable and enable' }) },
)

interface Held {
  readonly value: string
  readonly scope: Scope
  readonly parent: Held | undefined
  readonly expiresAt: string
}

/** APIs that accept only this, besides one that accepts both; a token without a scope opens none of them. */
const APIS = ['dedicated-servers', 'balance', 'dns-hosting']

describe.each(
  [true, false].flatMap((unscoped) =>
    (['off', 'unscoped', 'any'] as const).map((method) => ({ unscoped, method })),
  ),
)('unscoped_login: $unscoped, token_method: $method', async ({ unscoped, method }) => {
  let elapsedMs = 0
  const settings = `unscoped_login: ${unscoped}, token_method: "${method}"`
  const sidecar = await startIdentity({
    config: newFile(`http: { compatibility: { ${settings} } }`, 'config.yaml'),
    now: () => Date.now() + elapsedMs,
  })
  const { ask, running, passwordOf } = sidecar
  const { run } = running.sidecar

  const body = (wanted: Scope) => {
    const password = passwordOf('account')
    if (wanted === 'unscoped') return changed(loginBody({ password }), 'auth.scope', 'unscoped')
    return loginBody({ password, ...(wanted !== 'account' && { project: wanted }) })
  }
  const exchange = (token: string, wanted: Scope) =>
    rescopeBody(token, wanted === 'unscoped' ? wanted : wanted === 'account' ? {} : { project: wanted })
  const checked = (token: string, api: string) =>
    running.client.check({ api, credentials: [['X-Auth-Token', token]] })
  /** Whether the holder can still ask about it: by its own value, which takes an active token. */
  const isActive = async ({ value, scope: bound }: Held) => {
    const reasons = await Promise.all(APIS.map(async (api) => (await checked(value, api)).reason))
    const ended = reasons.some((reason) => /^CREDENTIAL_(EXPIRED|REVOKED)$/.test(reason))
    if (bound === 'unscoped') expect(reasons).not.toContain('ALLOWED')
    else if (!ended) expect(reasons).toContain('ALLOWED')
    return !ended
  }

  async function post(login: object, wanted: Scope, parent?: Held): Promise<Held | undefined> {
    const { status, headers, json } = await ask({ method: 'POST', path: TOKENS, body: login })
    if (status !== 201) return undefined
    expect(json.token.project?.name ?? (json.token.domain === undefined ? 'unscoped' : 'account')).toBe(
      wanted,
    )
    return {
      value: headers['x-subject-token'] ?? '',
      scope: wanted,
      parent,
      expiresAt: json.token.expires_at,
    }
  }

  async function take(step: Step, held: Held[]): Promise<void> {
    const chosen = 'of' in step ? held.at(-1 - (step.of % Math.max(held.length, 1))) : undefined
    if (step.type === 'hours') elapsedMs += step.count * HOUR_MS
    else if (step.type === 'disable and enable')
      for (const enabled of [false, true])
        await run(TESTER, 'updateServiceUser', { account: ACCOUNT, name: 'account', enabled })
    else if (step.type === 'login') {
      const issued = await post(body(step.scope), step.scope)
      expect(issued !== undefined).toBe(step.scope !== 'unscoped' || unscoped)
      if (issued !== undefined) held.push(issued)
    } else if (chosen !== undefined && step.type === 'revoke')
      await ask({ method: 'DELETE', path: TOKENS, headers: about(chosen.value) })
    else if (chosen !== undefined && step.type === 'exchange') {
      const active = await isActive(chosen)
      const derived = await post(exchange(chosen.value, step.scope), step.scope, chosen)
      if (derived === undefined) return
      expect({ active, method }).toEqual({
        active: true,
        method: chosen.scope === 'unscoped' ? expect.not.stringMatching('off') : 'any',
      })
      held.push(derived)
    }
  }

  test('a token never outlives the one that it was derived from', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 6, maxLength: 16 }), async (steps) => {
        const held: Held[] = []
        for (const step of steps) await take(step, held)
        const active = new Map<Held, boolean>()
        for (const each of held) active.set(each, await isActive(each))
        for (const each of held) {
          if (each.parent === undefined) continue
          expect(Date.parse(each.expiresAt)).toBeLessThanOrEqual(Date.parse(each.parent.expiresAt))
          if (active.get(each)) expect(active.get(each.parent)).toBe(true)
        }
        elapsedMs += 24 * HOUR_MS
        for (const each of held) expect(await isActive(each)).toBe(false)
      }),
      { numRuns: 8 },
    )
  })
})
