/** The headers that egress forwards: to a target, and back to the application. */
import { expect, test } from 'vitest'
import { readHeaders, returnedHeaders, strippedNames } from '../../sidecar/egress/headers.ts'

const STRIPPED = strippedNames(['X-Token'])
const OTHERS = ['Accept', 'a', 'X-Other', 'b']

const OF_CONNECTION = [
  ...['Connection', 'Keep-Alive', 'Proxy-Connection', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade'],
  ...['HTTP2-Settings', 'Proxy-Authenticate', 'Proxy-Authorization', 'Proxy-Authentication-Info'],
]

test.each([
  ...OF_CONNECTION,
  ...['Authorization', 'Cookie', 'Cookie2', 'X-Auth-Token', 'X-Service-Token', 'X-Storage-Token', 'X-Token'],
  'X-Subject-Token',
  ...['Host', 'Expect'],
])('%s does not go on to a target, in whatever spelling', (name) => {
  for (const each of [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll('-', '_')])
    expect(readHeaders([each, 'x', ...OTHERS], STRIPPED).forwarded).toEqual(OTHERS)
})

test.each<[connection: string[], names: string[]]>([
  [['X-Other'], ['Accept', 'X_Third', 'Connectors']],
  [['close, x_other ,X-Third'], ['Accept', 'Connectors']],
  [
    ['x-other', 'x_third'],
    ['Accept', 'Connectors'],
  ],
  [[''], ['Accept', 'X-Other', 'X_Third', 'Connectors']],
])('of the headers that Connection %j does not list, %j go on', (connection, names) => {
  const raw = ['Accept', 'a', 'X-Other', 'b', 'X_Third', 'c', 'Connectors', 'Accept']
  for (const name of ['Connection', 'connection', 'CONNECTION']) {
    const lines = connection.flatMap((value) => [name, value])
    for (const all of [
      [...raw, ...lines],
      [...lines, ...raw],
    ]) {
      const { forwarded } = readHeaders(all, STRIPPED)
      expect(forwarded.filter((_value, index) => index % 2 === 0)).toEqual(names)
    }
  }
})

test('headers go on as they came, however often', () => {
  const raw = ['X-Other', 'Accept', 'x-other', '', 'Accept', 'X-Other']
  expect(readHeaders(raw, STRIPPED)).toEqual({
    ...{ forwarded: raw, hosts: 0, proxyAuthorization: [], ofBrowser: false },
  })
})

test.each<[raw: string[], found: object]>([
  [['Host', 'a'], { hosts: 1 }],
  [['host', 'a', 'HOST', 'a'], { hosts: 2 }],
  [
    ['Proxy-Authorization', 'Bearer a', 'proxy_authorization', 'b'],
    { proxyAuthorization: ['Bearer a', 'b'] },
  ],
  [['Origin', 'null'], { ofBrowser: true }],
  [['Sec-Fetch-Site', 'none'], { ofBrowser: true }],
])('%j says %j', (raw, found) => {
  const nothing = { hosts: 0, proxyAuthorization: [], ofBrowser: false }
  expect(readHeaders([...raw, ...OTHERS], STRIPPED)).toMatchObject({ ...nothing, ...found })
})

test.each([...OF_CONNECTION, 'Portcullis-Reason'])('%s of a target does not go back', (name) => {
  for (const each of [name, name.toLowerCase(), name.replaceAll('-', '_')])
    expect(returnedHeaders([each, 'x', ...OTHERS])).toEqual(OTHERS)
})

test.each(['x-other', 'close, X_Other ,te', 'X-Other'])(
  'a header that Connection of a target lists, %s, does not go back',
  (connection) => {
    for (const name of ['X-Other', 'x_other'])
      expect(returnedHeaders(['Connection', connection, name, 'b', 'x-third', 'c'])).toEqual(['x-third', 'c'])
  },
)

test('other headers of a target go back as they came', () => {
  const headers = ['Set-Cookie', 'a', 'Set-Cookie', 'b', 'x-other', 'c', 'undefined', 'd']
  expect(returnedHeaders(headers)).toEqual(headers)
})
