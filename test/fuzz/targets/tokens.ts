/** Tokens of the embedded authority and their carriers: keys, claims, static tokens. */
import { generateKeyPairSync, verify } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { readClaims } from '../../../sidecar/authority/iam-claims.ts'
import {
  hasOwnHeader,
  IamTokenSigner,
  looksLikeIamToken,
  queryOf,
  tokenOf,
} from '../../../sidecar/authority/iam-token.ts'
import { type KeyRing, parseKeys, publicKeysOf, type SigningKey } from '../../../sidecar/authority/keys.ts'
import { obtainedBy, withoutPrefix } from '../../../sidecar/authority/own-form.ts'
import {
  isWellFormedStaticToken,
  looksLikeStaticToken,
  newStaticToken,
  pepperOf,
} from '../../../sidecar/authority/static-token.ts'
import { CallError } from '../../../sidecar/base/call-error.ts'
import { PageRequest } from '../../../sidecar/http/authzen/search-pages.ts'
import { keyIn, tokenOf as tokenOfPage } from '../../../sidecar/usecases/administration/paging.ts'
import { decodedPart, encoded, headerFor, signedToken } from '../../support/identity/signed-token.ts'
import { engine } from '../../support/matrices/engines.ts'
import { promised, reading, type Target } from '../target.ts'

const key = (state: SigningKey['state'], keyId: string): SigningKey => ({
  keyId,
  state,
  sinceMs: 0,
  ...generateKeyPairSync('ed25519'),
})
const keys = [key('active', '0123456789abcdef'), key('staged', 'fedcba9876543210')]
const signer = new IamTokenSigner({ keys, reload: () => {} } as unknown as KeyRing)
const testKey = {
  id: '0123456789abcdef',
  privateKey: keys[0]?.privateKey,
  publicKey: keys[0]?.publicKey,
} as Parameters<typeof signedToken>[0]

const claims = {
  kind: 'iam_token_account_scoped',
  ...{ account: '123456', sub: 'u1', name: 'alice', type: 'service_user', gen: 1, seq: 7 },
  ...{ jti: 'AAAAAAAAAAAAAAAAAAAAAA', iat: 1_800_000_000, exp: 1_800_086_400 },
} as const
const ofProject = {
  ...claims,
  kind: 'iam_token_project_scoped',
  project: 'alpha',
  project_id: 'p1',
  from: ['BBBBBBBBBBBBBBBBBBBBBB'],
}
const genuine = [claims, ofProject].map((each) => signer.sign(each))
const statics = [newStaticToken(), newStaticToken()]

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The checksum of a static token, written out once more. */
function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let at = 0; at < 6; at++, rest = Math.floor(rest / 62)) digits = DIGITS.charAt(rest % 62) + digits
  return digits
}

const KEYS = {
  keys: [
    {
      key_id: '0123456789abcdef',
      state: 'active',
      since_ms: 0,
      public_key: keys[0]?.publicKey.export({ type: 'spki', format: 'pem' }),
    },
  ],
}

export const targets: readonly Target[] = [
  {
    name: 'iam-token',
    seeds: [
      ...genuine,
      signedToken(testKey, { ...claims, kind: 'x', extra: 1 }),
      signedToken(testKey, claims, { ...headerFor(testKey), alg: 'none' }),
      'eyJ.eyJ.x',
      'a.b',
    ],
    words: ['.', '=', encoded(headerFor(testKey)), ...genuine.flatMap((token) => token.split('.'))],
    run: (bytes) => {
      const text = bytes.toString('latin1')
      const found = signer.verify(text)
      hasOwnHeader(text)
      obtainedBy(text, engine.tokenKinds)
      promised(text.endsWith(withoutPrefix(text, engine.tokenKinds)), 'a token without its prefix is its end')
      if (found === undefined) return
      // The independent reader: three parts, the signature of the first two, the claims as JSON.
      const [header, payload, signature, ...more] = text.split('.')
      promised(more.length === 0 && looksLikeIamToken(text), 'a token has three parts')
      promised(
        verify(
          null,
          Buffer.from(`${header}.${payload}`),
          testKey.publicKey,
          Buffer.from(signature ?? '', 'base64url'),
        ),
        'a token is signed by a key of the ring',
      )
      promised(genuine.includes(text), 'only what was signed is a token')
      promised(
        JSON.stringify(decodedPart(text, 1)) === JSON.stringify(found),
        'claims are as they were signed',
      )
    },
  },
  {
    name: 'iam-claims',
    seeds: [
      claims,
      ofProject,
      { ...claims, cred: { id: '0'.repeat(32), unrestricted: false, limited: true } },
      { ...claims, iss: 'i', aud: 'a' },
    ].map((each) => JSON.stringify(each)),
    words: [
      '"from":[',
      '"cred":{',
      '"exp":',
      '253402300799',
      '2147483648',
      '9007199254740992',
      'control_panel_user',
      '__proto__',
      '1e3',
      '-0',
      '0.5',
    ],
    run: (bytes) => {
      const found = readClaims(bytes.toString())
      if (found === undefined) return
      promised(
        JSON.stringify(readClaims(JSON.stringify(found))) === JSON.stringify(found),
        'claims that are written are read as the same',
      )
      const token = tokenOf(found)
      promised(
        Number.isSafeInteger(token.issuedAtMs) && !Number.isNaN(new Date(token.expiresAtMs ?? 0).getTime()),
        'times are times',
      )
      promised(token.scope.account !== '' && token.scope.project !== '', 'no part of a scope is empty')
      queryOf(token, ['account'])
    },
  },
  {
    name: 'static-token',
    seeds: [...statics, `${statics[0]}\n`, 'pcst_', `pcst_${'0'.repeat(49)}`],
    bytesMax: 128,
    run: (bytes) => {
      const text = bytes.toString('latin1')
      const [, random = '', sum] = /^pcst_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/.exec(text) ?? []
      promised(
        isWellFormedStaticToken(text) ===
          (sum !== undefined && sum === checksumOf(random) && !text.endsWith('\n')),
        'both readers know the same tokens',
      )
      promised(!isWellFormedStaticToken(text) || looksLikeStaticToken(text), 'a token has its prefix')
      const pepper = reading(() => pepperOf(text, 'file'), Error)
      promised(pepper === undefined || pepper.symmetricKeySize === 32, 'a pepper has 32 bytes')
    },
  },
  {
    name: 'key-file',
    seeds: [publicKeysOf(keys.slice(0, 1)), publicKeysOf(keys), JSON.stringify(KEYS), '{"keys":[]}'],
    words: [
      'staged',
      'active',
      'retired',
      '-----BEGIN PRIVATE KEY-----',
      '-----BEGIN CERTIFICATE-----',
      '"private_key":',
    ],
    bytesMax: 1_500,
    run: (bytes) => {
      const text = bytes.toString()
      let found: SigningKey[]
      try {
        found = parseKeys(text, 'file')
      } catch (error) {
        promised(
          (error as Error).message.startsWith('file: expected signing keys') &&
            (error as Error).cause === undefined,
          'a refusal quotes nothing',
        )
        return
      }
      promised(found.filter(({ state }) => state === 'active').length === 1, 'one key is active')
      const written = publicKeysOf(found)
      promised(
        publicKeysOf(parseKeys(written, 'file')) === written,
        'keys that are written are read as the same',
      )
    },
  },
  {
    name: 'page-tokens',
    seeds: [
      `alice\n${tokenOfPage('alice')}`,
      `0\n${new PageRequest({ limit: 2 }).tokenFor('0', 2)}`,
      'a\nYQ==',
      'a\nYR',
    ],
    run: (bytes) => {
      const [query = '', token = ''] = bytes.toString('latin1').split('\n')
      const key = reading(() => keyIn(token), CallError)
      if (key !== undefined) promised(tokenOfPage(key) === token, 'a key has one token')
      const page = reading(() => new PageRequest({ token }).begin(query), CallError)
      if (page === undefined) return
      const request = new PageRequest({ token })
      request.begin(query)
      promised(request.tokenFor(query, page.from) === token, 'a token is of its search, place and limit')
      promised(
        reading(() => new PageRequest({ token }).begin(`${query}x`), CallError) === undefined,
        'a token fits no other search',
      )
    },
  },
]
