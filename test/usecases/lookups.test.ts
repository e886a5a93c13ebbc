/** Small use cases: plans, profiles by name, and what a directory knows of tokens. */
import { expect, test } from 'vitest'
import { planTokens } from '../../matrix/index.ts'
import type { DescribedToken } from '../../sidecar/authority/authority.ts'
import { nameOfSource } from '../../sidecar/authority/login-source.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { Turns } from '../../sidecar/base/turns.ts'
import { describeTokens } from '../../sidecar/usecases/describe-tokens.ts'
import { plan } from '../../sidecar/usecases/plan.ts'
import { PROFILES_ORIGIN, profileFor } from '../../sidecar/usecases/profiles.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ENGINE, profileWith } from '../support/sidecar/four-kinds.ts'
import { openPeople, outcomeOf, SHIPPED } from '../support/sidecar/services.ts'
import { eventually } from '../support/suite/resources.ts'

test('a plan is for the APIs of the matrix, and names those that it does not have', async () => {
  const apis = ['whole', 'part']
  expect(plan({ engine: ENGINE }, { apis })).toEqual(planTokens(ENGINE, apis))
  expect(await outcomeOf(() => plan({ engine: ENGINE }, { apis: ['whole', 'none'] }))).toBe(
    'INVALID_ARGUMENT: apis[1]: expected the id of an API of the matrix',
  )
})

test.each<[caller: string[] | undefined, name: string, outcome: string]>([
  [['job'], 'job', 'job'],
  [['job', 'other'], 'other', 'PROFILE_NOT_ALLOWED: caller `worker` may not use that profile'],
  [['other'], 'job', 'PROFILE_NOT_ALLOWED: caller `worker` may not use that profile'],
  [[], 'job', 'PROFILE_NOT_ALLOWED: caller `worker` may not use that profile'],
  [
    undefined,
    'job',
    'CALLER_TOKEN_MISSING: issuing by profile needs a caller token: `authorization: Bearer …`',
  ],
])('a caller who is bound to %j asks for the profile %s: %s', async (names, name, outcome) => {
  const { profile } = profileWith()
  const caller = names && { name: 'worker', profiles: new Set(names) }
  const found = await outcomeOf(() => profileFor(new Map([['job', profile]]), name, caller))
  expect(typeof found === 'string' ? found : found.name).toBe(outcome)
})

test('a profile logs in under its own name, whatever addresses its account allows', async () => {
  const account = '4711'
  const { authority, kindFor, run } = await openPeople(account)
  const { password } = await run(TESTER, 'replaceServiceUserPassword', { account, name: 'robot' })
  await run(TESTER, 'setAddressRestriction', { account, ranges: ['192.0.2.0/24'] })
  const login = { account, userName: 'robot', password }
  const from = PROFILES_ORIGIN
  // The log names the source of a login by it.
  expect(nameOfSource(from.source)).toBe('profiles')
  const { token } = await authority.issue(login, kindFor(), { account }, from)
  expect(token.subject.name).toBe('robot')
})

const described = (tokenId: string): DescribedToken => ({
  token: {
    ...{ kind: 'whole', scope: { account: '7' }, subject: { id: 'u', name: 'u', type: 'service_user' } },
    ...{ tokenId, issuedAtMs: 0, expiresAtMs: undefined },
  },
  status: { active: true, addresses: [] },
})

test.each<[claim: string, slow: string[]]>([
  ['at once', []],
  ['some later', ['b']],
  ['all later', ['a', 'b', 'none']],
])('tokens are described in their order, %s', async (_claim, slow) => {
  const asked: unknown[][] = []
  const authority = {
    describe: (...of: [string, unknown, object]) => {
      asked.push(of)
      const found = of[0] === 'none' ? undefined : described(of[0])
      return slow.includes(of[0]) ? Promise.resolve(found) : found
    },
  }
  const connection = {}
  const tokens = ['a', 'none', 'b']
  const found = describeTokens(
    { engine: SHIPPED, authority, turns: new Turns() },
    tokens.map((each) => new Secret(each)),
    connection,
  )
  expect(await found).toEqual([described('a'), undefined, described('b')])
  expect(asked).toEqual(tokens.map((each) => [each, SHIPPED.tokenKinds, connection]))
})

test('of the tokens of one call, at most 32 wait for the directory', async () => {
  const waiting: (() => void)[] = []
  const authority = {
    describe: (value: string) =>
      new Promise<DescribedToken>((resolve) => waiting.push(() => resolve(described(value)))),
  }
  const tokens = Array.from({ length: 100 }, (_, index) => new Secret(`token ${index}`))
  const found = describeTokens({ engine: SHIPPED, authority, turns: new Turns() }, tokens, {})
  const counts: number[] = []
  for (let answered = 0; answered < tokens.length; ) {
    await eventually(() => waiting.length > 0)
    counts.push(waiting.length)
    answered += waiting.length
    for (const answer of waiting.splice(0)) answer()
  }
  expect(Math.max(...counts)).toBeLessThanOrEqual(32)
  expect((await found).map((each) => each?.token.tokenId)).toEqual(tokens.map((each) => each.reveal()))
})
