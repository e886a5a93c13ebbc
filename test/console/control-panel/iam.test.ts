/**
 * The models behind the pages of administrators: what a user obtains and opens, forms of grants, owners,
 * commands, ranges.
 */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { rulesOf } from '../../../console/model/rules.ts'
import { curlWith, issueWith, passwordFile } from '../../../console/panel/model/commands.ts'
import { ApiError } from '../../../console/panel/model/errors.ts'
import {
  draftOf,
  otherRolesOf,
  permissionsOf,
  raisesRights,
  rolesOf,
  sameDraft,
  sameRoles,
} from '../../../console/panel/model/grants.ts'
import { PermissionScope } from '../../../console/panel/model/iam-records.ts'
import {
  whyNoChange,
  whyNoInvitation,
  whyNoLogin,
  whyNotAsOwner,
  whyNoUserChange,
} from '../../../console/panel/model/may.ts'
import { obtainsOf } from '../../../console/panel/model/obtains.ts'
import { rangeFaultsOf, rangesOf, sameRanges } from '../../../console/panel/model/ranges.ts'
import type { CallerRights, Who } from '../../../console/panel/model/wire.ts'
import { supportMatrix } from '../../../matrix/index.ts'

const rules = rulesOf(supportMatrix, 'resolved')
const account = { scope: PermissionScope.PERMISSION_SCOPE_ACCOUNT, projects: [] }
const projects = (...names: string[]) => ({
  scope: PermissionScope.PERMISSION_SCOPE_PROJECTS,
  projects: names,
})

test.each<[claim: string, permissions: Parameters<typeof obtainsOf>[1], obtains: object]>([
  [
    'a permission for the account gives both kinds',
    [account],
    { iam_token_account_scoped: 'yes', iam_token_project_scoped: 'yes', static_token: 'holder' },
  ],
  [
    'a permission for projects gives tokens of these projects',
    [projects('alpha', 'beta'), projects('alpha')],
    { iam_token_project_scoped: 'selected', iam_token_account_scoped: 'permission', static_token: 'holder' },
  ],
  [
    'no permission gives nothing',
    [],
    {
      iam_token_account_scoped: 'permission',
      iam_token_project_scoped: 'permission',
      static_token: 'holder',
    },
  ],
  [
    'a permission for projects that selects none gives nothing',
    [projects()],
    {
      iam_token_account_scoped: 'permission',
      iam_token_project_scoped: 'permission',
      static_token: 'holder',
    },
  ],
])('%s', (_, permissions, obtains) => {
  const found = obtainsOf(rules.engine('resolved'), permissions)
  expect(Object.fromEntries(found.map((each) => [each.kind.id, each.obtains]))).toEqual(obtains)
  expect(found.map((each) => each.kind.id)).toEqual(Object.keys(obtains))
  const selected = found.find((each) => each.obtains === 'selected')
  if (selected) expect(selected.projects).toEqual(['alpha', 'beta'])
})

test('a kind opens the APIs that the engine allows, in both modes, with contested cells marked', () => {
  for (const mode of ['resolved', 'strict'] as const) {
    const engine = rules.engine(mode)
    for (const { kind, opens } of obtainsOf(engine, [account])) {
      const scope = kind.scopeLevel === 'project' ? { account: 'a', project: 'p' } : { account: 'a' }
      const allowed = [...engine.apis.keys()].filter(
        (api) => engine.decide({ kind: kind.id, scope, api }).allowed,
      )
      expect(opens.map(({ id }) => id)).toEqual(allowed)
      for (const { id, contested } of opens)
        expect(contested).toBe(engine.apis.get(id)?.contested.includes(kind.id))
    }
  }
})

test('a form of permissions leads back to what it was made of', () => {
  for (const held of [[account], [projects('alpha', 'beta')], []])
    expect(permissionsOf(draftOf(held))).toEqual(held)
  expect(draftOf([projects('alpha'), account])).toEqual({ scope: 'account', projects: ['alpha'] })
  expect(permissionsOf({ scope: 'projects', projects: [] })).toBeUndefined()
})

test('a form that was not touched says so, so nothing of it is sent', () => {
  expect(sameDraft({ scope: 'account', projects: ['a'] }, { scope: 'account', projects: [] })).toBe(true)
  expect(
    sameDraft({ scope: 'projects', projects: ['a', 'b'] }, { scope: 'projects', projects: ['b', 'a'] }),
  ).toBe(true)
  expect(sameDraft({ scope: 'projects', projects: ['a'] }, { scope: 'projects', projects: ['b'] })).toBe(
    false,
  )
  expect(sameDraft({ scope: 'none', projects: [] }, { scope: 'account', projects: [] })).toBe(false)
})

test('roles are a box and a text', () => {
  expect(rolesOf(true, ' dns.reader,billing  iam.admin ')).toEqual(['iam.admin', 'dns.reader', 'billing'])
  expect(otherRolesOf(['iam.admin', 'billing', 'dns.reader'])).toBe('billing, dns.reader')
  expect(sameRoles(['b', 'a'], ['a', 'b'])).toBe(true)
  expect(sameRoles(['a'], [])).toBe(false)
})

test.each<[claim: string, ...Parameters<typeof raisesRights>, boolean]>([
  ['an owner, of a member', { owner: false, roles: [] }, { owner: true, roles: [] }, true],
  ['an owner, of an iam.admin', { owner: false, roles: ['iam.admin'] }, { owner: true, roles: [] }, true],
  [
    'an iam.admin, of a member',
    { owner: false, roles: ['a'] },
    { owner: false, roles: ['a', 'iam.admin'] },
    true,
  ],
  ['an iam.admin, of a machine', { roles: [] }, { roles: ['iam.admin'] }, true],
  ['an iam.admin, of an owner', { owner: true, roles: [] }, { owner: true, roles: ['iam.admin'] }, false],
  ['an iam.admin, of one who was', { roles: ['iam.admin'] }, { roles: ['iam.admin', 'a'] }, false],
  ['nothing else of a member', { owner: false, roles: [] }, { owner: false, roles: ['a'] }, false],
])('a form says what ends where it makes %s', (_claim, before, after, raises) => {
  expect(raisesRights(before, after)).toBe(raises)
})

const person = (owner: boolean): Who => ({
  ...{ type: 'user', account: '234567', name: 'anna', owner, administrator: true, roles: [] },
})
const operator = (rights: Partial<CallerRights>): Who => ({
  type: 'operator',
  name: 'ops',
  rights: { everything: false, read: false, revoke: false, administer: [], ...rights },
})

test.each<
  [who: string, Who, anybody: unknown, owner: unknown, limits: unknown, invite: unknown, validator: unknown]
>([
  ['an owner', person(true), undefined, undefined, undefined, undefined, 'operators'],
  ['an iam.admin', person(false), undefined, 'owners', 'owners', undefined, 'operators'],
  [
    'an operator with everything',
    operator({ everything: true }),
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ],
  [
    'an operator of the account',
    operator({ administer: ['234567'] }),
    undefined,
    undefined,
    undefined,
    'inviters',
    undefined,
  ],
  [
    'an operator of another account',
    operator({ administer: ['1'] }),
    'read',
    'read',
    'read',
    'inviters',
    'read',
  ],
  ['an operator who reads', operator({ read: true }), 'read', 'read', 'read', 'inviters', 'read'],
])('the page knows the changes that %s may not make', (_, who, anybody, owner, limits, invite, validator) => {
  expect(whyNoChange(who, '234567')).toBe(anybody)
  expect(whyNoUserChange(who, '234567', { owner: false })).toBe(anybody)
  expect(whyNoUserChange(who, '234567', { owner: true })).toBe(owner)
  expect(whyNotAsOwner(who, '234567')).toBe(limits)
  expect(whyNoInvitation(who, '234567', { name: 'pia', owner: false })).toBe(invite)
  expect(whyNoLogin(who, '234567', { validator: true })).toBe(validator)
})

test('an iam.admin does not invite an owner', () => {
  expect(whyNoInvitation(person(false), '234567', { name: 'oscar', owner: true })).toBe('owners')
})

test.each([true, false])('users cannot invite themselves (owner: %s)', (owner) => {
  const who = person(owner)
  const name = who.type === 'user' ? who.name : ''
  expect(whyNoInvitation(who, '234567', { name, owner })).toBe('self')
})

test.each([
  ['ci', 'ci-password.txt'],
  ['nightly report; rm -rf', 'nightly-report-rm--rf-password.txt'],
  ['../../etc', 'etc-password.txt'],
  ['колобок', 'service-user-password.txt'],
])('the password of %s is saved as %s', (user, file) => {
  expect(passwordFile(user)).toBe(file)
})

test('the commands are words of a shell, whatever the names are', () => {
  const user = 'a\'b $(touch x) `id` "c" \\ $HOME'
  const login = { account: '234567', user, project: 'p q', file: 'a-password.txt' }
  const words = execFileSync('sh', ['-c', `npx() { printf '%s\\n' "$@"; }; ${issueWith(login)}`], {
    encoding: 'utf8',
  })
  expect(words.split('\n').slice(0, 9)).toEqual([
    ...['--no-install', 'portcullis', 'issue', '--account', '234567', '--user', user, '--project', 'p q'],
  ])
  const request = execFileSync(
    'sh',
    ['-c', `curl() { cat; }; sed() { echo secret; }; ${curlWith(login, 'http://127.0.0.1:8180')}`],
    { encoding: 'utf8' },
  )
  expect(JSON.parse(request)).toEqual({
    auth: {
      identity: {
        methods: ['password'],
        password: { user: { name: user, domain: { name: '234567' }, password: 'secret' } },
      },
      scope: { project: { name: 'p q', domain: { name: '234567' } } },
    },
  })
})

test('ranges stand one a line, and an error leads to its line', () => {
  const typed = rangesOf('10.0.0.0/8\n\n  2001:db8::/32 , 192.0.2.1\nnonsense\n')
  expect(typed.ranges).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1', 'nonsense'])
  expect(typed.lines).toEqual([1, 3, 3, 4])
  const error = new ApiError('INVALID_ARGUMENT', 'ranges[3]: expected an address; ranges[0]: expected less')
  expect(rangeFaultsOf(error, typed)).toEqual([
    { line: 4, range: 'nonsense', expected: 'expected an address' },
    { line: 1, range: '10.0.0.0/8', expected: 'expected less' },
  ])
  const many = new ApiError('INVALID_ARGUMENT', 'ranges: expected at most 1000 ranges, not 1001')
  expect(rangeFaultsOf(many, typed)).toEqual([
    { line: undefined, range: '', expected: 'expected at most 1000 ranges, not 1001' },
  ])
  expect(rangeFaultsOf(new ApiError('UNAVAILABLE', 'ranges[0]: expected x'), typed)).toEqual([])
  expect(sameRanges(['b', 'a'], ['a', 'b'])).toBe(true)
})
