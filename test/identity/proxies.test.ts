/**
 * The clients that may say where a request came from: a proxy that has something that other processes of this
 * machine have not.
 */
import { chmodSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT,
  about,
  errorOf,
  loginBody,
  type RequestHeaders,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const SECRET = 'old-secret-of-the-proxy-with-32-characters'
const NEXT = 'new-secret-of-the-proxy-with-32-characters'
/** The only addresses that the account allows. */
const ALLOWED = '203.0.113.0/24'
const FROM = '203.0.113.5'

const configOf = (http: object) => newFile(JSON.stringify({ http }), 'config.json')

describe('with a proxy on this machine', async () => {
  const proxy_secret_file = newFile(`${SECRET}\n`, 'proxy.secret')
  const config = configOf({ trusted_proxies: ['127.0.0.1', '10.0.0.0/8'], proxy_secret_file })
  const { ask, passwordOf, tokenFor, running } = await startIdentity({ config })
  const token = await tokenFor({})
  await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [ALLOWED] })
  const body = loginBody({ password: passwordOf('account') })
  const statusFor = async (headers: RequestHeaders) =>
    (await ask({ method: 'POST', path: TOKENS, body, headers })).status

  test.each<
    [claim: string, secret: string | readonly string[] | undefined, forwarded: string, status: number]
  >([
    ['the proxy is believed', SECRET, FROM, 201],
    ['the proxy is believed about a client elsewhere', SECRET, '198.51.100.7', 401],
    ['without the secret no client is', undefined, FROM, 403],
    ['an empty secret is none', '', FROM, 403],
    ['another secret is none', NEXT, FROM, 403],
    ['the beginning of the secret is none', SECRET.slice(0, -1), FROM, 403],
    ['the secret and more is none', `${SECRET}x`, FROM, 403],
    ['the secret beside another is none', [SECRET, NEXT], FROM, 403],
    ['the secret twice is none', [SECRET, SECRET], FROM, 403],
    ['two secrets in one header are none', `${SECRET}, ${SECRET}`, FROM, 403],
    [
      'a process of this machine that is a client of the proxy forges nothing',
      SECRET,
      `${FROM}, 127.0.0.1`,
      401,
    ],
    ['nor by another address of loopback', SECRET, `${FROM}, 127.0.0.2`, 401],
    ['nor behind a proxy further on', SECRET, `${FROM}, 127.0.0.1, 10.0.0.1`, 401],
    ['a proxy of another machine before this one is believed', SECRET, `${FROM}, 10.0.0.1`, 201],
  ])('%s', async (_claim, secret, forwarded, status) => {
    const headers = { ...(secret !== undefined && { 'x-portcullis-proxy-secret': secret }) }
    expect(await statusFor({ ...headers, 'x-forwarded-for': forwarded })).toBe(status)
  })

  test.each([
    ['GET', TOKENS],
    ['DELETE', TOKENS],
    ['GET', '/identity/v3/auth/catalog'],
    ['GET', '/healthz'],
    ['GET', '/nowhere'],
  ])('%s %s of a forger is refused, whatever else is right', async (method, path) => {
    const response = await ask({ method, path, headers: { ...about(token), 'x-forwarded-for': FROM } })
    const message =
      'expected a proxy of http.trusted_proxies, and one X-Portcullis-Proxy-Secret with a secret of http.proxy_secret_file beside X-Forwarded-For'
    expect(response.json).toEqual(errorOf(403, 'Forbidden', message))
  })

  test('a secret that is wrong is refused without X-Forwarded-For too, so that a proxy is not taken for its client', async () => {
    expect(await statusFor({ 'x-portcullis-proxy-secret': NEXT })).toBe(403)
  })

  test('other processes of this machine are answered as such', async () => {
    expect((await ask({ path: '/healthz' })).status).toBe(200)
    expect(await statusFor({})).toBe(401)
    await running.sidecar.run(TESTER, 'setAddressRestriction', {
      account: ACCOUNT,
      ranges: [ALLOWED, '127.0.0.1'],
    })
    expect(await statusFor({})).toBe(201)
    await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [ALLOWED] })
  })

  test('the log reports the pretence once, and no line has a secret', () => {
    const lines = running.logLines.filter((line) => line.includes('an unknown proxy was refused'))
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 40, protocol: 'http', address: '127.0.0.1' },
    ])
    expect(running.logLines.filter((line) => line.includes(SECRET) || line.includes(NEXT))).toEqual([])
  })

  test('the secret is replaced without a restart, and both count while the file has both', async () => {
    const counts = async () => {
      running.sidecar.reload()
      const both = [SECRET, NEXT].map((secret) =>
        statusFor({ 'x-portcullis-proxy-secret': secret, 'x-forwarded-for': FROM }),
      )
      return Promise.all(both)
    }
    expect(await counts()).toEqual([201, 403])
    writeFileSync(proxy_secret_file, `${SECRET}\n${NEXT}\n`)
    expect(await counts()).toEqual([201, 201])
    writeFileSync(proxy_secret_file, `${NEXT}\n`)
    expect(await counts()).toEqual([403, 201])
    writeFileSync(proxy_secret_file, 'short\n')
    expect(await counts()).toEqual([403, 201])
    expect(running.logLines.join('')).toContain('the secrets of the proxies cannot be read again')
  })
})

test('a proxy that every process of this machine could pretend to be is refused at the start, also if HTTP is off', async () => {
  const config = configOf({ trusted_proxies: ['127.0.0.1'] })
  await expect(runSidecar({ config })).rejects.toThrow('expected http.proxy_secret_file too')
})

describe('a file without a usable secret is refused at the start', () => {
  test.each<[what: string, text: string, message: string]>([
    ['empty', '\n', 'expected one or two secrets in'],
    ['of three', `${SECRET}\n${NEXT}\n${SECRET}x\n`, 'expected one or two secrets in'],
    ['short', 'short-secret', 'expected secrets of 32 or more visible ASCII characters in'],
    [
      'one of them short',
      `${SECRET}\nshort-secret`,
      'expected secrets of 32 or more visible ASCII characters in',
    ],
    [
      'with a space',
      `${SECRET} and-short-secret`,
      'expected secrets of 32 or more visible ASCII characters in',
    ],
  ])('%s', async (_what, text, message) => {
    const file = newFile(text, 'proxy.secret')
    const starting = runSidecar({ config: configOf({ trusted_proxies: ['::1'], proxy_secret_file: file }) })
    await expect(starting).rejects.toThrow(`http.proxy_secret_file: ${message} ${file}`)
    await expect(starting).rejects.not.toThrow('short-secret')
  })

  test('missing, or open to changes by all users, or of no proxy', async () => {
    const file = newFile(SECRET, 'proxy.secret')
    const startingWith = (http: object) => runSidecar({ config: configOf(http) })
    await expect(
      startingWith({ trusted_proxies: ['::1'], proxy_secret_file: `${file}.none` }),
    ).rejects.toThrow(`http.proxy_secret_file: ${file}.none cannot be read (ENOENT)`)
    await expect(startingWith({ proxy_secret_file: file })).rejects.toThrow(
      'http.proxy_secret_file: expected http.trusted_proxies too',
    )
    chmodSync(file, 0o666)
    await expect(startingWith({ trusted_proxies: ['::1'], proxy_secret_file: file })).rejects.toThrow(
      'every user of this machine can change it',
    )
  })
})
