/**
 * A passkey as a browser sends it, as JSON (`PublicKeyCredential.toJSON`). Its verification decides its
 * worth.
 */
import type {
  AuthenticationResponseJSON,
  RegistrationResponseJSON,
} from '../../authority/control-panel/passkeys.ts'
import { invalidArgument } from '../../base/call-error.ts'
import { isObject } from '../json.ts'

/**
 * Length of the longest part of a credential, in characters. An authenticator's own signature and key are a
 * tenth of that.
 */
const PART_LENGTH_MAX = 8_192

/** Most ways in which a browser reaches an authenticator. */
const TRANSPORTS_MAX = 20

/** A new passkey. @throws CallError */
export function readNewCredential(value: unknown): RegistrationResponseJSON {
  const { credential, response } = partsOf(value)
  const transports = response.transports ?? []
  if (
    !Array.isArray(transports) ||
    transports.length > TRANSPORTS_MAX ||
    !transports.every((each) => typeof each === 'string')
  )
    throw notOfABrowser()
  const results = credential.clientExtensionResults
  const properties = isObject(results) && isObject(results.credProps) ? results.credProps : {}
  return {
    ...identityOf(credential),
    response: {
      clientDataJSON: part(response.clientDataJSON),
      attestationObject: part(response.attestationObject),
      transports,
    },
    clientExtensionResults: typeof properties.rk === 'boolean' ? { credProps: { rk: properties.rk } } : {},
  }
}

/** The answer of a passkey to a challenge. @throws CallError */
export function readCredential(value: unknown): AuthenticationResponseJSON {
  const { credential, response } = partsOf(value)
  const { userHandle } = response
  return {
    ...identityOf(credential),
    response: {
      clientDataJSON: part(response.clientDataJSON),
      authenticatorData: part(response.authenticatorData),
      signature: part(response.signature),
      // Some browsers say null where an authenticator has none.
      ...(userHandle !== undefined && userHandle !== null && { userHandle: part(userHandle) }),
    },
    clientExtensionResults: {},
  }
}

type Part = Readonly<Record<string, unknown>>

function partsOf(value: unknown): { readonly credential: Part; readonly response: Part } {
  if (!isObject(value) || !isObject(value.response)) throw notOfABrowser()
  return { credential: value, response: value.response }
}

function identityOf({ id, rawId, type }: Part) {
  if (type !== 'public-key') throw notOfABrowser()
  return { id: part(id), rawId: part(rawId), type } as const
}

function part(value: unknown): string {
  if (typeof value !== 'string' || value.length > PART_LENGTH_MAX) throw notOfABrowser()
  return value
}

function notOfABrowser() {
  return invalidArgument({
    field: 'response',
    expected: 'the credential of a browser, as its `toJSON` gives it',
  })
}
