/** The settings of an operator about a route of a proxy, and those that are refused rather than guessed. */
import { describe, expect, test } from 'vitest'
import { clientAddress } from '../../sidecar/proxies/client-address.ts'
import { policyOf, readRouteSettings } from '../../sidecar/proxies/policy.ts'
import { compileRoutes } from '../../sidecar/rules/routes/compile-routes.ts'

const read = (settings: Readonly<Record<string, string>>) => readRouteSettings(Object.entries(settings), 'at')
const alone = (settings: Readonly<Record<string, string>>) => policyOf(read(settings), undefined)

const WHOLE = {
  ...{ api: 'balance', account: '1', project: 'alpha', trusted_hops: '2' },
  ...{ credential_profile: 'gateway', credential_api: 'cloud-quotas', credential_project: 'beta' },
  credential_place: 'Authorization: Bearer',
}

test('the whole policy', () => {
  expect(read(WHOLE).trustedHops).toBe(2)
  expect(alone(WHOLE)).toEqual({
    refused: undefined,
    api: 'balance',
    target: { account: '1', project: 'alpha' },
    replacement: {
      ...{ profile: 'gateway', api: 'cloud-quotas', project: 'beta' },
      place: 'Authorization: Bearer',
    },
  })
})

test('an API is enough, and a credential is for the same API', () => {
  expect(read({ api: 'balance' }).trustedHops).toBe(0)
  expect(alone({ api: 'balance' })).toEqual({
    refused: undefined,
    api: 'balance',
    target: undefined,
    replacement: undefined,
  })
  expect(alone({ api: 'balance', account: '1', credential_profile: 'gateway' })).toMatchObject({
    replacement: { profile: 'gateway', api: 'balance', project: undefined },
  })
})

test.each<[what: string, settings: Record<string, string>, message: string]>([
  ['no API', {}, 'at.api: expected the id of an API, because the configuration has no `routes`'],
  ['an empty API', { api: '' }, 'at.api: expected a value that is not empty'],
  ['an empty account', { api: 'balance', account: '' }, 'at.account: expected a value that is not empty'],
  [
    'a misspelt name, which is not repeated',
    { api: 'balance', acount: '1' },
    'at: expected no other names than api, account, project, trusted_hops, credential_profile, credential_api, credential_project, credential_place',
  ],
  [
    'a project without its account',
    { api: 'balance', project: 'alpha' },
    'at.account: expected the account of the project',
  ],
  [
    'a credential for tokens of every account',
    { api: 'balance', credential_profile: 'gateway' },
    'at.account: expected the account whose tokens may be exchanged for the credential of a profile',
  ],
  [
    'an unknown credential',
    { api: 'balance', account: '1', credential_project: 'beta' },
    'at.credential_profile: expected the name of a profile',
  ],
  [
    'a place without a credential',
    { api: 'balance', account: '1', credential_place: 'X-Token' },
    'at.credential_profile: expected the name of a profile',
  ],
  ...['-1', '1.5', '17', 'two', '100', ' 1'].map((hops): [string, Record<string, string>, string] => [
    `${hops} trusted hops`,
    { api: 'balance', trusted_hops: hops },
    'at.trusted_hops: expected a number from 0 to 16',
  ]),
])('%s is refused', (_what, settings, message) => {
  expect(() => alone(settings)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT', message }))
})

test.each([0, 7, 10, 16])('%i addresses of proxies can be trusted', (hops) => {
  expect(read({ api: 'balance', trusted_hops: String(hops) }).trustedHops).toBe(hops)
})

test('of any number of faults a few are named', () => {
  const many = Array.from({ length: 1_000 }, () => ['acount', '1'] as const)
  const fault = 'at: expected no other names than '
  const count = (text: string) => text.split(fault).length - 1
  expect(() => readRouteSettings(many, 'at')).toThrow(
    expect.objectContaining({ message: expect.toSatisfy((text: string) => count(text) === 9) }),
  )
})

test('a name with two values is refused, and so are names of objects', () => {
  const twice = [['api', 'balance'] as const, ['api', 'balance'] as const]
  expect(() => readRouteSettings(twice, 'at')).toThrow('at.api: expected one value')
  for (const name of ['__proto__', 'constructor', 'toString'])
    expect(() =>
      readRouteSettings(
        [
          ['api', 'balance'],
          [name, 'x'],
        ],
        'at',
      ),
    ).toThrow('expected no other names')
})

describe('beside the routes of the configuration', () => {
  const { routes } = compileRoutes(
    [
      { path: '/balance/', api: 'balance' },
      { path: '/of/{account}/', api: 'balance', target: { account: { segment: 'account' } } },
      {
        path: '/of/{account}/{project}/',
        api: 'cdn',
        target: { account: { segment: 'account' }, project: { segment: 'project' } },
      },
    ],
    undefined,
  )
  const at = (settings: Readonly<Record<string, string>>, target: string) =>
    policyOf(read(settings), routes?.match({ method: 'GET', host: 'a', target, header: () => undefined }))
  const alpha = { account: '1', project: 'alpha' }

  test.each<[settings: Record<string, string>, path: string, found: object]>([
    [{}, '/balance/', { api: 'balance', target: undefined }],
    [{}, '/of/1/alpha/', { api: 'cdn', target: alpha }],
    [{ api: 'cdn' }, '/of/1/alpha/', { api: 'cdn', target: alpha }],
    [{ account: '1' }, '/balance/', { api: 'balance', target: { account: '1' } }],
    // The narrower one of two that agree.
    [{ account: '1' }, '/of/1/alpha/', { api: 'cdn', target: alpha }],
    [alpha, '/of/1', { api: 'balance', target: alpha }],
    [
      { account: '1', credential_profile: 'p' },
      '/balance/',
      { replacement: { profile: 'p', api: 'balance' } },
    ],
    [{ credential_profile: 'p' }, '/of/1', { replacement: { profile: 'p', api: 'balance' } }],
    // The routes need not have every route of the proxy.
    [{ api: 'cdn' }, '/elsewhere', { api: 'cdn', target: undefined }],
    [{}, '/elsewhere', { refused: 'NO_ROUTE' }],
    [{ account: '1' }, '/elsewhere', { refused: 'NO_ROUTE' }],
    [{ api: 'balance' }, '/balance/../of', { refused: 'NOT_CANONICAL' }],
    [{ account: '2' }, '/of/1/alpha/', { refused: 'TARGET_NOT_FOUND' }],
    [{ account: '1', project: 'beta' }, '/of/1/alpha/', { refused: 'TARGET_NOT_FOUND' }],
  ])('%j and %s', (settings, path, found) => {
    expect(at(settings, path)).toMatchObject(found)
  })

  test('a resource of another account than the route says is not found, for a reason', () => {
    expect(at({ account: '2' }, '/of/1')).toEqual({
      refused: 'TARGET_NOT_FOUND',
      detail: 'expected a resource of the account and project of the route',
    })
  })

  test.each<[settings: Record<string, string>, path: string, message: string]>([
    [{ api: 'cdn' }, '/balance/', 'at.api: expected the API of routes[0] of the configuration, or none'],
    [
      { credential_profile: 'p' },
      '/balance/',
      'at.account: expected the account whose tokens may be exchanged for the credential of a profile',
    ],
  ])('%j and %s: %s', (settings, path, message) => {
    expect(() => at(settings, path)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT', message }))
  })
})

test.each<[peer: string | undefined, forwarded: string[], hops: number, address: string | undefined]>([
  ['10.0.0.1', ['1.1.1.1'], 0, '10.0.0.1'],
  ['/run/socket', [], 0, undefined],
  [undefined, [], 0, undefined],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1'], 1, '1.1.1.1'],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1', '10.0.0.9'], 2, '1.1.1.1'],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1', '10.0.0.9'], 3, '6.6.6.6'],
  ['10.0.0.1', ['::1,2001:db8::1'], 1, '2001:db8::1'],
  // Fewer addresses than there are proxies: a client went past one of them.
  ['10.0.0.1', ['1.1.1.12'], 2, undefined],
  ['10.0.0.1', ['1.1.1.1,'], 2, '1.1.1.1'],
  ['10.0.0.1', [',1.1.1.1'], 2, undefined],
  ['10.0.0.1', [], 1, undefined],
  ['10.0.0.1', [','], 1, undefined],
  ['10.0.0.1', [','], 2, undefined],
  ['10.0.0.1', [','], 3, undefined],
  ['10.0.0.1', ['1.1.1.1, unknown'], 1, undefined],
  ['10.0.0.1', ['1.1.1.1:80'], 1, '1.1.1.1'],
  ['10.0.0.1', ['6.6.6.6, "[2001:DB8::1]:80"'], 1, '2001:db8::1'],
  ['::ffff:10.0.0.1', [], 0, '10.0.0.1'],
])('the client of a proxy: peer %s, forwarded for %j, %i trusted: %s', (peer, forwarded, hops, address) => {
  const others = [
    ['forwarded', 'for=9.9.9.9'],
    ['x-real-ip', '9.9.9.9'],
  ] as const
  const headers = [...forwarded.map((value) => ['x-forwarded-for', value] as const), ...others]
  expect(clientAddress(peer, headers, hops)).toBe(address)
})
