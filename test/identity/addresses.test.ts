/** Addresses: account restrictions (§1), proxies, host names, and the addresses in the catalog. */
import { describe, expect, test } from 'vitest'
import { ACCOUNT, about, errorOf, loginBody, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { runSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

const RESTRICTED = errorOf(
  403,
  'Forbidden',
  'the account restricts client addresses, and this address is not allowed',
)

describe('an account that restricts addresses', async () => {
  const sidecar = await startIdentity()
  const { ask, passwordOf, tokenFor, running } = sidecar
  const restrict = (...ranges: string[]) =>
    running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges })
  const body = loginBody({ password: passwordOf('account') })

  test('issues no token to another address, and accepts none from it', async () => {
    const token = await tokenFor({})
    await restrict('203.0.113.0/24')
    expect((await ask({ method: 'POST', path: TOKENS, body })).status).toBe(401)
    expect((await ask({ path: TOKENS, headers: about(token) })).json).toEqual(RESTRICTED)
    expect(
      (await ask({ path: '/identity/v3/auth/catalog', headers: { 'x-auth-token': token } })).json,
    ).toEqual(RESTRICTED)
    await restrict('127.0.0.0/8')
    expect((await ask({ method: 'POST', path: TOKENS, body })).status).toBe(201)
    expect((await ask({ path: TOKENS, headers: about(token) })).status).toBe(200)
    await restrict()
  })
})

const SECRET = 'of-the-proxy-'.repeat(3)

describe('behind a trusted proxy', async () => {
  const config = newFile(
    `
http:
  trusted_proxies: ["127.0.0.1", "10.0.0.0/8", "::ffff:198.18.0.0/111"]
  proxy_secret_file: ${newFile(SECRET, 'proxy.secret')}
  public_url: https://identity.example.com/gate/
  region: moon
  catalog:
    - { type: object-store, name: swift, url: "https://storage.example.com/v1" }
`,
    'config.yaml',
  )
  const { ask, passwordOf, running, port } = await startIdentity({ config })
  await running.sidecar.run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['203.0.113.0/24'] })
  const body = loginBody({ password: passwordOf('account') })

  test('every address in an answer is the public one, whatever the Host header says', async () => {
    const base = 'https://identity.example.com/gate/identity'
    for (const host of ['identity.example.com', 'identity.example.com:443', `127.0.0.1:${port}`]) {
      const { json, headers } = await ask({ path: '/identity', headers: { host } })
      expect(headers.location).toBe(`${base}/v3/`)
      expect(json.versions.values[0].links).toEqual([{ rel: 'self', href: `${base}/v3/` }])
    }
    const headers = {
      'x-portcullis-proxy-secret': SECRET,
      'x-forwarded-for': '203.0.113.5',
      'x-forwarded-host': 'evil.example',
      host: 'identity.example.com',
    }
    const { json } = await ask({ method: 'POST', path: TOKENS, body, headers })
    const endpoints = (url: string) =>
      ['public', 'internal', 'admin'].map((name) => ({
        interface: name,
        url,
        region: 'moon',
        region_id: 'moon',
      }))
    expect(json.token.catalog).toMatchObject([
      { type: 'identity', endpoints: endpoints(`${base}/v3`) },
      { type: 'object-store', name: 'swift', endpoints: endpoints('https://storage.example.com/v1') },
    ])
    const failed = await ask({ path: TOKENS, headers: { host: 'identity.example.com' } })
    expect(failed.headers['www-authenticate']).toBe(`Keystone uri="${base}/v3"`)
  })

  test.each(['evil.example', 'identity.example.com:8443', 'identity.example.com.evil.example'])(
    'a request to %s is refused',
    async (host) => {
      expect((await ask({ path: '/identity', headers: { host } })).status).toBe(403)
    },
  )
})

describe('a page of another origin', async () => {
  const { ask, port } = await startIdentity()

  test.each<[claim: string, headers: Record<string, string>]>([
    ['with its own host name (DNS rebinding)', { host: `evil.example:${port}` }],
    ['without the port', { host: '127.0.0.1' }],
    ['with an Origin', { origin: 'https://evil.example' }],
    ['with the origin `null`', { origin: 'null' }],
  ])('is refused %s, and no CORS header is sent', async (_claim, headers) => {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const response = await ask({
        method,
        path: TOKENS,
        headers: { ...headers, 'access-control-request-method': 'POST' },
        ...(method === 'POST' && { body: '{}' }),
      })
      expect(response.json).toEqual(
        errorOf(
          403,
          'Forbidden',
          expect.stringMatching(/^expected a Host header with a name of this server/),
        ),
      )
      expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('the Host header may be %s', async (name) => {
    expect((await ask({ path: '/healthz', headers: { host: `${name}:${port}` } })).status).toBe(200)
  })
})

describe('an invalid configuration is refused', () => {
  test.each([
    [
      'trusted_proxies: [nowhere]',
      'http.trusted_proxies[0]: expected an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
    ],
    [
      'trusted_proxies: ["10.0.0.0/33"]',
      'http.trusted_proxies[0]: expected an IPv4 or IPv6 address or range, for example 10.0.0.0/8',
    ],
    [
      'trusted_proxies: ["::ffff:10.0.0.0/8"]',
      'http.trusted_proxies[0]: expected a prefix of at least 96 bits after an IPv4-mapped address, for example ::ffff:10.0.0.0/104 for 10.0.0.0/8',
    ],
    ['public_url: identity.example.com', 'http.public_url'],
    ['public_url: "https://user:secret@identity.example.com"', 'http.public_url'],
    ['public_url: "https://identity.example.com/?a=1"', 'http.public_url'],
    ['catalog: [{ type: x, name: y }]', 'http.catalog[0].url'],
  ])('%s', async (line, message) => {
    const config = newFile(`http:\n  ${line}\n`, 'config.yaml')
    const starting = runSidecar({ config, flags: { 'http.address': '127.0.0.1:0' } })
    await expect(starting).rejects.toThrow(message)
    await expect(starting).rejects.not.toThrow('secret')
  })
})

test('the error names an address in use', async () => {
  const { port } = await startIdentity()
  await expect(runSidecar({ flags: { 'http.address': `127.0.0.1:${port}` } })).rejects.toThrow(
    `http address 127.0.0.1:${port} is in use`,
  )
})
