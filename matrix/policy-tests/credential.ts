/** The decision of an engine about the credential among headers, where tokens stand for what they are. */
import {
  type CredentialPlace,
  credentialPlaces,
  type Decision,
  type Engine,
  type Scope,
} from '../../engine/index.ts'
import type { TestHeaders, TestToken } from './document.ts'

export interface CredentialAnswer {
  readonly decision: Decision
  /** Kind of the token, where it is known which token the credential is. */
  readonly kind: string | undefined
}

/** The answers about credentials: faults are looked for in the order in which a sidecar looks for them. */
export class Credentials {
  readonly #tokens: Readonly<Record<string, TestToken>>
  readonly #places: ReadonlyMap<string, CredentialPlace>
  readonly #kinds: Engine['tokenKinds']

  constructor({ tokenKinds }: Engine, tokens: Readonly<Record<string, TestToken>>) {
    this.#tokens = tokens
    this.#kinds = tokenKinds
    this.#places = credentialPlaces(tokenKinds.values())
  }

  decide(engine: Engine, api: string, headers: TestHeaders, target: Scope | undefined): CredentialAnswer {
    const found = engine.extract(Object.entries(headers))
    if (!found.ok) return { decision: engine.deny(api, found.reason), kind: undefined }
    const token = Object.hasOwn(this.#tokens, found.value) ? this.#tokens[found.value] : undefined
    // No authority verifies an unknown token.
    if (token === undefined) return { decision: engine.deny(api, 'CREDENTIAL_INVALID'), kind: undefined }
    const { kind, fault, holder } = token
    const place = this.#places.get(found.place) as CredentialPlace
    // Survives: `kind === undefined` → `false`, `this.#kinds.get(kind)?.obtained` →
    // `this.#kinds.get(kind).obtained`. No kind is undefined, and tokens of unknown kinds are refused before.
    const obtainedBy = kind === undefined ? undefined : this.#kinds.get(kind)?.obtained.by
    // The form of a token says how it was obtained, before an authority is asked.
    if (obtainedBy !== undefined && !place.obtainedBy.has(obtainedBy))
      return { decision: engine.deny(api, 'WRONG_HEADER'), kind }
    if (fault !== undefined || kind === undefined)
      return { decision: engine.deny(api, fault ?? 'CREDENTIAL_INVALID', kind, holder), kind }
    const prefix = place.prefixes.get(kind)
    if (prefix === undefined || !found.value.startsWith(prefix))
      return { decision: engine.deny(api, 'WRONG_HEADER', kind, holder), kind }
    const scope = token.scope ?? fittingScope(engine.tokenKinds, kind)
    return { decision: engine.decide({ api, kind, scope, target, holder }), kind }
  }
}

const OF_ACCOUNT: Scope = Object.freeze({ account: 'any' })
const OF_PROJECT: Scope = Object.freeze({ account: 'any', project: 'any' })

/** A scope that fits the kind, for questions to which it does not matter which. */
export function fittingScope(tokenKinds: Engine['tokenKinds'], kind: string): Scope {
  return tokenKinds.get(kind)?.scopeLevel === 'project' ? OF_PROJECT : OF_ACCOUNT
}
