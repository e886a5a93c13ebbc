/**
 * The callers who may use an egress route, and the credential that goes out with its requests. `test/egress`
 * sends some.
 */
import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { compile, type Engine } from '../../engine/index.ts'
import { Secret } from '../../sidecar/base/secret.ts'
import { Callers } from '../../sidecar/usecases/callers.ts'
import { admit, isRenewable, outgoing, type Passage, routeProblems } from '../../sidecar/usecases/egress.ts'
import type { Issued, Issuing } from '../../sidecar/usecases/issue.ts'
import type { Profile } from '../../sidecar/usecases/profiles.ts'
import {
  api,
  ENGINE,
  named,
  PART,
  PROFILE_ACCOUNT,
  profileWith,
  STRICT,
  WHOLE,
} from '../support/sidecar/four-kinds.ts'
import { outcomeOf } from '../support/sidecar/services.ts'

/** No user logs in by password, so no authority is asked. */
const issuing = (engine: Engine, profile: Profile) =>
  ({ engine, profiles: new Map([[profile.name, profile]]) }) as unknown as Issuing

const PASSAGE: Passage = { path: '/a/', api: 'part', profile: 'job', project: 'alpha', callers: 'anyone' }
const callers = new Callers([
  {
    ...{ name: 'worker', tokenSha256: hash('sha256', 'token', 'hex'), certificateName: undefined },
    ...{ profiles: new Set(), expiresAtMs: undefined },
    rights: { everything: false, revoke: false, read: false, follow: false, administer: new Set() },
  },
])

test.each<[callers: Passage['callers'], authorization: string[], admission: string]>([
  ['anyone', [], 'admitted'],
  ['anyone', ['Bearer wrong'], 'admitted'],
  [new Set(['worker']), ['Bearer token'], 'admitted'],
  [new Set(['other']), ['Bearer token'], 'not_allowed'],
  [new Set(['worker']), ['Bearer wrong'], 'unknown'],
  [new Set(['worker']), [], 'unknown'],
])('a route for %j and a request with %j', (allowed, authorization, admission) => {
  expect(admit(callers, { ...PASSAGE, callers: allowed }, authorization)).toBe(admission)
})

test('a defect is not an answer about the caller', () => {
  const expectToken = () => {
    throw new Error('a defect')
  }
  expect(() => admit({ expectToken }, { ...PASSAGE, callers: new Set(['worker']) }, [])).toThrow('a defect')
})

test('the token of the profile goes out, another one after a refusal, and the route is bound to no other', async () => {
  const { profile, asked } = profileWith()
  const rejected = new Secret('refused')
  const sent = await outgoing(issuing(ENGINE, profile), PASSAGE, rejected)
  expect(sent).toMatchObject({
    allowed: true,
    decision: { reason: 'ALLOWED' },
    credential: { kind: 'part' },
  })
  expect(asked).toEqual([['part', { account: PROFILE_ACCOUNT, project: 'alpha' }, rejected]])
  const refused = outcomeOf(() => outgoing(issuing(ENGINE, profile), { ...PASSAGE, profile: 'none' }))
  expect(await refused).toBe('PROFILE_NOT_ALLOWED: caller `egress route /a/` may not use that profile')
})

test.each<[api: string, engine: Engine, reason: string]>([
  ['none', ENGINE, 'UNKNOWN_API'],
  ['shut', ENGINE, 'TOKEN_KIND_NOT_ACCEPTED'],
  ['closed', STRICT, 'CONTESTED'],
  ['narrow', STRICT, 'ALLOWED'],
  [
    'any',
    compile<string, string>({ title: 'any', tokenKinds: [], apis: [named('any', '')] }),
    'UNKNOWN_TOKEN_KIND',
  ],
])('the API %s', async (name, engine, reason) => {
  const { profile, asked } = profileWith()
  const sent = await outgoing(issuing(engine, profile), { ...PASSAGE, api: name })
  const allowed = reason === 'ALLOWED'
  expect([sent.allowed, sent.decision.reason, sent.credential !== undefined]).toEqual([
    allowed,
    reason,
    allowed,
  ])
  expect(asked).toHaveLength(allowed ? 1 : 0)
})

test('a token that the matrix denies is not sent, whatever chose it', async () => {
  const { profile } = profileWith()
  const issueOther: Profile['issue'] = (each, scope) => profile.issue(each, { ...scope, account: '' })
  const sent = await outgoing(issuing(ENGINE, { ...profile, issue: issueOther }), PASSAGE)
  expect(sent).toMatchObject({ allowed: false, decision: { reason: 'INVALID_SCOPE' } })
  expect(sent.credential).toBeUndefined()
})

const NO_PROJECT =
  'egress.routes[0].project: expected the name of a project, because every token that the API accepts is bound to one'
const NO_STATIC =
  'egress.routes[0].profile: expected a profile with a static token, because the API accepts no other token'

test.each<[api: string, withProject: string[], withoutProject: string[], withStaticToken: string[]]>([
  [
    'none',
    ...(Array.from({ length: 3 }, () => [
      'egress.routes[0].api: expected the id of an API of the matrix',
    ]) as [string[], string[], string[]]),
  ],
  ['whole', [], [], []],
  ['part', [], [NO_PROJECT], [NO_PROJECT]],
  ['whole+part', [], [], []],
  ['fixed', [NO_STATIC], [NO_STATIC], []],
  ['whole+fixed', [], [], []],
  ['part+fixed', [], [NO_PROJECT], [NO_PROJECT]],
  ['shut', [], [], []],
])('the problems of a route to %s', (name, withProject, withoutProject, withStaticToken) => {
  const problems = (project: string | undefined, hasStaticToken: boolean) =>
    routeProblems(ENGINE, [{ ...PASSAGE, api: name, project }], (profile) => ({
      hasStaticToken: profile === 'job' && hasStaticToken,
      projectsOnly: false,
    }))
  expect(problems('alpha', false)).toEqual(withProject)
  expect(problems(undefined, false)).toEqual(withoutProject)
  expect(problems(undefined, true)).toEqual(withStaticToken)
})

const WITH_PLACES = compile<string, string>({
  title: 'places',
  tokenKinds: [
    {
      ...WHOLE,
      header: undefined,
      scheme: undefined,
      places: [{ header: 'X-A' }, { header: 'B', scheme: 'Key' }],
    },
    PART,
  ],
  apis: [api('whole+part')],
})
const NO_PLACE = (kind: string, places: string) => [
  `egress.routes[0].place: expected a place of a ${kind} token that needs no other header: ${places}`,
]

test.each<[place: string, anyScope: string[], forProjects: string[]]>([
  ['X-A', [], NO_PLACE('part', '`X-part`')],
  ['B: Key', [], NO_PLACE('part', '`X-part`')],
  ['X-part', NO_PLACE('whole', '`X-A` or `B: Key`'), []],
  ['X-B', NO_PLACE('whole', '`X-A` or `B: Key`'), NO_PLACE('part', '`X-part`')],
])('the place %s must be one of the kind that the route sends', (place, anyScope, forProjects) => {
  const facts = [
    [false, undefined, anyScope],
    [true, 'alpha', forProjects],
  ] as const
  for (const [projectsOnly, project, expected] of facts) {
    const passage = { ...PASSAGE, api: 'whole+part', project, place }
    expect(routeProblems(WITH_PLACES, [passage], () => ({ hasStaticToken: false, projectsOnly }))).toEqual(
      expected,
    )
  }
})

test('each problem names the place of its route', () => {
  const passages = ['whole', 'none', 'part'].map((each) => ({ ...PASSAGE, api: each, project: undefined }))
  expect(
    routeProblems(ENGINE, passages, () => ({ hasStaticToken: false, projectsOnly: false })).map((each) =>
      each.slice(0, 24),
    ),
  ).toEqual(['egress.routes[1].api: ex', 'egress.routes[2].project'])
})

test('a credential from the configuration cannot be renewed', () => {
  expect([undefined, 1].map((issuedAtMs) => isRenewable({ issuedAtMs } as Issued))).toEqual([false, true])
})
