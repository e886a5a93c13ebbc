/**
 * A real Envoy verifies IAM tokens by the keys of a sidecar, with the filter of docs/integrate/jwks.md. It
 * passes some tokens, refuses others, and cannot know all.
 */
import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readKeys, rotateKeys, withdrawKey } from '../../sidecar/authority/keys.ts'
import { blocksOf, pageOf } from '../docs/page.ts'
import {
  changed,
  type IdentitySidecar,
  loginBody,
  OTHER_ACCOUNT,
  startIdentity,
  TOKENS,
} from '../support/identity/identity.ts'
import { encoded, headerFor, signedToken, signingKey } from '../support/identity/signed-token.ts'
import { type Envoy, installEnvoy, launchEnvoy } from '../support/interop/envoy.ts'
import { envoyExample } from '../support/interop/interop-ext-authz.ts'
import { obtained } from '../support/interop/obtain.ts'
import { httpBehindProxy } from '../support/proxies/proxied.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ask, startTarget, type TargetServer } from '../support/sidecar/egress.ts'
import { ACCOUNT } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, whenTheFileEnds } from '../support/suite/resources.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const program = await obtained('Envoy', installEnvoy)

/** The filters of the page: the one that verifies, and the one behind it. */
// biome-ignore lint/suspicious/noExplicitAny: as Envoy has it
const [shown, behind]: any[] = blocksOf(pageOf('docs/integrate/jwks.md'))
  .filter(({ text }) => text.startsWith('name: envoy.filters.'))
  .map(({ text }) => parse(text))
const { issuer, audiences } = shown.typed_config.providers.portcullis

describe.skipIf(!program.ok)('Envoy with the keys of a sidecar', () => {
  let sidecar: IdentitySidecar
  let application: TargetServer
  let envoy: Envoy
  let token: string
  let claims: Record<string, unknown>

  beforeAll(async () => {
    const config = {
      // Envoy says in X-Forwarded-For where its own requests come from, and sends no secret with them.
      http: httpBehindProxy({ jwks: true, compatibility: { unscoped_login: true } }),
      tokens: { issuer, audience: audiences[0] },
    }
    sidecar = await startIdentity({ config: newFile(JSON.stringify(config), 'config.json') })
    application = await startTarget()
    envoy = await start()
    token = await sidecar.tokenFor({})
    claims = decodeJwt(token)
  })

  /**
   * @param changes what the provider has in another way than on the page
   * @param further filters behind it
   */
  async function start(changes: object = {}, further: readonly object[] = []): Promise<Envoy> {
    const whole = configuration(sidecar.port, application, changes, further)
    const started = await launchEnvoy(program.ok ? program.value : '', whole)
    whenTheFileEnds(() => started.stop())
    return started
  }

  type Headers = Readonly<Record<string, string | readonly string[]>>

  async function send(headers: Headers, { address } = envoy) {
    application.received.length = 0
    const { status, text } = await ask(address, '/', { headers: headers as Record<string, string> })
    return { status, text, received: [...application.received] }
  }
  const statusOf = async (value: string, of = envoy) => (await send({ 'x-auth-token': value }, of)).status
  const reasonOf = async (value: string) => {
    const question = {
      api: 'iam',
      credentials: [['X-Auth-Token', value]],
      clientAddress: '127.0.0.1',
    } as const
    return (await sidecar.running.client.check(question)).reason
  }
  const unscopedToken = async () => {
    const whole = loginBody({ password: sidecar.passwordOf('account', ACCOUNT) })
    const body = changed(whole, 'auth.scope', undefined)
    return (await sidecar.ask({ method: 'POST', path: TOKENS, body })).headers['x-subject-token'] ?? ''
  }
  const keysFile = () => join(sidecar.running.folder, 'signing-keys.json')
  const active = () => signingKey(sidecar.running.folder)

  test('a token passes, and the application learns whose it is', async () => {
    const { status, received } = await send({ 'x-auth-token': token })
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.headers).toMatchObject({
      'x-auth-token': token,
      'x-token-kind': 'iam_token_account_scoped',
      'x-token-account': ACCOUNT,
    })
    expect(received[0]?.headers).not.toHaveProperty('x-token-project')
  })

  test('the claims of a client about itself do not reach the application', async () => {
    const { status, received } = await send({
      'x-auth-token': token,
      'X-Token-Account': ['forged', 'forged'],
      'x-token-project': 'forged',
      X_Token_Kind: 'forged',
    })
    expect([status, received.length]).toEqual([200, 1])
    expect(received[0]?.rawHeaders).not.toContain('forged')
    expect(received[0]?.headers['x-token-account']).toBe(ACCOUNT)
  })

  const nowSeconds = () => Math.floor(Date.now() / 1000)
  const part = (index: number) => token.split('.')[index]
  const stranger = generateKeyPairSync('ed25519')

  test.each<[what: string, value: () => string, status: number, why: string]>([
    ['a text', () => 'token', 401, 'Jwt is not in the form'],
    ['a static token', () => sidecar.staticToken, 401, 'Jwt is not in the form'],
    [
      'other claims under a genuine signature',
      () => `${part(0)}.${encoded({ ...claims, account: '1' })}.${part(2)}`,
      401,
      'Jwt verification fails',
    ],
    [
      'a foreign key, called like the active one',
      () => signedToken({ ...active(), ...stranger }, claims),
      401,
      'Jwt verification fails',
    ],
    [
      'a foreign key, in the header of the token',
      () => {
        const jwk = stranger.publicKey.export({ format: 'jwk' })
        return signedToken({ ...active(), ...stranger }, claims, { ...headerFor(active()), jwk })
      },
      401,
      'Jwt verification fails',
    ],
    [
      'a key that is not shown',
      () => signedToken({ ...active(), ...stranger, id: '0'.repeat(16) }, claims),
      401,
      "Jwks doesn't have key to match kid",
    ],
    [
      'no algorithm, and no signature',
      () => `${encoded({ ...headerFor(active()), alg: 'none' })}.${part(1)}.`,
      401,
      'Jwt is not in the form',
    ],
    [
      'no algorithm, and a signature',
      () => `${encoded({ ...headerFor(active()), alg: 'none' })}.${part(1)}.${part(2)}`,
      401,
      'Jwt header [alg] is not supported',
    ],
    [
      'the public key as a shared secret',
      () => {
        const text = `${encoded({ ...headerFor(active()), alg: 'HS256' })}.${part(1)}`
        const secret = active().publicKey.export({ type: 'spki', format: 'pem' })
        return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
      },
      401,
      "Jwks doesn't have key to match kid or alg",
    ],
    [
      'an end that has passed',
      () => signedToken(active(), { ...claims, iat: nowSeconds() - 100, exp: nowSeconds() - 2 }),
      401,
      'Jwt is expired',
    ],
    ['no end', () => signedToken(active(), { ...claims, exp: undefined }), 401, 'Jwt verification fails'],
    [
      'another issuer',
      () => signedToken(active(), { ...claims, iss: 'https://other.example' }),
      401,
      'Jwt issuer is not configured',
    ],
    [
      'no issuer, from before the setting',
      () => signedToken(active(), { ...claims, iss: undefined }),
      401,
      'Jwt issuer is not configured',
    ],
    [
      'another audience',
      () => signedToken(active(), { ...claims, aud: 'others' }),
      403,
      'Audiences in Jwt are not allowed',
    ],
    [
      'no audience',
      () => signedToken(active(), { ...claims, aud: undefined }),
      403,
      'Audiences in Jwt are not allowed',
    ],
  ])('a token with %s does not pass', async (_what, value, status, why) => {
    const answer = await send({ 'x-auth-token': value() })
    expect(answer).toMatchObject({ status, received: [], text: expect.stringContaining(why) })
  })

  test('a token without an end passes where Envoy need not see one, so the page has a setting for that', async () => {
    const lenient = await start({ require_expiration: false })
    expect(await statusOf(signedToken(active(), { ...claims, exp: undefined }), lenient)).toBe(200)
  })

  test('no token does not pass, and neither does a genuine one beside a forged one', async () => {
    expect(await send({})).toMatchObject({ status: 401, received: [], text: 'Jwt is missing' })
    const forged = signedToken({ ...active(), ...stranger }, claims)
    for (const both of [
      [token, forged],
      [forged, token],
    ])
      expect(await send({ 'x-auth-token': both })).toMatchObject({ status: 401, received: [] })
  })

  test('Envoy passes tokens whose faults only the sidecar knows, as the page says', async () => {
    const { run } = sidecar.running.sidecar
    const revoked = await sidecar.tokenFor({})
    await sidecar.running.client.revoke({ value: revoked })
    expect([await reasonOf(revoked), await statusOf(revoked)]).toEqual(['CREDENTIAL_REVOKED', 200])

    await run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: ['203.0.113.0/24'] })
    expect([await reasonOf(token), await statusOf(token)]).toEqual(['ADDRESS_NOT_ALLOWED', 200])
    await run(TESTER, 'setAddressRestriction', { account: ACCOUNT, ranges: [] })

    const ofProject = await sidecar.tokenFor({ project: 'alpha' })
    expect([await reasonOf(ofProject), await statusOf(ofProject)]).toEqual(['TOKEN_KIND_NOT_ACCEPTED', 200])
    const unscoped = await unscopedToken()
    expect([await reasonOf(unscoped), await statusOf(unscoped)]).toEqual(['UNKNOWN_TOKEN_KIND', 200])
  })

  test('behind the second filter of the page, one kind of token of one account passes', async () => {
    const strict = await start({}, [behind])
    expect(await statusOf(token, strict)).toBe(200)
    const project = await sidecar.tokenFor({ project: 'alpha' })
    const stranger = await sidecar.tokenFor({ user: 'stranger', account: OTHER_ACCOUNT })
    for (const value of [project, stranger, await unscopedToken()])
      expect(
        await send({ 'x-auth-token': value, 'x-token-kind': String(claims.kind) }, strict),
      ).toMatchObject({
        status: 403,
        received: [],
      })
    expect(await send({ 'x-token-kind': String(claims.kind) }, strict)).toMatchObject({ status: 401 })
  })

  test('the next key is known before it signs, and a token of the one before it still passes', async () => {
    rotateKeys(keysFile(), Date.now() + MINUTE_MS, DAY_MS)
    const next = await eventually(async () => {
      const issued = await sidecar.tokenFor({})
      return issued.split('.')[0] !== token.split('.')[0] && issued
    })
    for (const value of [token, next]) expect(await statusOf(value)).toBe(200)
  })

  test('a new key is known, and a withdrawn one is not, as soon as the keys are fetched again', async () => {
    rotateKeys(keysFile(), Date.now() + 2 * MINUTE_MS, DAY_MS)
    const leaked = active()
    const before = await eventually(async () => {
      const issued = await sidecar.tokenFor({})
      return issued.startsWith(encoded(headerFor(leaked))) && issued
    })
    await eventually(async () => (await statusOf(before)) === 200)
    const remembering = await start({ jwt_cache_config: {} })
    expect(await statusOf(before, remembering)).toBe(200)
    withdrawKey(keysFile(), leaked.id, Date.now() + 3 * MINUTE_MS)
    await eventually(async () => (await statusOf(before)) === 401)
    expect(await reasonOf(before)).toBe('CREDENTIAL_INVALID')
    // The page advises against this setting: what has passed once still passes.
    const another = () => signedToken(leaked, { ...claims, jti: randomBytes(16).toString('base64url') })
    await eventually(async () => (await statusOf(another(), remembering)) === 401)
    expect(await statusOf(before, remembering)).toBe(200)
    expect(readKeys(keysFile()).map(({ keyId }) => keyId)).not.toContain(leaked.id)
    expect([await statusOf(token), await statusOf(await sidecar.tokenFor({}))]).toEqual([200, 200])
  })

  test('without a sidecar nothing passes once the keys are too old', async () => {
    const { remote_jwks } = shown.typed_config.providers.portcullis
    const fetching = await start({ remote_jwks: { ...remote_jwks, async_fetch: {} } })
    for (const each of [envoy, fetching]) expect(await statusOf(token, each)).toBe(200)
    await sidecar.running.sidecar.close()
    const { text } = await eventually(async () => {
      const answer = await send({ 'x-auth-token': token })
      return answer.status === 401 && answer
    })
    expect(text).toBe('Jwks remote fetch is failed')
    // The page advises against this setting.
    expect(await statusOf(token, fetching)).toBe(200)
  })
})

/** The Envoy of examples/envoy, with the filter of the page in place of the one that asks. */
function configuration(
  sidecarPort: number,
  application: TargetServer,
  changes: object,
  further: readonly object[],
): object {
  const { whole, manager } = envoyExample('envoy-http.yaml', {
    portcullis: `127.0.0.1:${sidecarPort}`,
    application: new URL(application.url).host,
  })
  const filter = structuredClone(shown)
  const provider = Object.assign(filter.typed_config.providers.portcullis, structuredClone(changes))
  const { remote_jwks } = provider
  remote_jwks.http_uri.uri = remote_jwks.http_uri.uri.replace(':8180/', `:${sidecarPort}/`)
  // The page keeps them for a minute, and no test waits for that.
  remote_jwks.cache_duration = '1s'
  manager.http_filters.splice(0, 1, filter, ...further)
  return whole
}
