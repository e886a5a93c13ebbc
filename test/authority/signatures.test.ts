/**
 * The Ed25519 signatures that count (RFC 8032). Verification is Node's, so that an exchange of Node or of its
 * OpenSSL shows here. No package of the npm registry carries Wycheproof's vectors; the cases are those of the
 * RFC and the ones that implementations are known to differ in.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { issued, populate, runSidecar } from '../support/sidecar/sidecar.ts'

/** The order of the group's base point (RFC 8032, §5.1). */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const FIELD = 2n ** 255n - 19n

/** RFC 8032, §7.1: secret key, public key, message, signature. */
const STANDARD: readonly (readonly [name: string, ...hex: [string, string, string, string]])[] = [
  [
    'TEST 1',
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    'TEST 2',
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'TEST 3',
    'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
]

const fromHex = (hex: string) => Buffer.from(hex, 'hex')
const PKCS8 = fromHex('302e020100300506032b657004220420')

function publicKeyOf(point: Buffer): KeyObject {
  const x = point.toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

test.each(STANDARD)('%s of the standard is made and verified', (_name, secret, point, message, signature) => {
  const key = Buffer.concat([PKCS8, fromHex(secret)])
  const privateKey = createPrivateKey({ format: 'der', type: 'pkcs8', key })
  expect(sign(null, fromHex(message), privateKey).toString('hex')).toBe(signature)
  expect(verify(null, fromHex(message), publicKeyOf(fromHex(point)), fromHex(signature))).toBe(true)
})

/** Little-endian, as everything in the standard. */
function bytesOf(number: bigint): Buffer {
  return Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse()
}

function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

/** Other signatures for the same message that a lax verifier takes, made of a genuine one without the key. */
const FORGED: readonly (readonly [name: string, forge: (r: Buffer, s: bigint) => Buffer])[] = [
  ...[1n, 2n, 4n, 8n].map(
    (times) => [`S + ${times} L (malleable)`, (r: Buffer, s: bigint) => whole(r, s + times * ORDER)] as const,
  ),
  ['L - S', (r, s) => whole(r, ORDER - s)],
  ['S with its highest bits', (r, s) => whole(r, s | (7n << 253n))],
  ['S = 0', (r) => whole(r, 0n)],
  ['S = L', (r) => whole(r, ORDER)],
  ['R = 0', (_r, s) => whole(bytesOf(0n), s)],
  ['R with the other sign', (r, s) => whole(bytesOf(numberOf(r) ^ (1n << 255n)), s)],
  ['nothing but zeros', () => Buffer.alloc(64)],
  ['nothing but ones', () => Buffer.alloc(64, 0xff)],
  ['a byte too few', (r, s) => whole(r, s).subarray(0, 63)],
  ['a byte too many', (r, s) => Buffer.concat([whole(r, s), Buffer.alloc(1)])],
  ['twice', (r, s) => Buffer.concat([whole(r, s), whole(r, s)])],
  ['nothing', () => Buffer.alloc(0)],
]

const whole = (r: Buffer, s: bigint) => Buffer.concat([r, bytesOf(s)])

const running = await runSidecar()
const { value } = await issued(running, await populate(running))
const [signed, signature] = [value.slice(0, value.lastIndexOf('.')), value.slice(value.lastIndexOf('.') + 1)]
const genuine = Buffer.from(signature, 'base64url')

/** The answers to checks of the token with these signatures instead of the genuine one. */
async function reasonsWith(signatures: readonly Buffer[]): Promise<string[]> {
  const tokens = signatures.map((bytes) => `${signed}.${bytes.toString('base64url')}`)
  const checks = tokens.map((token) => ({ api: 'iam', credentials: [['X-Auth-Token', token]] as const }))
  return (await running.client.checkBatch(checks)).map(({ reason }) => reason)
}

test('the token that the others are made of is allowed', async () => {
  expect(await reasonsWith([genuine])).toEqual(['ALLOWED'])
})

test.each(FORGED)('a token with another signature is refused: %s', async (_name, forge) => {
  const forged = forge(genuine.subarray(0, 32), numberOf(genuine.subarray(32)))
  expect(await reasonsWith([forged])).not.toContain('ALLOWED')
})

test('no bit of a signature can be changed', async () => {
  const flipped = Array.from({ length: 512 }, (_, bit) => {
    const bytes = Buffer.from(genuine)
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7))
    return bytes
  })
  expect(new Set(await reasonsWith(flipped))).toEqual(new Set(['CREDENTIAL_INVALID']))
})

/**
 * Points of small order, some in encodings that are not canonical. Under such a key, one signature fits an
 * eighth of all messages or more.
 */
const ORDER_8 = [
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => numberOf(fromHex(hex)))
const SMALL = [0n, 1n, FIELD - 1n, FIELD, FIELD + 1n, ...ORDER_8]
  .flatMap((y) => [y, y | (1n << 255n)])
  .map(bytesOf)

test('a key of small order verifies no signature', () => {
  const messages = Array.from({ length: 16 }, (_, index) => Buffer.from(`message ${index}`))
  const accepted = SMALL.flatMap((point) =>
    SMALL.filter((r) =>
      messages.some((message) => verify(null, message, publicKeyOf(point), whole(r, 0n))),
    ).map((r) => `A ${point.toString('hex')}, R ${r.toString('hex')}`),
  )
  expect(accepted).toEqual([])
})
