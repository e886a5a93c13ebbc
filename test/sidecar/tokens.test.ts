/**
 * Genuine tokens, and false ones: tampered with, spelled differently, signed by another key, or without their
 * permission.
 */
import { compactVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { applyFile } from '../../sidecar/authority/administration/directory-file.ts'
import type { Permission } from '../../sidecar/directory/directory.ts'
import { askBatch, credentialQuestion } from '../support/contract/answers.ts'
import { BlackBox } from '../support/contract/black-box.ts'
import { decodedPart, encoded, signedToken, signingKey } from '../support/identity/signed-token.ts'
import { TESTER } from '../support/sidecar/actor.ts'
import { ACCOUNT, issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

const ALLOWED = { allowed: true, reason: 'REASON_ALLOWED' }
const INVALID = { allowed: false, reason: 'REASON_CREDENTIAL_INVALID', verified: false, token: null }
const REVOKED = { allowed: false, reason: 'REASON_CREDENTIAL_REVOKED', verified: false, cache_for: null }

const running = await runSidecar()
const box = new BlackBox(running.address)
const secrets = await populate(running)
const { value: token, tokenId } = await issued(running, secrets)
const [header = '', claims = '', signature = ''] = token.split('.')
const key = signingKey(running.folder)

/** Signs a token with these contents. */
const signed = (head: unknown, body: unknown) => signedToken(key, body, head)
const asIam = (value: string) => credentialQuestion('balance', 'X-Auth-Token', value)
const asStatic = (value: string) => credentialQuestion('balance', 'X-Token', value)

const STATIC_PREFIX = 'pcst_'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Another character of the alphabet. It differs in all of its six bits, or only in the lowest one. */
const exchanged = (character: string, bits: number) => {
  const index = ALPHABET.indexOf(character)
  return index < 0 ? 'A' : ALPHABET.charAt(index ^ bits)
}
const withCharacter = (text: string, at: number, bits: number) =>
  `${text.slice(0, at)}${exchanged(text.charAt(at), bits)}${text.slice(at + 1)}`

test('a second implementation of JWS verifies the IAM token with only the public key', async () => {
  const { payload, protectedHeader } = await compactVerify(token, key.publicKey, { algorithms: ['EdDSA'] })
  expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: key.id, typ: 'portcullis-iam+jwt' })
  expect(JSON.parse(Buffer.from(payload).toString())).toMatchObject({
    kind: 'iam_token_account_scoped',
    account: ACCOUNT,
    name: 'account',
    type: 'service_user',
    jti: tokenId,
  })
  expect(await box.ask('check', asIam(token))).toMatchObject(ALLOWED)
})

test('replacing any single character of an IAM token makes it invalid', async () => {
  const forged = [...token].flatMap((_, index) => [
    withCharacter(token, index, 63),
    withCharacter(token, index, 1),
  ])
  const answers = await askBatch(box, forged.map(asIam))
  expect(answers).toHaveLength(2 * token.length)
  expect(answers.filter(({ reason }) => reason !== INVALID.reason)).toEqual([])
})

test('replacing any single character of a static token makes it invalid', async () => {
  const { staticToken } = secrets
  // The prefix is not changed, because it identifies the family.
  const forged = Array.from({ length: staticToken.length - STATIC_PREFIX.length }, (_, index) => {
    const at = STATIC_PREFIX.length + index
    const other = staticToken.charAt(at) === '0' ? '1' : '0'
    return `${staticToken.slice(0, at)}${other}${staticToken.slice(at + 1)}`
  })
  const answers = await askBatch(box, [staticToken, ...forged].map(asStatic))
  expect(answers.shift()).toMatchObject(ALLOWED)
  expect(answers.filter(({ reason }) => reason !== INVALID.reason)).toEqual([])
})

/**
 * The group order of Ed25519, little-endian. Lax implementations accept a signature to which it was added.
 */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const malleated = (text: string) => {
  const bytes = Buffer.from(text, 'base64url')
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER
  const half = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  return Buffer.concat([bytes.subarray(0, 32), half]).toString('base64url')
}
const head = decodedPart(token, 0)
const body = decodedPart(token, 1)
const otherKeyId = key.id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))

test.each<[claim: string, value: string]>([
  ['without its last character', token.slice(0, -1)],
  ['without its signature', `${header}.${claims}`],
  ['with an empty signature', `${header}.${claims}.`],
  ['with half a signature', `${header}.${claims}.${signature.slice(0, 43)}`],
  ['with an empty payload', `${header}..${signature}`],
  ['with something appended', `${token}A`],
  ['with an additional byte in the signature', `${header}.${claims}.${signature}AA`],
  ['with a fourth part', `${token}.${signature}`],
  ['with padding after its signature', `${token}==`],
  ['with padding after its payload', `${header}.${claims}==.${signature}`],
  ['with spare bits in the last character', withCharacter(token, token.length - 1, 1)],
  ['with a signature in the other base64 alphabet', `${header}.${claims}.${'+/'.repeat(43)}`],
  ['with the group order added to the signature', `${header}.${claims}.${malleated(signature)}`],
  ['with no algorithm', `${encoded({ ...head, alg: 'none' })}.${claims}.${signature}`],
  ['with no algorithm and no signature', `${encoded({ ...head, alg: 'none' })}.${claims}.`],
  ['signed, with no algorithm', signed({ ...head, alg: 'none' }, body)],
  ['signed, with another algorithm', signed({ ...head, alg: 'HS256' }, body)],
  ['signed, with another key id', signed({ ...head, kid: otherKeyId }, body)],
  ['signed, without a key id', signed({ alg: head.alg, typ: head.typ }, body)],
  [
    'signed, with a key in its header',
    signed({ ...head, jwk: key.publicKey.export({ format: 'jwk' }) }, body),
  ],
  ['signed, with its header in another order', signed({ typ: head.typ, kid: head.kid, alg: head.alg }, body)],
  ['signed, of another type', signed({ ...head, typ: 'JWT' }, body)],
])('an IAM token %s is invalid', async (_claim, value) => {
  expect(await box.ask('check', asIam(value))).toMatchObject(INVALID)
})

test('an unchanged token that the key signs is genuine, so the rows above fail because of their changes', async () => {
  expect(signed(head, body)).toBe(token)
})

test('IAM tokens and static tokens of another data folder are invalid here', async () => {
  const other = await runSidecar()
  const others = await populate(other)
  const foreign = (await issued(other, others)).value
  expect(await new BlackBox(other.address).ask('check', asIam(foreign))).toMatchObject(ALLOWED)
  expect(await box.ask('check', asIam(foreign))).toMatchObject(INVALID)
  expect(await box.ask('check', asStatic(others.staticToken))).toMatchObject(INVALID)
})

describe('the permission and the holder of a token', () => {
  type Ground = { readonly permissions: readonly Permission[]; readonly enabled?: boolean }
  const ACCOUNT_WIDE: Ground = { permissions: [{ scope: 'account' }] }
  const SELECTED: Ground = { permissions: [{ scope: 'projects', projects: ['alpha'] }] }
  const put = (name: string, ground: Ground) =>
    applyFile(running.sidecar.administration, TESTER, {
      accounts: [{ account: ACCOUNT, service_users: [{ name, ...ground }] }],
    })

  test.each<{
    change: string
    before: Ground
    project?: string
    after: Ground | 'new password'
    active: boolean
  }>([
    { change: 'the password is replaced', before: ACCOUNT_WIDE, after: 'new password', active: false },
    {
      change: 'the user is disabled',
      before: ACCOUNT_WIDE,
      after: { ...ACCOUNT_WIDE, enabled: false },
      active: false,
    },
    {
      change: 'every permission is taken away',
      before: ACCOUNT_WIDE,
      after: { permissions: [] },
      active: false,
    },
    {
      change: 'the permission is narrowed to a project',
      before: ACCOUNT_WIDE,
      after: SELECTED,
      active: false,
    },
    {
      change: 'its project is no longer selected',
      before: SELECTED,
      project: 'alpha',
      after: { permissions: [{ scope: 'projects', projects: ['beta'] }] },
      active: false,
    },
    {
      change: 'the permission for its project is removed',
      before: SELECTED,
      project: 'alpha',
      after: { permissions: [] },
      active: false,
    },
    // §5.1: a project needs a permission of either scope.
    {
      change: 'the permission is widened to the account',
      before: SELECTED,
      project: 'alpha',
      after: ACCOUNT_WIDE,
      active: true,
    },
    {
      change: 'another project is selected too',
      before: SELECTED,
      project: 'alpha',
      after: { permissions: [{ scope: 'projects', projects: ['alpha', 'beta'] }] },
      active: true,
    },
  ])('after $change, active is $active', async ({ change, before, project, after, active }) => {
    const { secrets: made } = await put(change, before)
    const held = await running.client.issue({
      password: { userName: change, account: ACCOUNT, password: made[0]?.value.reveal() ?? '' },
      scope: { account: ACCOUNT, ...(project !== undefined && { project }) },
    })
    const question = credentialQuestion('dedicated-servers', 'X-Auth-Token', held.value)
    expect(await box.ask('check', question)).toMatchObject(ALLOWED)
    if (after === 'new password')
      await running.sidecar.run(TESTER, 'replaceServiceUserPassword', { account: ACCOUNT, name: change })
    else await put(change, after)
    expect(await box.ask('check', question)).toMatchObject(
      active ? ALLOWED : { ...REVOKED, token: { token_id: held.tokenId, subject: { name: change } } },
    )
  })

  test('while a control panel user is disabled, their static token is not active', async () => {
    const owner = (enabled: boolean) =>
      applyFile(running.sidecar.administration, TESTER, {
        accounts: [{ account: ACCOUNT, control_panel_users: [{ name: 'owner', enabled }] }],
      })
    const question = asStatic(secrets.staticToken)
    await owner(false)
    expect(await box.ask('check', question)).toMatchObject({
      ...REVOKED,
      token: { subject: { name: 'owner' } },
    })
    await owner(true)
    expect(await box.ask('check', question)).toMatchObject(ALLOWED)
  })
})
