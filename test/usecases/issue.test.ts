/**
 * The kind of token that is obtained for a scope or a set of APIs, in any matrix.
 * `test/contract/issue.test.ts` asks over the wire who gets which.
 */
import { expect, test, vi } from 'vitest'
import { compile, type Engine, type Scope, type TokenKind } from '../../engine/index.ts'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import type { IssuedToken } from '../../sidecar/authority/authority.ts'
import { kindForScope } from '../../sidecar/authority/kind-of-scope.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { type Issued, issue, type Purpose } from '../../sidecar/usecases/issue.ts'
import type { Profile } from '../../sidecar/usecases/profiles.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import {
  api,
  ENGINE,
  GIVEN,
  made,
  named,
  PART,
  PROFILE_ACCOUNT,
  profileWith,
  WHOLE,
} from '../support/sidecar/four-kinds.ts'
import { openServices, outcomeOf } from '../support/sidecar/services.ts'

const ACCOUNT = PROFILE_ACCOUNT
const { authority, administration } = await openServices()
const { secrets } = await applyFile(administration, TESTER, {
  accounts: [
    {
      account: ACCOUNT,
      projects: ['alpha'],
      service_users: [{ name: 'robot', permissions: [{ scope: 'account' }] }],
    },
  ],
})
const login = { account: ACCOUNT, userName: 'robot', password: secrets[0]?.value ?? new Secret('') }

const forApis = (apis: string, project?: string): Purpose => ({
  type: 'apis',
  apis: apis.split(' '),
  project,
})
const services = (engine: Engine, profile?: Profile) => ({
  ...{ engine, authority },
  profiles: new Map(profile && [[profile.name, profile]]),
})
const byPassword = (purpose: Purpose, engine = ENGINE) =>
  outcomeOf(() =>
    issue(services(engine), { requester: { type: 'password', login }, purpose, from: undefined }),
  )

const JOB = { name: 'worker', profiles: new Set(['job']) }
const byProfile = (purpose: Purpose, profile: Profile, engine = ENGINE) =>
  outcomeOf(() =>
    issue(services(engine, profile), {
      requester: { type: 'profile', name: profile.name, caller: JOB },
      ...{ purpose, from: undefined },
    }),
  )
const STATIC = new Secret('from the configuration')

/** The kind and the project of what was issued, or the refusal. */
const shortly = (outcome: Issued | string) =>
  typeof outcome === 'string' ? outcome : [outcome.kind, outcome.scope.project].filter(Boolean).join(' of ')

const UNKNOWN = (...places: number[]) =>
  `INVALID_ARGUMENT: ${places.map((place) => `apis.apis[${place}]: expected the id of an API of the matrix`).join('; ')}`
const PROJECT_EXPECTED =
  'INVALID_ARGUMENT: apis.project: expected a project name: these APIs take a part token, which is bound to a project'
const NONE = (what: string) => `NO_SINGLE_KIND: no single kind of token opens all of these APIs; ${what}`

test.each<[apis: string, withoutProject: string, withProject: string]>([
  ['whole', 'whole', 'whole'],
  ['part', PROJECT_EXPECTED, 'part of alpha'],
  ['whole+part', 'whole', 'part of alpha'],
  ['whole+part whole', 'whole', 'whole'],
  ['whole+part part', PROJECT_EXPECTED, 'part of alpha'],
  ['whole+fixed', 'whole', 'whole'],
  // The one that can be obtained is not left for one that cannot.
  ['part+fixed', PROJECT_EXPECTED, 'part of alpha'],
  ['whole+part+fixed part+fixed', PROJECT_EXPECTED, 'part of alpha'],
  // The narrower one is contested.
  ['narrow', 'whole', 'whole'],
  ['narrow whole+part', 'whole', 'whole'],
  [
    'fixed',
    'NOT_ISSUABLE: a fixed token is not issued by an API request; in the control panel: Open it. Copy it.',
    'NOT_ISSUABLE: a fixed token is not issued by an API request; in the control panel: Open it. Copy it.',
  ],
  [
    'given',
    'NOT_ISSUABLE: a given token is not issued by an API request',
    'NOT_ISSUABLE: a given token is not issued by an API request',
  ],
  ['none whole else', UNKNOWN(0, 2), UNKNOWN(0, 2)],
  [
    'whole part',
    NONE('the smallest set is a whole token for whole and a part token for part'),
    NONE('the smallest set is a whole token for whole and a part token for part'),
  ],
  [
    'whole shut',
    NONE('the smallest set is a whole token for whole; no kind opens shut'),
    NONE('the smallest set is a whole token for whole; no kind opens shut'),
  ],
  ['shut', NONE('no kind opens shut'), NONE('no kind opens shut')],
  ['shut barred', NONE('no kind opens shut, barred'), NONE('no kind opens shut, barred')],
])('for %s a user gets %s, and with a project %s', async (apis, withoutProject, withProject) => {
  expect(shortly(await byPassword(forApis(apis)))).toBe(withoutProject)
  expect(shortly(await byPassword(forApis(apis, 'alpha')))).toBe(withProject)
})

test.each<[apis: string, anyScope: string, projectsOnly: string, projectsOnlyWithProject: string]>([
  ['whole+part', 'whole', 'whole', 'part of alpha'],
  ['narrow', 'whole', 'whole', 'part of alpha'],
  ['whole', 'whole', 'whole', 'whole'],
  ['fixed', 'fixed', 'fixed', 'fixed'],
  ['whole+part+fixed', 'whole', 'whole', 'part of alpha'],
])(
  'for %s a profile gives %s; one for projects alone %s, and with a project %s',
  async (apis, any, only, withProject) => {
    const { profile } = profileWith({ staticToken: STATIC })
    const restricted = { ...profile, projects: new Set(['alpha']) }
    expect(shortly(await byProfile(forApis(apis), profile))).toBe(any)
    expect(shortly(await byProfile(forApis(apis), restricted))).toBe(only)
    expect(shortly(await byProfile(forApis(apis, 'alpha'), restricted))).toBe(withProject)
  },
)

test.each<[scope: Scope, kinds: TokenKind[], outcome: string]>([
  [{ account: ACCOUNT }, [GIVEN, PART, WHOLE], 'whole'],
  [{ account: ACCOUNT, project: 'alpha' }, [GIVEN, WHOLE, PART], 'part'],
  [
    { account: ACCOUNT },
    [PART, GIVEN],
    'NO_KIND_FOR_SCOPE: the matrix has no token kind that can be issued with account scope',
  ],
  [
    { account: ACCOUNT, project: 'alpha' },
    [WHOLE],
    'NO_KIND_FOR_SCOPE: the matrix has no token kind that can be issued with project scope',
  ],
])('the scope %j of %j', async (scope, tokenKinds, outcome) => {
  const found = await outcomeOf(() => kindForScope(scope, tokenKinds))
  expect(typeof found === 'string' ? found : found.id).toBe(outcome)
})

test('a token by password is for the scope, from where the login comes, and says how to send it', async () => {
  const asked = vi.spyOn(authority, 'issue')
  const scope = { account: ACCOUNT, project: 'alpha' }
  const requester = { type: 'password', login } as const
  const source = { type: 'this_machine' } as const
  const outcome = (await byPassword({ type: 'scope', scope })) as Issued
  expect(asked).toHaveBeenLastCalledWith(login, ENGINE.tokenKinds.get('part'), scope, {
    source,
    restricted: false,
  })
  const from = { source: { type: 'this_machine' }, connection: 'c' } as const
  const purpose = { type: 'scope', scope: { account: ACCOUNT } } as const
  const other = (await outcomeOf(() => issue(services(ENGINE), { requester, purpose, from }))) as Issued
  expect(asked).toHaveBeenLastCalledWith(
    ...[login, ENGINE.tokenKinds.get('whole'), { account: ACCOUNT }, { ...from, restricted: false }],
  )
  asked.mockRestore()
  const [{ token }, { token: otherToken }] = (await Promise.all(
    [outcome, other].map(async ({ value }) => {
      const verified = await authority.verify(value.reveal(), ENGINE.tokenKinds)
      return verified as { token: IssuedToken['token'] }
    }),
  )) as [{ token: IssuedToken['token'] }, { token: IssuedToken['token'] }]
  const { tokenId, issuedAtMs, expiresAtMs } = token
  expect(outcome).toEqual({
    ...{ header: 'X-part', scheme: '', value: outcome.value, kind: 'part', scope },
    ...{ tokenId, issuedAtMs, expiresAtMs, conflicts: [] },
  })
  expect(other).toMatchObject({
    header: 'X-whole',
    scheme: 'Bearer',
    kind: 'whole',
    tokenId: otherToken.tokenId,
  })
})

test('a token of the configuration says what is known of it', async () => {
  const { profile, asked } = profileWith({ staticToken: STATIC })
  const scope = { account: ACCOUNT }
  const ends = { tokenId: '', issuedAtMs: undefined, expiresAtMs: undefined, conflicts: [] }
  expect(await byProfile(forApis('fixed'), profile)).toEqual({
    ...ends,
    header: 'X-fixed',
    scheme: '',
    value: STATIC,
    kind: 'fixed',
    scope,
  })
  expect(await byProfile(forApis('given'), profile)).toMatchObject({ header: 'X-given', scheme: 'Key' })
  expect(asked).toEqual([])
})

const PLACES = [{ header: 'X-A' }, { header: 'B', scheme: 'Key' }, { header: 'B', basic: 'user' as const }]
const WITH_PLACES = compile<string, string>({
  ...{ title: 'places', apis: [api('whole'), api('fixed'), named('both', 'whole+fixed')] },
  tokenKinds: [
    { ...WHOLE, header: undefined, scheme: undefined, places: PLACES },
    { ...GIVEN, id: 'fixed', header: undefined, scheme: undefined, places: PLACES.slice(0, 2) },
  ],
})

test.each<[place: string | undefined, apis: string, sentIn: object | string]>([
  [undefined, 'whole', { header: 'X-A', scheme: '', basic: undefined }],
  ['X-A', 'whole', { header: 'X-A', scheme: '', basic: undefined }],
  ['B: Key', 'whole', { header: 'B', scheme: 'Key', basic: undefined }],
  ['b: Basic (user)', 'both', { header: 'B', scheme: 'Basic', basic: 'user' }],
  ['B: Key', 'fixed', { header: 'B', scheme: 'Key', basic: undefined }],
  [
    'X-B',
    'whole',
    'INVALID_ARGUMENT: place: expected a place of a whole token that needs no other header: `X-A`, `B: Key` or `B: Basic (user)`',
  ],
  [
    'B: Basic (user)',
    'fixed',
    'INVALID_ARGUMENT: place: expected a place of a given token that needs no other header: `X-A` or `B: Key`',
  ],
])('in the place %s for %s a token is sent as %j', async (place, apis, sentIn) => {
  const { profile } = profileWith({ staticToken: STATIC })
  const ask = (chosen: string | undefined) =>
    outcomeOf(() =>
      issue(services(WITH_PLACES, profile), {
        requester: { type: 'profile', name: 'job', caller: JOB },
        ...{ purpose: forApis(apis), place: chosen, from: undefined },
      }),
    )
  const issued = await ask(place)
  if (typeof sentIn === 'string') expect(issued).toBe(sentIn)
  else expect(issued).toMatchObject(sentIn)
  // The answer for another place is another one.
  expect(await ask(undefined)).toMatchObject({ header: 'X-A', scheme: '' })
})

test.each<[purpose: Purpose, conflicts: string[]]>([
  [forApis('whole'), ['whole-itself']],
  [{ type: 'scope', scope: { account: ACCOUNT } }, ['whole-itself']],
  [{ type: 'scope', scope: { account: ACCOUNT, project: 'alpha' } }, []],
  [forApis('part', 'alpha'), []],
  [forApis('row', 'alpha'), ['row']],
  [forApis('closed row', 'alpha'), ['row', 'closed']],
])('a token that is issued for %j names the conflicts %j', async (purpose, conflicts) => {
  const { profile } = profileWith()
  const issued = (await byProfile(purpose, profile)) as Issued
  expect(issued.conflicts.map(({ id }) => id)).toEqual(conflicts)
})

test('a profile gets the token that was refused, and the answer for the same token is the same', async () => {
  const { profile, asked } = profileWith()
  const rejected = new Secret('refused')
  const requester = { type: 'profile', name: 'job', caller: JOB } as const
  const ask = (purpose: Purpose) =>
    issue(services(ENGINE, profile), { requester, purpose, from: undefined, rejected })
  const first = ask(forApis('part', 'alpha'))
  expect(asked).toEqual([['part', { account: ACCOUNT, project: 'alpha' }, rejected]])
  expect(ask(forApis('part', 'alpha'))).toBe(first)
  // The same token for another purpose.
  expect(ask(forApis('row', 'alpha'))).not.toBe(first)
  expect(ask(forApis('part', 'alpha'))).toBe(first)
})

test('a bounded number of lists of APIs is remembered: clients make them up', () => {
  const { profile } = profileWith()
  const engine = made([named('a', 'part'), named('b', 'part')])
  const requester = { type: 'profile', name: 'job', caller: JOB } as const
  const lists = Array.from({ length: 1_001 }, (_, index) =>
    Array.from({ length: 10 }, (_digit, bit) => ((index >> bit) & 1 ? 'a' : 'b')),
  )
  const ask = (apis: readonly string[]) =>
    issue(services(engine, profile), {
      requester,
      purpose: { type: 'apis', apis, project: 'p' },
      from: undefined,
    })
  const [first = [], ...others] = lists
  const answer = ask(first)
  for (const each of others.slice(0, -1)) ask(each)
  expect(ask(first)).toBe(answer)
  ask(others.at(-1) ?? [])
  expect(ask(first)).not.toBe(answer)
})

test('an error names forty APIs for a token, and how many more there are', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => named(`api-${index}`, 'whole'))
  const refusal = async (count: number) => {
    const engine = made([...many(count), api('part')])
    const requester = { type: 'password', login } as const
    const apis = [...many(count).map(({ id }) => id), 'part']
    const purpose = { type: 'apis', apis, project: undefined } as const
    try {
      await issue(services(engine), { requester, purpose, from: undefined })
    } catch (error) {
      return error as Error & { metadata: object }
    }
    throw new TypeError('it was issued')
  }
  const list = (separator: string) =>
    many(40)
      .map(({ id }) => id)
      .join(separator)
  const all = await refusal(40)
  expect(all.message).toContain(` for ${list(', ')} and a part token`)
  expect(all.metadata).toEqual({ plan_whole: list(','), plan_part: 'part' })
  const cut = await refusal(42)
  expect(cut.message).toContain(` for ${list(', ')}, and 2 more and a part token`)
  expect(cut.metadata).toEqual({ plan_whole: `${list(',')},and 2 more`, plan_part: 'part' })
})

test.each<[apis: string, metadata: object]>([
  ['whole shut', { plan_whole: 'whole', unopened: 'shut' }],
  ['shut barred', { unopened: 'shut,barred' }],
  ['whole part', { plan_whole: 'whole', plan_part: 'part' }],
  ['fixed', { kind: 'fixed', step_1: 'Open it.', step_2: 'Copy it.' }],
  ['given', { kind: 'given' }],
])('the refusal for %s has its parts for programs', async (apis, metadata) => {
  const requester = { type: 'password', login } as const
  const purpose = forApis(apis)
  const asking = async () => issue(services(ENGINE), { requester, purpose, from: undefined })
  await expect(asking()).rejects.toMatchObject({ metadata })
  await expect(asking()).rejects.toSatisfy((error) => {
    expect((error as { metadata: object }).metadata).toEqual(metadata)
    return true
  })
})
