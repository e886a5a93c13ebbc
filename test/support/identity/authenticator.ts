/**
 * An authenticator in software, which makes and uses passkeys as a browser forwards them (WebAuthn), and lies
 * where a test says so.
 */
import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  type webcrypto,
  X509Certificate,
} from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '../../../sidecar/authority/control-panel/passkeys.ts'
import { CERTIFICATE, KEY } from '../proxies/self-signed.ts'

/** The fields of an answer that are not as they should be. */
export interface Lies {
  readonly origin?: string
  readonly crossOrigin?: boolean
  readonly challenge?: string
  /** Host that the answer is for. */
  readonly host?: string
  readonly type?: string
  readonly userVerified?: boolean
  readonly userPresent?: boolean
  readonly counter?: number
  readonly userHandle?: string | undefined
  /** The authenticator whose key signs the answer. */
  readonly signer?: Authenticator
  /** How it says who made it. */
  readonly attestation?: 'none' | 'self' | 'certificate'
}

/** Has one passkey. */
export class Authenticator {
  readonly id = randomBytes(32).toString('base64url')
  readonly #algorithm: 'ES256' | 'EdDSA'
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject }
  readonly #counts: boolean
  #userHandle = ''
  #counter = 0

  /** @param counts whether it says how often it was used; those that share passkeys between devices do not */
  constructor(algorithm: 'ES256' | 'EdDSA' = 'ES256', counts = true) {
    this.#algorithm = algorithm
    this.#counts = counts
    this.#keys =
      algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519')
  }

  /** As `navigator.credentials.create`. */
  create(
    options: PublicKeyCredentialCreationOptionsJSON,
    origin: string,
    lies: Lies = {},
  ): RegistrationResponseJSON {
    this.#userHandle = options.user.id
    const clientData = clientDataOf('webauthn.create', options.challenge, origin, lies)
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.from([id.length >> 8, id.length & 0xff])
    const credential = Buffer.concat([Buffer.alloc(16), length, id, cbor(this.#coseKey())])
    const authData = Buffer.concat([this.#head(options.rp.id ?? '', lies, 0x40), credential])
    const attestation = this.#attestation(authData, clientData, options.rp.id ?? '', lies)
    return {
      ...{ id: this.id, rawId: this.id, type: 'public-key' },
      response: {
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: cbor(new Map([...attestation, ['authData', authData]])).toString('base64url'),
        transports: ['internal', 'hybrid', 'a new one'],
      },
      clientExtensionResults: { credProps: { rk: true } },
    }
  }

  /** As `navigator.credentials.get`. */
  get(
    options: PublicKeyCredentialRequestOptionsJSON,
    origin: string,
    lies: Lies = {},
  ): AuthenticationResponseJSON {
    const clientData = clientDataOf('webauthn.get', options.challenge, origin, lies)
    if (this.#counts) this.#counter++
    const authData = this.#head(options.rpId ?? '', lies)
    const userHandle = 'userHandle' in lies ? lies.userHandle : this.#userHandle
    return {
      ...{ id: this.id, rawId: this.id, type: 'public-key' },
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: (lies.signer ?? this).#sign(authData, clientData).toString('base64url'),
        ...(userHandle !== undefined && { userHandle }),
      },
      clientExtensionResults: {},
    }
  }

  #head(host: string, lies: Lies, flags = 0): Buffer {
    const present = lies.userPresent === false ? 0 : 0x01
    const verified = lies.userVerified === false ? 0 : 0x04
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(lies.counter ?? this.#counter)
    return Buffer.concat([sha256(lies.host ?? host), Buffer.from([flags | present | verified]), counter])
  }

  #sign(authData: Buffer, clientData: Buffer): Buffer {
    const signed = Buffer.concat([authData, sha256(clientData)])
    return sign(this.#algorithm === 'ES256' ? 'sha256' : null, signed, this.#keys.privateKey)
  }

  #coseKey(): Map<number, number | Buffer> {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' }) as webcrypto.JsonWebKey
    const [first, second] = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')] as const
    return new Map<number, number | Buffer>(
      this.#algorithm === 'EdDSA'
        ? [
            ...([
              [1, 1],
              [3, -8],
              [-1, 6],
            ] as const),
            [-2, first],
          ]
        : [
            ...([
              [1, 2],
              [3, -7],
              [-1, 1],
            ] as const),
            [-2, first],
            [-3, second],
          ],
    )
  }

  #attestation(authData: Buffer, clientData: Buffer, host: string, lies: Lies): [string, Encodable][] {
    const statement = (format: string, fields: [string, Encodable][]): [string, Encodable][] => [
      ['fmt', format],
      ['attStmt', new Map(fields)],
    ]
    if (lies.attestation === 'self')
      return statement('packed', [
        ['alg', this.#algorithm === 'ES256' ? -7 : -8],
        ['sig', this.#sign(authData, clientData)],
      ])
    if (lies.attestation !== 'certificate') return statement('none', [])
    // FIDO U2F: the certificate's key signs what it says about the passkey.
    const key = this.#coseKey() as Map<number, Buffer>
    const point = Buffer.concat([Buffer.from([4]), key.get(-2) as Buffer, key.get(-3) as Buffer])
    const id = Buffer.from(this.id, 'base64url')
    const signed = Buffer.concat([Buffer.from([0]), sha256(host), sha256(clientData), id, point])
    return statement('fido-u2f', [
      ['sig', sign('sha256', signed, KEY)],
      ['x5c', [new X509Certificate(CERTIFICATE).raw]],
    ])
  }
}

function clientDataOf(type: string, challenge: string, origin: string, lies: Lies): Buffer {
  return Buffer.from(
    JSON.stringify({
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? origin,
      crossOrigin: lies.crossOrigin ?? false,
    }),
  )
}

function sha256(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest()
}

type Encodable = number | string | Buffer | readonly Encodable[] | ReadonlyMap<string | number, Encodable>

/** As much of CBOR (RFC 8949) as an authenticator needs. */
function cbor(value: Encodable): Buffer {
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  if (typeof value === 'string')
    return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([cborHead(2, value.length), value])
  if (value instanceof Map)
    return Buffer.concat([
      cborHead(5, value.size),
      ...[...value].flatMap(([key, each]: [string | number, Encodable]) => [cbor(key), cbor(each)]),
    ])
  const list = value as readonly Encodable[]
  return Buffer.concat([cborHead(4, list.length), ...list.map(cbor)])
}

function cborHead(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  if (length < 0x100) return Buffer.from([(major << 5) | 24, length])
  return Buffer.from([(major << 5) | 25, length >> 8, length & 0xff])
}
