/** The public keys of IAM tokens over HTTP: which they are, who gets them, and how long they may be kept. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { publicKeysOf, readKeys, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { errorOf, loginBody, type Request, startIdentity, TOKENS } from '../support/identity/identity.ts'
import { decodedPart } from '../support/identity/signed-token.ts'
import { httpBehindProxy } from '../support/proxies/proxied.ts'
import { runSidecar, type SidecarOptions } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const JWKS = '/.well-known/jwks.json'
const KEPT = 'public, max-age=60, must-revalidate'

/** A sidecar that shows its keys, and what a gateway does with them. */
async function startShown({ flags, ...options }: SidecarOptions = {}, directory?: 'as it is') {
  const sidecar = await startIdentity(
    { ...options, times: { keyPollMs: 10 }, flags: { 'http.jwks': true, ...flags } },
    directory,
  )
  const { ask, running } = sidecar
  return {
    ...sidecar,
    keys: join(running.folder, 'signing-keys.json'),
    get: (request: Request = {}) => ask({ path: JWKS, ...request }),
    shown: async (): Promise<JSONWebKeySet> => (await ask({ path: JWKS })).json,
    shownIds: async (): Promise<string[]> =>
      (await ask({ path: JWKS })).json.keys.map(({ kid }: { kid: string }) => kid),
  }
}

const idsOf = (path: string) => readKeys(path).map(({ keyId }) => keyId)
const keyIdOf = (token: string) => String(decodedPart(token, 0).kid)

describe('while the keys are rotated and withdrawn', async () => {
  const { get, keys, shown, shownIds, tokenFor, port } = await startShown()
  const verified = async (token: string) => {
    const by = createLocalJWKSet(await shown())
    return jwtVerify(token, by, { algorithms: ['EdDSA'], typ: 'portcullis-iam+jwt' })
  }

  test('the active and the staged key are shown, with nothing that is private', async () => {
    const { status, headers, json } = await get()
    expect([status, headers['content-type']]).toEqual([200, 'application/jwk-set+json'])
    expect(json).toEqual({
      keys: readKeys(keys).map(({ keyId, publicKey }) => ({
        kty: 'OKP',
        crv: 'Ed25519',
        x: publicKey.export({ format: 'jwk' }).x,
        kid: keyId,
        alg: 'EdDSA',
        use: 'sig',
      })),
    })
    expect(json.keys).toHaveLength(2)
  })

  test('a standard library fetches them, and verifies IAM tokens by them alone', async () => {
    const token = await tokenFor({ project: 'alpha', user: 'alpha' })
    const by = createRemoteJWKSet(new URL(`http://127.0.0.1:${port}${JWKS}`))
    const { payload } = await jwtVerify(token, by)
    expect(payload).toMatchObject({ kind: 'iam_token_project_scoped', project: 'alpha', name: 'alpha' })
    expect(payload.exp).toBe(Number(payload.iat) + DAY_MS / 1000)
    const [header, claims, signature] = token.split('.')
    await expect(jwtVerify(`${header}.${claims}A.${signature}`, by)).rejects.toThrow()
  })

  test('a new version has another ETag, and a client with the current one is not sent it again', async () => {
    const { headers } = await get()
    const { etag = '' } = headers
    expect(headers).toMatchObject({ 'cache-control': KEPT, etag: expect.stringMatching(/^"[\w-]{43}"$/) })
    // Caches keep one answer for all, whatever their clients send.
    expect(headers).not.toHaveProperty('vary')
    const again = (value: string) => get({ headers: { 'if-none-match': value } })
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      expect(await again(value)).toMatchObject({
        status: 304,
        text: '',
        headers: { 'cache-control': KEPT, etag },
      })
    for (const value of ['"other"', etag.slice(1, -1), '']) expect((await again(value)).status).toBe(200)
    rotateKeys(keys, Date.now() + MINUTE_MS, DAY_MS)
    const { headers: next } = await eventually(async () => {
      const answer = await again(etag)
      return answer.status === 200 && answer
    })
    expect(next.etag).not.toBe(etag)
  })

  test('a retired key is shown, because its tokens are valid; one that was withdrawn is not, in whatever state it was', async () => {
    const old = await tokenFor({})
    rotateKeys(keys, Date.now() + 2 * MINUTE_MS, DAY_MS)
    await eventually(async () => keyIdOf(await tokenFor({})) !== keyIdOf(old))
    expect(readKeys(keys).map(({ state }) => state)).toEqual(['retired', 'retired', 'active', 'staged'])
    expect(await shownIds()).toEqual(idsOf(keys))
    for (const token of [old, await tokenFor({})]) await verified(token)

    const current = await tokenFor({})
    for (const [minutes, withdrawn] of [keyIdOf(old), keyIdOf(current), idsOf(keys).at(-1) ?? ''].entries()) {
      withdrawKey(keys, withdrawn, Date.now() + (minutes + 3) * MINUTE_MS)
      await eventually(async () => !(await shownIds()).includes(withdrawn))
      expect(await shownIds()).toEqual(idsOf(keys))
    }
    for (const token of [old, current]) await expect(verified(token)).rejects.toThrow('no applicable key')
    // The key that took the place of the active one was shown before.
    await verified(await tokenFor({}))
  })

  test.each<[what: string, request: Request, status: number]>([
    ['HEAD', { method: 'HEAD' }, 200],
    ['no token is needed, and a wrong one does not matter', { headers: { 'x-auth-token': 'wrong' } }, 200],
    ['a query changes nothing', { path: `${JWKS}?kid=x` }, 200],
    ['POST', { method: 'POST' }, 405],
    ['the host name of another server', { headers: { host: 'example.com' } }, 403],
    ['a page from another origin', { headers: { origin: 'https://example.com' } }, 403],
    ['discovery of OpenID Connect', { path: '/.well-known/openid-configuration' }, 404],
    ['a path below', { path: `${JWKS}/x` }, 404],
  ])('%s', async (_what, request, status) => {
    const { headers, ...answer } = await get(request)
    expect(answer.status).toBe(status)
    expect(headers['cache-control']).toBe(status === 200 ? KEPT : 'no-store')
    if (request.method === 'HEAD')
      expect([answer.text, Number(headers['content-length'])]).toEqual(['', expect.any(Number)])
  })
})

test('while the key file cannot be read there is no answer, and none to keep', async () => {
  const { get, keys, shownIds } = await startShown({ flags: { keys_unreadable_ms: 50 } })
  const ids = await shownIds()
  const content = publicKeysOf(readKeys(keys))
  writeFileSync(keys, 'spoilt')
  const refused = await eventually(async () => {
    const answer = await get({ headers: { 'if-none-match': '*' } })
    return answer.status !== 304 && answer
  })
  expect(refused).toMatchObject({ status: 503, headers: { 'cache-control': 'no-store' } })
  expect(refused.headers).not.toHaveProperty('etag')
  writeFileSync(keys, content)
  await eventually(async () => (await get()).status === 200)
  expect(await shownIds()).toEqual(ids)
})

test('a host that only checks shows the keys of its file', async () => {
  const first = await startShown()
  const folder = join(newFolder(), 'data')
  const { running } = await startShown({ folder })
  await running.sidecar.close()
  writeFileSync(join(folder, 'signing-keys.json'), publicKeysOf(readKeys(first.keys)))
  const second = await startShown({ folder }, 'as it is')
  expect(await second.shown()).toEqual(await first.shown())
})

test('clients behind a proxy and beside it get the same keys: the address of a client does not matter here', async () => {
  const http = httpBehindProxy({})
  const { get, ask } = await startShown({ config: newFile(JSON.stringify({ http }), 'config.json') })
  const headers = { 'x-forwarded-for': '203.0.113.5' }
  expect(await get({ headers })).toMatchObject({ status: 200 })
  expect(await ask({ method: 'POST', path: TOKENS, headers, body: loginBody({}) })).toMatchObject({
    status: 403,
  })
  expect(await get({ headers: { ...headers, host: 'example.com' } })).toMatchObject({ status: 403 })
})

test('the keys are not shown unless that is configured', async () => {
  const { sidecar } = await runSidecar({ flags: { 'http.address': '127.0.0.1:0' } })
  const response = await fetch(`http://${sidecar.httpAddress}${JWKS}`)
  expect([response.status, await response.json()]).toEqual([404, errorOf(404, 'Not Found')])
})
