/** IAM tokens as they are signed and verified, with the keys of a test: signatures, headers, prefixes. */
import { generateKeyPairSync } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { TokenKind } from '../../engine/index.ts'
import { type IamClaims, NO_NAMES } from '../../sidecar/authority/iam-claims.ts'
import {
  hasOwnHeader,
  IamTokenSigner,
  looksLikeIamToken,
  queryOf,
  tokenOf,
} from '../../sidecar/authority/iam-token.ts'
import type { KeyRing, SigningKey } from '../../sidecar/authority/keys.ts'
import { obtainedBy, withoutPrefix } from '../../sidecar/authority/own-form.ts'
import { newStaticToken } from '../../sidecar/authority/static-token.ts'
import { encoded, headerFor, signedToken } from '../support/identity/signed-token.ts'

const ID = 'Aa0_-Aa0_-Aa0_-Aa0_-Aa'
const PARENT_ID = 'Bb1_-Bb1_-Bb1_-Bb1_-Bb'
const CRED = { id: '0123456789abcdef0123456789abcdef', unrestricted: false, limited: true }

/** The claims of every token. */
const CLAIMS: IamClaims = {
  ...{ kind: 'iam_token_account_scoped', account: '123456', sub: 'u1', name: 'robot', type: 'service_user' },
  ...{ gen: 1, jti: ID, iat: 1_800_000_000 },
}
const OF_PROJECT = { project: 'alpha', project_id: 'p1' }

test('a verified token and the question about it say what the claims say', () => {
  const [token, whole] = [
    tokenOf(CLAIMS),
    tokenOf({ ...CLAIMS, ...OF_PROJECT, seq: 7, from: [PARENT_ID], cred: CRED, exp: 1_800_000_009 }),
  ]
  const common = {
    ...{ kind: 'iam_token_account_scoped', subject: { id: 'u1', name: 'robot', type: 'service_user' } },
    ...{ generation: 1, tokenId: ID, issuedAtMs: 1_800_000_000_000 },
  }
  expect(token).toStrictEqual({
    ...common,
    ...{ scope: { account: '123456', project: undefined }, changeNumber: 0, expiresAtMs: undefined },
  })
  expect(whole).toStrictEqual({
    ...common,
    ...{ scope: { account: '123456', project: 'alpha' }, projectId: 'p1', changeNumber: 7 },
    ...{ derivedFrom: [PARENT_ID], applicationCredential: CRED, expiresAtMs: 1_800_000_009_000 },
  })
  const asked = {
    ...{ tokenId: ID, subjectId: 'u1', account: '123456', permissionScopes: ['account'] },
  }
  expect(queryOf(whole, ['account'])).toStrictEqual({
    ...asked,
    ...{ ancestors: [PARENT_ID], generation: 1, changeNumber: 7, projectId: 'p1' },
  })
  const { generation: _generation, changeNumber: _changeNumber, ...bare } = token
  expect(queryOf(bare, ['account'])).toStrictEqual({
    ...asked,
    ...{ ancestors: [], generation: 0, changeNumber: 0, projectId: undefined },
  })
})

const newKey = (keyId: string, state: SigningKey['state']): SigningKey & { privateKey: object } => ({
  ...{ keyId, state, sinceMs: 0 },
  ...generateKeyPairSync('ed25519'),
})
const RETIRED = newKey('0123456789abcdef', 'retired')
const ACTIVE = newKey('fedcba9876543210', 'active')
const STAGED = newKey('aaaaaaaaaaaaaaaa', 'staged')
const UNKNOWN = newKey('0000000000000000', 'active')
const asTestKey = ({ keyId, ...pair }: SigningKey) =>
  ({ id: keyId, ...pair }) as Parameters<typeof signedToken>[0]
const signedBy = (key: SigningKey, claims: unknown = CLAIMS, header?: unknown) =>
  signedToken(asTestKey(key), claims, header)

describe('a signer', () => {
  let nowMs: number
  let ring: { keys: SigningKey[]; reload: () => void }
  let readings: number
  let reported: string[]
  let signer: IamTokenSigner

  beforeEach(() => {
    nowMs = 1_000
    vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    readings = 0
    reported = []
    ring = { keys: [RETIRED, ACTIVE, STAGED], reload: () => void readings++ }
    signer = new IamTokenSigner(ring as unknown as KeyRing, (keyId) => void reported.push(keyId))
    return () => vi.restoreAllMocks()
  })

  test('signs with the active key, and has the keys of the ring', () => {
    expect(signer.sign(CLAIMS)).toBe(signedBy(ACTIVE))
    expect(signer.keys).toBe(ring.keys)
  })

  test.each([
    ['its private key', [{ ...ACTIVE, privateKey: undefined }]],
    ['an active key', [STAGED]],
  ])('does not sign without %s', (_what, keys) => {
    ring.keys = keys
    expect(() => signer.sign(CLAIMS)).toThrow(expect.objectContaining({ reason: 'NO_SIGNING_KEY' }))
  })

  test.each([RETIRED, ACTIVE, STAGED])('verifies what the $state key has signed', (key) => {
    expect(signer.verify(signedBy(key))).toEqual(CLAIMS)
    expect(signer.mayHaveSigned(signedBy(key))).toBe(true)
  })

  test('verifies the names that a token has, by its own', () => {
    const named = signedBy(ACTIVE, { ...CLAIMS, iss: 'issuer' })
    expect(signer.verify(named)).toBeUndefined()
    expect(signer.names).toBe(NO_NAMES)
    const other = new IamTokenSigner(ring as unknown as KeyRing, undefined, { ...NO_NAMES, issuer: 'issuer' })
    expect(other.verify(named)).toEqual({ ...CLAIMS, iss: 'issuer' })
    expect(other.verify(signedBy(UNKNOWN))).toBeUndefined()
  })

  const genuine = signedBy(ACTIVE)
  const [header = '', payload = '', signature = ''] = genuine.split('.')
  const head = headerFor(asTestKey(ACTIVE)) as Record<string, string>
  const spare = `${genuine.slice(0, -1)}${{ A: 'B', Q: 'R', g: 'h', w: 'x' }[genuine.slice(-1)]}`

  test.each<[what: string, token: string]>([
    ['of an unknown key', signedBy(UNKNOWN)],
    ['of another key that takes its id', signedBy({ ...UNKNOWN, keyId: ACTIVE.keyId })],
    ['with another payload', `${header}.${encoded({ ...CLAIMS, account: '7' })}.${signature}`],
    ['with claims that Portcullis does not write', signedBy(ACTIVE, { ...CLAIMS, unknown: 1 })],
    ['without claims', signedToken(asTestKey(ACTIVE), '').replace('..', '.')],
    ['with padding behind its signature', `${genuine}==`],
    ['with spare bits in its last character', spare],
    ['with a stray character in its signature', `${header}.${payload}.!${signature}`],
    ['with another part', `${genuine}.${signature}`],
    ['with an empty signature', `${header}.${payload}.`],
    ['without its signature', `${header}.${payload}`],
    ['without the last character of it', genuine.slice(0, -1)],
    ['with half of it', `${header}.${payload}.${signature.slice(0, 43)}`],
    ['with another byte in it', `${genuine}AA`],
    ['with one in the other base64 alphabet', `${header}.${payload}.${'+/'.repeat(43)}`],
    ['with padding behind its payload', `${header}.${payload}==.${signature}`],
    ...[
      { ...head, alg: 'none' },
      { ...head, alg: 'HS256' },
      { ...head, typ: 'JWT' },
      { ...head, kid: undefined },
      { ...head, jwk: ACTIVE.publicKey.export({ format: 'jwk' }) },
      { typ: head.typ, kid: head.kid, alg: head.alg },
    ].map((each): [what: string, token: string] => [
      `signed under the header ${JSON.stringify(each)}`,
      signedBy(ACTIVE, CLAIMS, each),
    ]),
  ])('refuses a token %s', (_what, token) => {
    expect(signer.verify(token)).toBeUndefined()
  })

  test('knows from the header which tokens it cannot have signed', () => {
    const foreign = signedBy(ACTIVE, CLAIMS, { ...headerFor(asTestKey(ACTIVE)), alg: 'none' })
    for (const token of ['', '.', header, `${header}x`, 'x', signedBy(UNKNOWN), foreign])
      expect([token, signer.mayHaveSigned(token)]).toEqual([token, false])
    expect(signer.mayHaveSigned(`${header}.`)).toBe(true)
  })

  test('reads the keys again for an unknown one, at most five times a second', () => {
    const token = signedBy(UNKNOWN)
    expect(signer.mayHaveSigned(token)).toBe(false)
    expect(readings).toBe(1)
    nowMs += 200
    expect(signer.mayHaveSigned(token)).toBe(false)
    signer.verify(genuine)
    expect(readings).toBe(1)
    ring.reload = () => {
      readings++
      ring.keys = [UNKNOWN]
    }
    nowMs += 1
    expect(signer.mayHaveSigned(token)).toBe(true)
    expect(readings).toBe(2)
    expect(signer.verify(genuine)).toBeUndefined()
  })

  test('does not read the keys again for one that is known', () => {
    signer.verify(genuine)
    expect(readings).toBe(0)
  })

  test('looks for each key among the keys as they are now', () => {
    expect(signer.verify(genuine)).toBeDefined()
    ring.keys = [STAGED]
    expect(signer.verify(genuine)).toBeUndefined()
  })

  test('reports an unknown key once a minute, and an id only in the form of ours', () => {
    const { alg, kid, typ } = headerFor(asTestKey(UNKNOWN)) as Record<string, string>
    const headers = [
      ...[
        { alg, typ },
        { typ, kid, alg },
        { alg, kid, typ, more: 1 },
        { alg: 'none', kid, typ },
      ],
      ...[{ alg, kid: `${kid}0`, typ }, { alg, kid: 'ABCDEF0123456789', typ }, 'no header', ''],
    ]
    for (const each of headers) signer.mayHaveSigned(`${encoded(each)}.`)
    expect(reported).toEqual([])
    const other = signedBy({ ...UNKNOWN, keyId: '1111111111111111' })
    signer.verify(signedBy(UNKNOWN))
    nowMs += 60_000
    signer.verify(other)
    expect(reported).toEqual([UNKNOWN.keyId])
    nowMs += 1
    signer.verify(other)
    nowMs += 60_001
    signer.verify(genuine)
    expect(reported).toEqual([UNKNOWN.keyId, '1111111111111111'])
  })
})

test.each(['0'.repeat(16), 'a'.repeat(16), '0123456789abcdef', 'fedcba9876543210'])(
  'a token of the key %s begins like the tokens of this authority',
  (id) => {
    const key = asTestKey({ ...UNKNOWN, keyId: id })
    const header = headerFor(key) as Record<string, string>
    const own = signedToken(key, CLAIMS)
    expect([looksLikeIamToken(own), hasOwnHeader(own)]).toEqual([true, true])
    for (const other of [
      { ...header, alg: 'ES256' },
      { ...header, typ: 'JWT' },
      { ...header, typ: 'portcullis-iam+xyz' },
      { ...header, cty: 'JWT' },
    ]) {
      const foreign = signedToken(key, CLAIMS, other)
      expect([looksLikeIamToken(foreign), hasOwnHeader(foreign)]).toEqual([true, false])
    }
    expect(hasOwnHeader(encoded(header))).toBe(false)
  },
)

describe('behind the prefix of a kind', () => {
  const kindsWith = (...prefixes: readonly (string | undefined)[]) =>
    new Map(
      prefixes.map((prefix, index) => [
        `kind_${index}`,
        { id: `kind_${index}`, ...(prefix !== undefined && { prefix }) } as TokenKind,
      ]),
    )
  const iam = signedBy(ACTIVE)
  const ofPanel = newStaticToken()
  const kinds = kindsWith(undefined, 'iam_', 'panel_', 'iam_x_')

  test.each<[what: string, value: string, own: string, by: string | undefined]>([
    ['an IAM token', iam, iam, 'issue'],
    ['a static token', ofPanel, ofPanel, 'control_panel'],
    ['an IAM token behind a prefix', `iam_${iam}`, iam, 'issue'],
    ['an IAM token behind a longer one', `iam_x_${iam}`, iam, 'issue'],
    ['a static token behind a prefix', `panel_${ofPanel}`, ofPanel, 'control_panel'],
    ['a static token behind another prefix', `iam_${ofPanel}`, ofPanel, 'control_panel'],
    // An upstream writes the prefix of its tokens itself.
    ['a token of an upstream', 'iam_gAAAAA', 'iam_gAAAAA', undefined],
    ['a token behind two prefixes', `iam_iam_${iam}`, `iam_iam_${iam}`, undefined],
    ['a token before a prefix', `${iam}iam_`, `${iam}iam_`, 'issue'],
    ['a token behind another word', `other_${iam}`, `other_${iam}`, undefined],
    ['another text', 'gAAAAA', 'gAAAAA', undefined],
    ['nothing', '', '', undefined],
  ])('%s is read as the token itself, and its sort is found', (_what, value, own, by) => {
    for (let times = 0; times < 2; times++) {
      expect(withoutPrefix(value, kinds)).toBe(own)
      expect(obtainedBy(value, kinds)).toBe(by)
    }
  })

  test('each matrix has its own prefixes', () => {
    expect(withoutPrefix(`new_${iam}`, kindsWith('new_'))).toBe(iam)
    expect(withoutPrefix(`iam_${iam}`, kindsWith('new_'))).toBe(`iam_${iam}`)
    expect(withoutPrefix(`new_${iam}`, kinds)).toBe(`new_${iam}`)
    // A kind without a prefix takes nothing off, whatever JavaScript calls that.
    expect(withoutPrefix(`undefined${iam}`, kindsWith(undefined))).toBe(`undefined${iam}`)
  })
})
