/**
 * Passkeys of control panel users (WebAuthn). The library checks signatures, origin and user verification;
 * what is ours is which challenges count, and that no certificate of an authenticator is looked at. The
 * caller records the answered challenge and the new counter, in the transaction that relies on them.
 */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { callError } from '../../base/call-error.ts'
import type { PasskeyRecord } from '../../directory/factor-records.ts'
import { type AnsweredChallenge, CHALLENGE_LIMIT, type ChallengeFor, type Challenges } from './challenges.ts'
import type { CodeHolder } from './codes.ts'

export type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
}

/** EdDSA, ES256 and RS256, as COSE numbers them: what authenticators have. */
const ALGORITHMS = [-8, -7, -257]

const USER_VERIFICATION = 'required'

/** The stored form of a new passkey. */
export interface NewPasskey {
  /** The id of the credential, in base64url. */
  readonly id: string
  readonly publicKey: Buffer
  readonly counter: number
  readonly transports: readonly string[]
  readonly challenge: AnsweredChallenge
}

/** An answer that a passkey signed. */
export interface PasskeyAnswer {
  readonly counter: number
  readonly challenge: AnsweredChallenge
}

/** Where a page is, and when it asks. */
export interface Asked {
  /** The page's origin, which the server knows to be its own. */
  readonly origin: string
  readonly nowMs: number
}

/**
 * Whether a page of that origin can have passkeys: browsers know them by the name of a host, and want it to
 * be safe.
 */
export function hasPasskeys(origin: string): boolean {
  return hostOf(origin) !== undefined
}

/**
 * Length of the longest id of a credential, in base64url. WebAuthn allows a third more, and authenticators
 * have a tenth.
 */
const ID_LENGTH_MAX = 1_024

/** Whether some credential can have this id, in base64url. Stores are asked for no other text. */
export function canBePasskey(id: string): boolean {
  return /^[\w-]+$/.test(id) && id.length <= ID_LENGTH_MAX
}

export class Passkeys {
  readonly #challenges: Challenges

  constructor(challenges: Challenges) {
    this.#challenges = challenges
  }

  /**
   * Options from which a browser makes a new passkey.
   *
   * @param existing those that the user has: an authenticator makes no second one
   * @throws CallError if the origin can have none
   */
  async optionsOfNew(
    user: CodeHolder,
    existing: readonly PasskeyRecord[],
    session: string,
    { origin, nowMs }: Asked,
  ): Promise<PublicKeyCredentialCreationOptionsJSON> {
    const rpID = expectHost(origin)
    const { generateRegistrationOptions } = await library()
    return generateRegistrationOptions({
      rpName: 'Portcullis',
      rpID,
      userID: Uint8Array.from(Buffer.from(handleOf(user), 'base64url')),
      userName: `${user.name} (${user.account})`,
      userDisplayName: user.name,
      challenge: Uint8Array.from(this.#challenges.create({ purpose: 'add', session }, nowMs)),
      timeout: CHALLENGE_LIMIT.ms,
      attestationType: 'none',
      excludeCredentials: existing.map(descriptorOf),
      authenticatorSelection: { residentKey: 'required', userVerification: USER_VERIFICATION },
      supportedAlgorithmIDs: ALGORITHMS,
    })
  }

  /** @throws CallError `PASSKEY_REFUSED` if the response is not as expected */
  async verifyNew(
    response: RegistrationResponseJSON,
    session: string,
    { origin, nowMs }: Asked,
  ): Promise<NewPasskey> {
    const host = expectHost(origin)
    const { verifyRegistrationResponse } = await library()
    return orRefused(async () => {
      await expectNoCertificate(response.response.attestationObject)
      await expectNoFrame(response.response.clientDataJSON)
      const answered = this.#answered({ purpose: 'add', session }, nowMs)
      const { registrationInfo } = await verifyRegistrationResponse({
        response,
        expectedChallenge: answered.expect,
        expectedOrigin: origin,
        expectedRPID: host,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      })
      const challenge = answered.get()
      if (registrationInfo === undefined || challenge === undefined) return undefined
      // One that its authenticator does not find by itself could not log in.
      if (response.clientExtensionResults.credProps?.rk === false) return undefined
      const { id, publicKey, counter } = registrationInfo.credential
      if (!canBePasskey(id)) return undefined
      const transports = knownTransports(response.response.transports)
      return { id, publicKey: Buffer.from(publicKey), counter, transports, challenge }
    })
  }

  /**
   * Options with which a browser asks a passkey.
   *
   * @param of those of the user; empty: the browser offers what it has for this host, so that a stranger
   *   learns nothing from the answer
   * @throws CallError if the origin cannot have passkeys
   */
  async options(
    what: ChallengeFor,
    of: readonly PasskeyRecord[],
    { origin, nowMs }: Asked,
  ): Promise<PublicKeyCredentialRequestOptionsJSON> {
    const rpID = expectHost(origin)
    const { generateAuthenticationOptions } = await library()
    return generateAuthenticationOptions({
      rpID,
      challenge: Uint8Array.from(this.#challenges.create(what, nowMs)),
      timeout: CHALLENGE_LIMIT.ms,
      userVerification: USER_VERIFICATION,
      ...(of.length > 0 && { allowCredentials: of.map(descriptorOf) }),
    })
  }

  /** @throws CallError `PASSKEY_REFUSED` if the response is not as expected */
  async verify(
    response: AuthenticationResponseJSON,
    what: ChallengeFor,
    passkey: PasskeyRecord,
    { origin, nowMs }: Asked,
  ): Promise<PasskeyAnswer> {
    const host = expectHost(origin)
    const { verifyAuthenticationResponse } = await library()
    return orRefused(async () => {
      const { userHandle } = response.response
      // Whom the authenticator believes to log in.
      const handle = what.purpose === 'login' ? userHandle : (userHandle ?? handleOf({ id: passkey.userId }))
      if (handle !== handleOf({ id: passkey.userId }) || response.id !== passkey.id) return undefined
      await expectNoFrame(response.response.clientDataJSON)
      const answered = this.#answered(what, nowMs)
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        expectedChallenge: answered.expect,
        expectedOrigin: origin,
        expectedRPID: host,
        credential: {
          id: passkey.id,
          publicKey: Uint8Array.from(passkey.publicKey),
          counter: passkey.counter,
        },
        requireUserVerification: true,
      })
      const challenge = answered.get()
      if (!verified || challenge === undefined) return undefined
      return { counter: authenticationInfo.newCounter, challenge }
    })
  }

  /** Lets the library ask about the challenge of a response, and keeps what it was. */
  #answered(what: ChallengeFor, nowMs: number) {
    let found: AnsweredChallenge | undefined
    return {
      expect: (text: string): boolean => {
        found = this.#challenges.answered(text, what, nowMs)
        return found !== undefined
      },
      get: () => found,
    }
  }
}

/** Sidecars without passkeys do without the library. */
function library() {
  return import('@simplewebauthn/server')
}

/**
 * A response may say who made the authenticator, with certificates. The library would read them, and ask
 * other machines whether they were revoked. We ask for none, so a browser sends none.
 */
async function expectNoCertificate(attestationObject: string): Promise<void> {
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject))
  const format = attestation.get('fmt')
  const signedByItself = format === 'packed' && attestation.get('attStmt').get('x5c') === undefined
  if (format !== 'none' && !signedByItself) throw new Error('the attestation has certificates')
}

/** The page is never framed, so none of its answers came from a frame of another page. */
async function expectNoFrame(clientDataJSON: string): Promise<void> {
  const { decodeClientDataJSON } = await import('@simplewebauthn/server/helpers')
  if (decodeClientDataJSON(clientDataJSON).crossOrigin === true) throw new Error('the page is in a frame')
}

/** The library throws whatever it meets in a response, and some of it quotes the response. */
async function orRefused<T>(verify: () => Promise<T | undefined>): Promise<T> {
  const verified = await verify().catch(() => undefined)
  if (verified === undefined) throw callError('PASSKEY_REFUSED', {})
  return verified
}

/** The handle by which an authenticator knows a user. It does not say who they are. */
function handleOf({ id }: { readonly id: string }): string {
  return Buffer.from(id, 'hex').toString('base64url')
}

function descriptorOf({ id, transports }: PasskeyRecord) {
  return { id, transports: [...transports] }
}

/** Names that a browser may give for its ways to an authenticator. It gets them back later. */
const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

function knownTransports(transports: readonly string[] = []): readonly string[] {
  return TRANSPORTS.filter((each) => transports.includes(each))
}

/** The host that browsers know the passkeys of a page by; `undefined`: it can have none. */
function hostOf(origin: string): string | undefined {
  if (!URL.canParse(origin)) return undefined
  const { protocol, hostname } = new URL(origin)
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return undefined
  const safe = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')
  return safe ? hostname : undefined
}

function expectHost(origin: string): string {
  const host = hostOf(origin)
  if (host !== undefined) return host
  const port = URL.canParse(origin) ? new URL(origin).port : ''
  const local = port === '' ? 'http://localhost' : `http://localhost:${port}`
  throw callError('PASSKEYS_NOT_POSSIBLE', { origin, local })
}
