/** Claims of IAM tokens as they are written and read: behind a genuine signature they are still input. */
import { describe, expect, test } from 'vitest'
import type { TokenKind } from '../../engine/index.ts'
import {
  type IamClaims,
  isNamedHere,
  NO_NAMES,
  newClaims,
  readClaims,
} from '../../sidecar/authority/iam-claims.ts'
import { UNSCOPED_KIND, type VerifiedToken } from '../../sidecar/authority/verified-token.ts'

const ID = 'Aa0_-Aa0_-Aa0_-Aa0_-Aa'
const CREDENTIAL_ID = '0123456789abcdef0123456789abcdef'
/** The same bytes in the spelling of ids of tokens. */
const OF_CREDENTIAL = Buffer.from(CREDENTIAL_ID, 'hex').toString('base64url')
const TIME_MAX = 253_402_300_799
const LONG = 'a'.repeat(255)

/** The claims of every token. */
const CLAIMS: IamClaims = {
  ...{ kind: 'iam_token_account_scoped', account: '123456', sub: 'u1', name: 'robot', type: 'service_user' },
  ...{ gen: 1, jti: ID, iat: 1_800_000_000 },
}
const OF_PROJECT = { project: 'alpha', project_id: 'p1' }
const CRED = { id: CREDENTIAL_ID, unrestricted: false, limited: true }

describe('claims are read', () => {
  test.each<[what: string, claims: object]>([
    ['without any that need not be there', {}],
    ['of an issuer alone', { iss: '!' }],
    ['of an audience alone', { aud: '~'.repeat(255) }],
    ['for a project', OF_PROJECT],
    ['of a user of the control panel', { type: 'control_panel_user' }],
    ['of the longest names', { kind: LONG, account: LONG, sub: LONG, name: LONG }],
    ['of the first generation, change and time', { gen: 0, seq: 0, iat: 0, exp: 0 }],
    ['of the last', { gen: 2 ** 31 - 1, seq: Number.MAX_SAFE_INTEGER, iat: TIME_MAX, exp: TIME_MAX }],
    ['derived from one token', { from: [ID] }],
    ['derived from eight', { from: Array(8).fill(ID) }],
    ['of an application credential', { from: [OF_CREDENTIAL], cred: CRED }],
    ['derived from one of it', { from: [ID, OF_CREDENTIAL], cred: { ...CRED, unrestricted: true } }],
    ['bound to no scope', { kind: UNSCOPED_KIND }],
  ])('%s', (_what, claims) => {
    expect(readClaims(JSON.stringify({ ...CLAIMS, ...claims }))).toStrictEqual({ ...CLAIMS, ...claims })
  })
})

/** Values that no text among the claims has. `undefined`: the claim is missing. */
const NO_TEXTS = [undefined, null, '', 0, true, {}, ['a'], 'a\u0000b', '\ud800', 'a'.repeat(256)]
const NO_NUMBERS = [null, {}, [], '1', true, -1, 0.5, 1e308, 2 ** 53, -1e308]
const NO_ID = [null, '', 0, [ID], ID.slice(1), `${ID}A`, `${ID.slice(1)}=`, 'é'.repeat(22)]
const FALSE_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  iss: [null, '', 1, ['a'], 'a b', ' a', 'a ', 'ä', 'a'.repeat(256)],
  aud: [null, '', 1, ['a']],
  kind: [...NO_TEXTS, UNSCOPED_KIND],
  account: NO_TEXTS,
  project: NO_TEXTS,
  project_id: NO_TEXTS,
  sub: NO_TEXTS,
  name: NO_TEXTS,
  type: [...NO_TEXTS, 'operator'],
  jti: [...NO_TEXTS, ...NO_ID],
  gen: [...NO_NUMBERS, undefined, 2 ** 31],
  seq: NO_NUMBERS,
  iat: [...NO_NUMBERS, undefined, TIME_MAX + 1],
  exp: [...NO_NUMBERS, TIME_MAX + 1, CLAIMS.iat - 1],
  from: [null, {}, ID, [], Array(9).fill(ID), ...NO_ID.map((id) => [id, ID]), ...NO_ID.map((id) => [ID, id])],
  // A claim that this version does not know may restrict the token.
  unknown: ['claim'],
}
const NO_CREDENTIAL = [
  ...[null, '', CREDENTIAL_ID, [], [CRED], {}],
  ...[
    { ...CRED, id: undefined },
    { ...CRED, id: [CREDENTIAL_ID] },
    { ...CRED, id: CREDENTIAL_ID.slice(1) },
  ],
  ...[
    { ...CRED, id: `${CREDENTIAL_ID}0` },
    { ...CRED, id: `0${CREDENTIAL_ID}` },
  ],
  ...[{ ...CRED, id: CREDENTIAL_ID.replace('a', 'g') }],
  ...[
    { ...CRED, unrestricted: 'false' },
    { ...CRED, unrestricted: undefined },
  ],
  ...[
    { ...CRED, limited: 0 },
    { ...CRED, limited: undefined },
    { ...CRED, more: true },
  ],
]

describe('claims are refused', () => {
  const refuse = (claims: object) => expect(readClaims(JSON.stringify(claims))).toBeUndefined()

  test.each(Object.entries(FALSE_VALUES))('with false values of %s', (claim, values) => {
    for (const value of values) refuse({ ...CLAIMS, ...OF_PROJECT, [claim]: value })
  })

  test.each(NO_CREDENTIAL)('with the application credential %j', (cred) => {
    // So that the token would be derived from it.
    const id = (cred as { id?: unknown } | null)?.id
    const from = typeof id === 'string' ? Buffer.from(id, 'hex').toString('base64url') : OF_CREDENTIAL
    refuse({ ...CLAIMS, from: [from], cred })
  })

  test.each<[what: string, claims: object]>([
    ['nothing', { cred: CRED }],
    ['another token', { cred: CRED, from: [ID] }],
    ['it, and further ago another token', { cred: CRED, from: [OF_CREDENTIAL, ID] }],
  ])('with an application credential, derived from %s', (_what, claims) => {
    refuse({ ...CLAIMS, ...claims })
  })

  test.each<[what: string, payload: string]>([
    ['no JSON', 'claims'],
    ['nothing', ''],
    ['an infinite number', JSON.stringify(CLAIMS).replace(/"iat":\d+/, '"iat":1e999')],
    ...['"claims"', '1', 'true', 'null', '[]', '{}'].map((text): [string, string] => [text, text]),
    ['a list of claims', JSON.stringify([CLAIMS])],
    ['an own `__proto__`', JSON.stringify(CLAIMS).replace('{', '{"__proto__":{},')],
  ])('that are %s', (_what, payload) => {
    expect(readClaims(payload)).toBeUndefined()
  })
})

const NAMES = {
  issuer: 'issuer',
  audience: 'audience',
  acceptedIssuers: ['earlier', 'next'],
  acceptedAudiences: ['others'],
}

test.each<[claims: { iss?: string; aud?: string }, accepted: boolean]>([
  [{}, true],
  [{ iss: 'issuer', aud: 'audience' }, true],
  [{ iss: 'next', aud: 'others' }, true],
  [{ iss: 'issuer' }, true],
  [{ aud: 'audience' }, true],
  [{ iss: 'audience', aud: 'audience' }, false],
  [{ iss: 'issuer', aud: 'issuer' }, false],
  [{ iss: 'others' }, false],
  [{ aud: 'earlier' }, false],
])('a token that names %j is meant for this authority: %s', (claims, accepted) => {
  expect(isNamedHere(claims, NAMES)).toBe(accepted)
  const namesAny = claims.iss !== undefined || claims.aud !== undefined
  expect(isNamedHere(claims, NO_NAMES)).toBe(!namesAny)
  expect([...NO_NAMES.acceptedIssuers, ...NO_NAMES.acceptedAudiences]).toEqual([])
})

describe('the claims of a new token', () => {
  const holder = { id: 'u1', name: 'robot', type: 'service_user', generation: 3 }
  const kind = { id: 'iam_token_account_scoped', lifetimeSeconds: 86_400 } as TokenKind
  const issuance = {
    ...{ names: NO_NAMES, holder, kind, scope: { account: '123456' }, projectId: undefined },
    ...{ changeNumber: 7, nowMs: 1_800_000_000_999 },
  }
  const claims = {
    ...{ kind: kind.id, account: '123456', sub: 'u1', name: 'robot', type: 'service_user', gen: 3, seq: 7 },
    ...{ iat: 1_800_000_000, exp: 1_800_086_400 },
  }
  const parent = { tokenId: ID } as VerifiedToken
  const endsAt = (seconds: number) => ({ expiresAtMs: seconds * 1_000 + 999 })
  const forever = { ...kind, lifetimeSeconds: null }
  const withoutEnd = { ...claims, exp: undefined }

  test.each<[what: string, more: Partial<Parameters<typeof newClaims>[0]>, claims: object]>([
    ['of an account', {}, claims],
    [
      'of a project',
      { scope: { account: '123456', project: 'alpha' }, projectId: 'p1' },
      { ...claims, ...OF_PROJECT },
    ],
    ['with an issuer', { names: { ...NO_NAMES, issuer: 'i' } }, { ...claims, iss: 'i' }],
    ['with an audience', { names: { ...NO_NAMES, audience: 'a' } }, { ...claims, aud: 'a' }],
    ['without an end', { kind: forever }, withoutEnd],
    ['derived from a token without an end', { parent }, { ...claims, from: [ID] }],
    [
      'derived from one that was derived itself, which ends sooner',
      { parent: { ...parent, derivedFrom: [OF_CREDENTIAL], ...endsAt(1_800_000_005) } },
      { ...claims, from: [ID, OF_CREDENTIAL], exp: 1_800_000_005 },
    ],
    [
      'derived from one that ends later',
      { parent: { ...parent, ...endsAt(1_900_000_000) } },
      { ...claims, from: [ID] },
    ],
    [
      'derived from one of an application credential',
      { parent: { ...parent, derivedFrom: [OF_CREDENTIAL], applicationCredential: CRED } },
      { ...claims, from: [ID, OF_CREDENTIAL], cred: CRED },
    ],
    [
      'of an application credential without an end',
      { credential: { ...CRED, expiresAtMs: undefined } },
      { ...claims, from: [OF_CREDENTIAL], cred: CRED },
    ],
    [
      'of one with an end, where the kind has none',
      { credential: { ...CRED, ...endsAt(1_800_000_009) }, kind: forever },
      { ...claims, from: [OF_CREDENTIAL], cred: CRED, exp: 1_800_000_009 },
    ],
  ])('%s', (_what, more, expected) => {
    const made = newClaims({ ...issuance, ...more })
    const { jti, ...others } = made
    expect(others).toStrictEqual(JSON.parse(JSON.stringify(expected)))
    expect(readClaims(JSON.stringify(made))).toStrictEqual(made)
    expect(newClaims({ ...issuance, ...more }).jti).not.toBe(jti)
  })
})
