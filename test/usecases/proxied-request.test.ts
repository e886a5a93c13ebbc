/**
 * The answer that a proxy gets for a request, and the credential that is forwarded. `test/proxies` asks over
 * HTTP.
 */
import { expect, test, vi } from 'vitest'
import type { Engine } from '../../engine/index.ts'
import type { Verification, Verifier } from '../../sidecar/authority/authority.ts'
import type { DecisionListener } from '../../sidecar/usecases/asker.ts'
import type { Caller } from '../../sidecar/usecases/callers.ts'
import { authorizeRequest, type Replacement } from '../../sidecar/usecases/decide-proxied.ts'
import type { Issuing } from '../../sidecar/usecases/issue.ts'
import { ENGINE, made, named, PROFILE_ACCOUNT, profileWith, STRICT } from '../support/sidecar/four-kinds.ts'
import { callerNamed, outcomeOf } from '../support/sidecar/services.ts'

const TOKEN = {
  ...{ kind: 'whole', scope: { account: '7' }, subject: { id: 'u', name: 'u', type: 'service_user' } },
  ...{ tokenId: 't', issuedAtMs: 0, expiresAtMs: undefined },
}
const verifier: Verifier = {
  recognize: () => undefined,
  verify: (value): Verification =>
    value === 'genuine' ? { ok: true, token: TOKEN } : { ok: false, reason: 'CREDENTIAL_INVALID' },
}
const PROXY: Caller = { ...callerNamed('proxy'), profiles: new Set(['job']) }
const REPLACEMENT: Replacement = { profile: 'job', api: 'part', project: 'alpha' }

/** Asks about a request to the API `whole`. */
async function ask(
  value: string,
  replacement: Replacement | undefined,
  given: { readonly caller?: Caller | undefined; readonly engine?: Engine } = {},
) {
  const { engine = ENGINE } = given
  const caller = 'caller' in given ? given.caller : PROXY
  const { profile, asked } = profileWith()
  const services = { engine, authority: verifier, verifier, profiles: new Map([['job', profile]]) }
  const told: unknown[][] = []
  const listener = {
    startMs: () => 0,
    ofCredentials: (...[{ api }, , { decision }]: Parameters<DecisionListener['ofCredentials']>) =>
      void told.push([api, decision.reason]),
    ofOwnToken: (...[api, token, { reason }]: Parameters<DecisionListener['ofOwnToken']>) =>
      void told.push([api, reason, token?.kind]),
  } as unknown as DecisionListener
  const headers: [string, string][] = [['X-whole', `Bearer ${value}`]]
  const request = { api: 'whole', headers, target: undefined, clientAddress: undefined, replacement }
  const findCaller = vi.fn(() => caller)
  const authorized = (heard: DecisionListener | undefined) =>
    outcomeOf(() =>
      authorizeRequest(services as unknown as typeof services & Issuing, request, findCaller, {
        ...{ connection: undefined, listener: heard },
      }),
    )
  const outcome = await authorized(listener)
  const calls = findCaller.mock.calls.length
  // A listener changes nothing.
  expect(await authorized(undefined)).toEqual(outcome)
  if (typeof outcome === 'string') return { refusal: outcome, told }
  const { decision, token, verified } = outcome.outcome
  return { decision, token, verified, credential: outcome.credential, told, calls, asked }
}

test('the client’s credential decides, and goes on as it is', async () => {
  expect(await ask('genuine', undefined)).toMatchObject({
    ...{ decision: { reason: 'ALLOWED' }, token: TOKEN, verified: true, credential: undefined },
    ...{ told: [['whole', 'ALLOWED']], calls: 0, asked: [] },
  })
})

test('a request that may not pass gets no credential, and its caller is not looked up', async () => {
  expect(await ask('forged', REPLACEMENT)).toMatchObject({
    ...{ decision: { reason: 'CREDENTIAL_INVALID' }, token: undefined, verified: false },
    ...{ credential: undefined, told: [['whole', 'CREDENTIAL_INVALID']], calls: 0, asked: [] },
  })
})

test('one without a token gets no credential, although the API needs none', async () => {
  const engine = made([{ ...named('whole', 'whole'), public: true }, named('part', 'part')])
  expect(await ask('', REPLACEMENT, { engine })).toMatchObject({
    ...{ decision: { reason: 'ALLOWED' }, token: undefined, verified: false },
    ...{ credential: undefined, told: [['whole', 'ALLOWED']], calls: 0, asked: [] },
  })
})

test('one that may pass goes on with the token of the profile', async () => {
  const { asked, ...found } = await ask('genuine', REPLACEMENT)
  const scope = { account: PROFILE_ACCOUNT, project: 'alpha' }
  expect(found).toMatchObject({
    ...{ decision: { reason: 'ALLOWED' }, token: TOKEN, verified: true },
    credential: { header: 'X-part', kind: 'part', scope },
    ...{
      told: [
        ['whole', 'ALLOWED'],
        ['part', 'ALLOWED', 'part'],
      ],
      calls: 1,
    },
  })
  expect(asked?.[0]).toEqual(['part', scope, undefined])
})

test.each<[api: string, engine: Engine, reason: string]>([
  ['none', ENGINE, 'UNKNOWN_API'],
  ['shut', ENGINE, 'TOKEN_KIND_NOT_ACCEPTED'],
  ['closed', STRICT, 'CONTESTED'],
])('but not where no token opens the API behind the proxy: %s', async (api, engine, reason) => {
  expect(await ask('genuine', { ...REPLACEMENT, api }, { engine })).toMatchObject({
    ...{ decision: { allowed: false, reason }, token: TOKEN, verified: true, credential: undefined },
    ...{
      told: [
        ['whole', 'ALLOWED'],
        [api, reason, undefined],
      ],
      asked: [],
    },
  })
})

test('the place of the token may be chosen', async () => {
  const inPlace = (place: string) => ask('genuine', { ...REPLACEMENT, place })
  expect(await inPlace('x-part')).toMatchObject({ credential: { header: 'X-part' } })
  expect(await inPlace('X-other')).toMatchObject({
    refusal: 'INVALID_ARGUMENT: place: expected a place of a part token that needs no other header: `X-part`',
  })
})

test.each<[claim: string, caller: Caller | undefined, refusal: string]>([
  [
    'is unknown',
    undefined,
    'CALLER_TOKEN_MISSING: issuing by profile needs a caller token: `authorization: Bearer …`',
  ],
  [
    'may not use the profile',
    callerNamed('other'),
    'PROFILE_NOT_ALLOWED: caller `other` may not use that profile',
  ],
])('a proxy that %s gets no answer', async (_claim, caller, refusal) => {
  expect(await ask('genuine', REPLACEMENT, { caller })).toMatchObject({ refusal })
})
