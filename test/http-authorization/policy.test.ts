/** What an operator can say about a route of a proxy, and what is refused rather than guessed. */
import { expect, test } from 'vitest'
import { clientAddress } from '../../sidecar/http-authorization/client-address.ts'
import { readRoutePolicy } from '../../sidecar/http-authorization/policy.ts'

const read = (settings: Readonly<Record<string, string>>) => readRoutePolicy(Object.entries(settings), 'at')

test('the whole policy', () => {
  expect(
    read({
      api: 'balance',
      account: '1',
      project: 'alpha',
      trusted_hops: '2',
      credential_profile: 'gateway',
      credential_api: 'cloud-quotas',
      credential_project: 'beta',
    }),
  ).toEqual({
    api: 'balance',
    target: { account: '1', project: 'alpha' },
    trustedHops: 2,
    replacement: { profile: 'gateway', api: 'cloud-quotas', project: 'beta' },
  })
})

test('an API is enough, and a credential is for the same API', () => {
  expect(read({ api: 'balance' })).toEqual({
    api: 'balance',
    target: undefined,
    trustedHops: 0,
    replacement: undefined,
  })
  const { replacement } = read({ api: 'balance', account: '1', credential_profile: 'gateway' })
  expect(replacement).toEqual({ profile: 'gateway', api: 'balance', project: undefined })
})

test.each<[what: string, settings: Record<string, string>, message: string]>([
  ['no API', {}, 'at.api: expected the id of an API'],
  ['an empty API', { api: '' }, 'at.api: expected a value that is not empty'],
  ['an empty account', { api: 'balance', account: '' }, 'at.account: expected a value that is not empty'],
  [
    'a misspelt name, which is not repeated',
    { api: 'balance', acount: '1' },
    'at: expected no other names than api, account, project, trusted_hops, credential_profile, credential_api, credential_project',
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
    'a credential of nobody',
    { api: 'balance', account: '1', credential_project: 'beta' },
    'at.credential_profile: expected the name of a profile',
  ],
  ...['-1', '1.5', '17', 'two', '100', ' 1'].map((hops): [string, Record<string, string>, string] => [
    `${hops} trusted hops`,
    { api: 'balance', trusted_hops: hops },
    'at.trusted_hops: expected a number from 0 to 16',
  ]),
])('%s is refused', (_what, settings, message) => {
  expect(() => read(settings)).toThrow(expect.objectContaining({ reason: 'INVALID_ARGUMENT', message }))
})

test('a name with two values is refused, and so are names of objects', () => {
  const twice = [['api', 'balance'] as const, ['api', 'balance'] as const]
  expect(() => readRoutePolicy(twice, 'at')).toThrow('at.api: expected one value')
  for (const name of ['__proto__', 'constructor', 'toString'])
    expect(() =>
      readRoutePolicy(
        [
          ['api', 'balance'],
          [name, 'x'],
        ],
        'at',
      ),
    ).toThrow('expected no other names')
})

test.each<[peer: string | undefined, forwarded: string[], hops: number, address: string | undefined]>([
  ['10.0.0.1', ['1.1.1.1'], 0, '10.0.0.1'],
  ['/run/socket', [], 0, undefined],
  [undefined, [], 0, undefined],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1'], 1, '1.1.1.1'],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1', '10.0.0.9'], 2, '1.1.1.1'],
  ['10.0.0.1', ['6.6.6.6, 1.1.1.1', '10.0.0.9'], 3, '6.6.6.6'],
  ['10.0.0.1', ['::1,2001:db8::1'], 1, '2001:db8::1'],
  // Fewer addresses than there are proxies: somebody went past one of them.
  ['10.0.0.1', ['1.1.1.1'], 2, undefined],
  ['10.0.0.1', [], 1, undefined],
  ['10.0.0.1', [','], 1, undefined],
  ['10.0.0.1', [','], 2, undefined],
  ['10.0.0.1', [','], 3, undefined],
  ['10.0.0.1', ['1.1.1.1, unknown'], 1, undefined],
  ['10.0.0.1', ['1.1.1.1:80'], 1, undefined],
])('the client of a proxy: peer %s, forwarded for %j, %i trusted: %s', (peer, forwarded, hops, address) => {
  const headers = forwarded.map((value) => ['x-forwarded-for', value] as const)
  expect(clientAddress(peer, headers, hops)).toBe(address)
})
