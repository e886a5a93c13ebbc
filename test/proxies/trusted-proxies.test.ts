/**
 * Requests of a proxy whose word counts, and requests that are refused because they only claim to be of one.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../sidecar/base/secret.ts'
import { TrustedProxies } from '../../sidecar/proxies/trusted-proxies.ts'
import { newFile } from '../support/suite/resources.ts'

const SECRET = 'old-secret-of-the-proxy-with-32-characters'
const NEXT = 'new-secret-of-the-proxy-with-32-characters'
const FROM = '203.0.113.5'

/** A request as far as it says who sent it. */
function requestFrom(
  remoteAddress: string | undefined,
  headers: Record<string, string> = { 'x-forwarded-for': FROM },
): IncomingMessage {
  const headersDistinct = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
  return { socket: { remoteAddress }, headers, headersDistinct } as unknown as IncomingMessage
}

/** Proxies beside this machine, which has the address 10.0.0.7. */
function proxiesAt(addresses: readonly string[], secret?: string): TrustedProxies {
  const secrets =
    secret === undefined ? undefined : { path: newFile('', 'secret'), read: () => [new Secret(secret)] }
  return new TrustedProxies({ addresses, secrets }, undefined, () => ['10.0.0.7', 'fe80::1'])
}

test.each<[claim: string, proxies: TrustedProxies, from: string, sent: boolean, refused: boolean]>([
  ['a proxy of another machine is known by its address', proxiesAt(['10.0.0.0/24']), '10.0.0.5', true, false],
  ['so is one over IPv6', proxiesAt(['2001:db8::/64']), '2001:db8::5', true, false],
  [
    'a process of this machine is not, by its address among them',
    proxiesAt(['10.0.0.0/24']),
    '10.0.0.7',
    false,
    true,
  ],
  ['nor over a socket for both families', proxiesAt(['10.0.0.0/24']), '::ffff:10.0.0.7', false, true],
  ['others are clients, whose header means nothing', proxiesAt(['10.0.0.0/24']), '10.0.1.5', false, false],
  ['loopback is a client', proxiesAt(['10.0.0.0/24']), '127.0.0.1', false, false],
  [
    'with a secret, an address alone does not make a proxy',
    proxiesAt(['10.0.0.0/24'], SECRET),
    '10.0.0.5',
    false,
    true,
  ],
])('%s', (_claim, proxies, from, sent, refused) => {
  expect(proxies.sent(requestFrom(from))).toBe(sent)
  expect(proxies.problemOf(requestFrom(from)) !== undefined).toBe(refused)
  proxies.close()
})

test('the secret of a proxy counts from its address alone', () => {
  const proxies = proxiesAt(['10.0.0.5'], SECRET)
  const headers = { 'x-portcullis-proxy-secret': SECRET }
  expect(
    ['10.0.0.5', '10.0.0.6', '127.0.0.1'].map((from) => proxies.sent(requestFrom(from, headers))),
  ).toEqual([true, false, false])
  proxies.close()
})

test('a connection that has proven a secret proves no other, and none that was withdrawn', () => {
  const path = newFile(SECRET, 'secret')
  const secrets = {
    path,
    read: () =>
      readFileSync(path, 'utf8')
        .split('\n')
        .map((text) => new Secret(text)),
  }
  const proxies = new TrustedProxies({ addresses: ['10.0.0.5'], secrets })
  const socket = { remoteAddress: '10.0.0.5' }
  const knows = (text: string) => {
    const { headersDistinct } = requestFrom('', { 'x-portcullis-proxy-secret': text })
    return proxies.sent({ socket, headersDistinct } as IncomingMessage)
  }
  expect([SECRET, SECRET, NEXT, SECRET.slice(1)].map(knows)).toEqual([true, true, false, false])
  writeFileSync(path, NEXT)
  proxies.reload()
  expect([SECRET, NEXT, SECRET].map(knows)).toEqual([false, true, false])
  proxies.close()
})

test.each<[sender: string | undefined, forwarded: string | undefined, client: string | undefined]>([
  ['192.0.2.1', FROM, '192.0.2.1'],
  ['::ffff:192.0.2.1', undefined, '192.0.2.1'],
  ['10.0.0.5', undefined, '10.0.0.5'],
  ['::ffff:10.0.0.5', FROM, FROM],
  ['10.0.0.5', `192.0.2.1, ${FROM}`, FROM],
  ['10.0.0.5', `${FROM}, 10.0.0.6`, FROM],
  ['10.0.0.5', `${FROM}:50001 ,"[::ffff:10.0.0.6]:443"`, FROM],
  ['10.0.0.5', '10.0.0.6,10.0.0.8', '10.0.0.6'],
  // A hop of this machine is a client, whatever the sender is. That of the sender was looked at before.
  ['10.0.0.5', `${FROM}, 10.0.0.7`, '10.0.0.7'],
  ['10.0.0.5', `${FROM}, 127.0.0.1`, '127.0.0.1'],
  ['10.0.0.7', FROM, FROM],
  // A proxy that names no address says nothing for what its client wrote before.
  ...['', ' ', ',', `${FROM},`, `${FROM}, `, `${FROM}, unknown`, `${FROM},_hidden`, `${FROM},, 10.0.0.6`].map(
    (forwarded) => ['10.0.0.5', forwarded, undefined] as [string, string, undefined],
  ),
  [undefined, FROM, undefined],
])('from %s, forwarded for %j: the client is %s', (sender, forwarded, client) => {
  const proxies = proxiesAt(['10.0.0.0/24'])
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  expect(proxies.clientOf(requestFrom(sender, headers as Record<string, string>))).toBe(client)
})

describe('an address that every process of this machine could claim is refused at the start', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.0/8',
    '127.8.0.0/16',
    '0.0.0.0/0',
    '::ffff:127.0.0.1',
    '::1',
    '::/0',
    '10.0.0.7',
    'fe80::1',
  ])('%s without a secret', (address) => {
    expect(() => proxiesAt(['192.0.2.1', address])).toThrow(
      `http.trusted_proxies[1]: ${address} is this machine, where every process could pretend to be the proxy; expected http.proxy_secret_file too`,
    )
    expect(() => proxiesAt(['192.0.2.1', address], SECRET).close()).not.toThrow()
  })
})

const WITHOUT =
  'expected a proxy of http.trusted_proxies on another machine; one on the machine of the sidecar needs http.proxy_secret_file'
const WITH =
  'expected a proxy of http.trusted_proxies, and one X-Portcullis-Proxy-Secret with a secret of http.proxy_secret_file'
const NAMED = { 'x-portcullis-proxy-secret': NEXT }

test.each<
  [
    what: string,
    secret: string | undefined,
    from: string | undefined,
    headers: object,
    asked: boolean,
    message: string | undefined,
  ]
>([
  ['a proxy that says from where', undefined, '10.0.0.5', { 'x-forwarded-for': FROM }, false, undefined],
  ['a proxy that says nothing', undefined, '10.0.0.5', {}, false, undefined],
  ['a process here that says from where', undefined, '10.0.0.7', { 'x-forwarded-for': FROM }, false, WITHOUT],
  ['a process here that says nothing', undefined, '10.0.0.7', {}, false, undefined],
  ['a client elsewhere', undefined, '192.0.2.1', { 'x-forwarded-for': FROM }, false, undefined],
  ['a client whose address is unknown', undefined, undefined, { 'x-forwarded-for': FROM }, false, undefined],
  [
    'a proxy without the secret',
    SECRET,
    '10.0.0.5',
    { 'x-forwarded-for': FROM },
    false,
    `${WITH} beside X-Forwarded-For`,
  ],
  ['a proxy with another secret', SECRET, '10.0.0.5', NAMED, false, `${WITH} beside X-Forwarded-For`],
  ['a client elsewhere with another secret', SECRET, '192.0.2.1', NAMED, false, undefined],
  ['a proxy, asked', undefined, '10.0.0.5', {}, true, undefined],
  ['a proxy with its secret, asked', NEXT, '10.0.0.5', NAMED, true, undefined],
  ['a proxy without its secret, asked', SECRET, '10.0.0.5', {}, true, WITH],
  ['a client elsewhere, asked', undefined, '192.0.2.1', {}, true, WITHOUT],
])('of %s the problem is reported', (_what, secret, from, headers, asked, message) => {
  const proxies = proxiesAt(['10.0.0.0/24'], secret)
  const request = requestFrom(from, headers as Record<string, string>)
  const expected = message === undefined ? undefined : { status: 403, message }
  // The memory of an address changes nothing.
  for (let times = 0; times < 2; times++) expect(proxies.problemOf(request, asked)).toEqual(expected)
  proxies.close()
})

test('of two secrets in one request none counts', () => {
  const proxies = proxiesAt(['10.0.0.5'], SECRET)
  const headersDistinct = { 'x-portcullis-proxy-secret': [SECRET, SECRET] }
  expect(
    proxies.sent({ socket: { remoteAddress: '10.0.0.5' }, headersDistinct } as unknown as IncomingMessage),
  ).toBe(false)
  proxies.close()
})

test('the log says when the secrets were read again, and when they cannot be', () => {
  const path = newFile(SECRET, 'secret')
  const lines: unknown[] = []
  const line = (...said: unknown[]) => void lines.push(said)
  let secrets = [SECRET]
  const read = () => {
    if (secrets.length === 0) throw new Error('the file is empty')
    return secrets.map((text) => new Secret(text))
  }
  const log = { info: line, error: line } as never
  const proxies = new TrustedProxies({ addresses: ['10.0.0.5'], secrets: { path, read } }, log, () => [])
  secrets = [SECRET, NEXT]
  writeFileSync(path, 'changed')
  proxies.reload()
  secrets = []
  writeFileSync(path, 'changed again')
  proxies.reload()
  expect(lines).toEqual([
    [{ secrets: 2 }, 'the secrets of the proxies were read again'],
    [
      { problem: 'the file is empty' },
      'the secrets of the proxies cannot be read again; the last good ones stay in force',
    ],
  ])
  expect(
    [SECRET, NEXT].map((text) =>
      proxies.sent(requestFrom('10.0.0.5', { 'x-portcullis-proxy-secret': text })),
    ),
  ).toEqual([true, true])
  proxies.close()
})

test.each<[addresses: string[], message: string]>([
  [[], 'http.proxy_secret_file: expected http.trusted_proxies too, the addresses that the proxies send from'],
  [['10.0.0.5', 'proxy'], 'http.trusted_proxies[1]: expected '],
])('the proxies %j are refused', (addresses, message) => {
  expect(() => proxiesAt(addresses, SECRET)).toThrow(message)
})

test('the addresses of this machine are those of its interfaces', () => {
  const own = Object.values(networkInterfaces()).flatMap(
    (found) => found?.map(({ address }) => address) ?? [],
  )
  for (const address of own)
    expect(() => new TrustedProxies({ addresses: [address], secrets: undefined })).toThrow('is this machine')
})
