/**
 * The facts that the server behind a proxy learns about the sender of a request, and that no client can
 * forge.
 */
import { expect, test } from 'vitest'
import type { VerifiedToken } from '../../sidecar/authority/authority.ts'
import {
  everyIdentityHeader,
  identityHeaders,
  listsIdentity,
  OWN_HEADERS,
  relevanceTo,
  removedHeaders,
  wouldDenyHeaders,
} from '../../sidecar/proxies/identity-headers.ts'
import { PATH_OVERRIDES } from '../../sidecar/rules/routes/overrides.ts'
import { engine } from '../support/matrices/engines.ts'

const TOKEN: VerifiedToken = {
  kind: 'iam_token_project_scoped',
  scope: { account: '123456', project: 'alpha' },
  subject: { id: 'u1', name: 'nightly', type: 'service_user' },
  tokenId: 't1',
  issuedAtMs: 0,
  expiresAtMs: undefined,
}
const RULES = { rulesDigest: 'sha256:1' }
const named = (token: VerifiedToken) => Object.fromEntries(identityHeaders(token, RULES))

test('the facts that an authority verifies', () => {
  expect(named(TOKEN)).toEqual({
    'x-portcullis-kind': 'iam_token_project_scoped',
    'x-portcullis-account': '123456',
    'x-portcullis-project': 'alpha',
    'x-portcullis-user-id': 'u1',
    'x-portcullis-user-name': 'nightly',
    'x-portcullis-user-type': 'service_user',
    'x-portcullis-token-id': 't1',
    'x-portcullis-rules-digest': 'sha256:1',
  })
  expect(named({ ...TOKEN, authority: 'region-1' })['x-portcullis-authority']).toBe('region-1')
})

test('a fact that is not known has no header, or an empty one where every header is set', () => {
  const { project: _project, ...scope } = TOKEN.scope
  const token = { ...TOKEN, scope, subject: { ...TOKEN.subject, name: '' } }
  const facts = {
    'x-portcullis-kind': 'iam_token_project_scoped',
    'x-portcullis-account': '123456',
    'x-portcullis-user-id': 'u1',
    'x-portcullis-user-type': 'service_user',
    'x-portcullis-token-id': 't1',
    'x-portcullis-rules-digest': 'sha256:1',
  }
  expect(named(token)).toEqual(facts)
  const nothing = Object.fromEntries(OWN_HEADERS.map((name) => [name, '']))
  expect(Object.fromEntries(everyIdentityHeader(token, RULES))).toEqual({ ...nothing, ...facts })
  const wouldDeny = { ...nothing, 'x-portcullis-would-deny': 'WRONG_HEADER' }
  expect(Object.fromEntries(wouldDenyHeaders('WRONG_HEADER'))).toEqual(wouldDeny)
})

test.each([
  ['nightly', 'nightly'],
  ['a@b.example', 'a@b.example'],
  ['Jürgen', 'J%C3%BCrgen'],
  ['two words', 'two%20words'],
  ['a,b', 'a%2Cb'],
  ['100%', '100%25'],
  ['line\r\nx-portcullis-account: 1', 'line%0D%0Ax-portcullis-account%3A%201'],
  ['\ud800', '%EF%BF%BD'],
])('the name %j becomes a header that says nothing else', (name, value) => {
  expect(named({ ...TOKEN, subject: { ...TOKEN.subject, name } })['x-portcullis-user-name']).toBe(value)
})

test('a header that is not set is removed, whether the proxy shows it or not, and a set one is not', () => {
  const set = identityHeaders(TOKEN, RULES)
  expect(removedHeaders([], set)).toEqual([
    'x-portcullis-authority',
    'x-portcullis-would-deny',
    ...PATH_OVERRIDES,
  ])
  const all = [...set.map(([name]) => name), ...removedHeaders([], set)]
  expect(all.toSorted()).toEqual([...OWN_HEADERS, ...PATH_OVERRIDES].toSorted())
})

test.each([
  'x-portcullis-admin',
  'x-portcullis-',
  'x_portcullis_account',
  'x-portcullis_account',
  'X-Portcullis-Anything',
])('a header of a client, %s, is removed', (name) => {
  expect(removedHeaders([[name, 'x']], [])).toContain(name.toLowerCase())
})

test('other headers are left alone', () => {
  const names = ['x-portcullis', 'x-auth-token', 'x_auth_token', 'authorization', ':path', 'y-x-portcullis-a']
  names.push('x-px-portcullis-a')
  expect(removedHeaders(list(names), [])).toEqual([...OWN_HEADERS, ...PATH_OVERRIDES])
})

test.each<[name: string, relevant: boolean]>([
  ...['X-Auth-Token', 'x_auth_token', 'X-Token', 'X-Forwarded-For', 'x_forwarded_for', 'Connection'].map(
    (name): [string, boolean] => [name, true],
  ),
  ...['x-portcullis-a', 'X_Portcullis_B'].map((name): [string, boolean] => [name, true]),
  ...['', 'accept', 'authorization', 'x-portcullis', 'x-px-portcullis-a'].map((name): [string, boolean] => [
    name,
    false,
  ]),
])('the outcome of a request can depend on its header %j: %s', (name, relevant) => {
  const { isRelevant, names, carriers } = relevanceTo(engine)
  expect(isRelevant(name)).toBe(relevant)
  expect([...carriers].toSorted()).toEqual(['x-auth-token', 'x-token'])
  expect([...names].toSorted()).toEqual(['connection', 'x-auth-token', 'x-forwarded-for', 'x-token'])
})

test('a replaced credential leaves none of the client, in no spelling', () => {
  const names = ['x-auth-token', 'x_auth_token', 'X-Token', 'x_token', 'cookie']
  const removed = removedHeaders(list(names), [['x-auth-token', 'new']], relevanceTo(engine).carriers)
  const others = removed.filter((name) => !OWN_HEADERS.includes(name) && !PATH_OVERRIDES.includes(name))
  expect(others.toSorted()).toEqual(['x-token', 'x_auth_token', 'x_token'])
  // Also where the proxy does not show it.
  expect(removedHeaders([], [['x-auth-token', 'new']], relevanceTo(engine).carriers)).toContain('x-token')
})

test.each<[connection: string, lists: boolean]>([
  ['Upgrade, x-portcullis-project', true],
  ['X-Portcullis-Account', true],
  ['close,\tX_Portcullis_Kind ,te', true],
  ['Upgrade', false],
  ['Upgrade, x-auth-token', false],
  ['keep-alive, not-x-portcullis-kind', false],
])('Connection: %j lists a header that says who sent the request: %s', (value, lists) => {
  expect(listsIdentity([...list(['accept']), ['connection', value]])).toBe(lists)
  expect(listsIdentity([['upgrade', value]])).toBe(false)
})

const list = (names: readonly string[]) => names.map((name) => [name, 'x'] as const)
