/**
 * Several authorities as one. The embedded authority alone is asked about tokens of its form, unless an
 * upstream names such a form as its own, because it is a Portcullis too. Every other token is asked about at
 * the upstreams, in the order of the configuration, until one verifies it: an upstream learns of no token
 * that an earlier one knows.
 */
import { hash } from 'node:crypto'
import type { TokenKind } from '../../engine/index.ts'
import type { CallError } from '../base/call-error.ts'
import { andThen } from '../base/maybe-promise.ts'
import type { CredentialOrigin, Verification, Verifier } from './authority.ts'
import { hasOwnHeader } from './iam-token.ts'
import { withoutPrefix } from './own-form.ts'
import { looksLikeStaticToken } from './static-token.ts'

/** An upstream that may verify tokens. Tokens are known by their SHA-256 in base64. */
export interface RemoteVerifier {
  readonly name: string
  /** Whether a token may be one of this upstream. */
  fits(value: string): boolean
  /** Whether it may because the configuration names the beginning of such tokens. */
  claims(value: string): boolean
  /** The facts about a token now, without asking. */
  known(value: string, digest: string, kinds: ReadonlyMap<string, TokenKind>): Verification | undefined
  /** Asks the upstream. @throws CallError where it does not answer */
  ask(value: string, digest: string, kinds: ReadonlyMap<string, TokenKind>): Promise<Verification>
  /** Forgets a token that was revoked. */
  drop(digest: string): void
}

const INVALID: Verification = { ok: false, reason: 'CREDENTIAL_INVALID' }

export class Verifiers implements Verifier {
  readonly #embedded: Verifier
  #remotes: readonly RemoteVerifier[] = []

  constructor(embedded: Verifier) {
    this.#embedded = embedded
  }

  /** The upstreams from now on, in the order in which they are asked. */
  replace(remotes: readonly RemoteVerifier[]): void {
    this.#remotes = remotes
  }

  recognize(value: string, kinds: ReadonlyMap<string, TokenKind>): ReturnType<Verifier['recognize']> {
    return this.#embedded.recognize(value, kinds)
  }

  /** @throws CallError where no authority verifies the token and one of them does not answer */
  verify(
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
    from?: CredentialOrigin,
  ): Verification | Promise<Verification> {
    if (this.#remotes.length === 0) return this.#embedded.verify(value, kinds, from)
    const own = withoutPrefix(value, kinds)
    if (looksLikeStaticToken(own)) return this.#embedded.verify(value, kinds, from)
    if (!hasOwnHeader(own)) return this.#verifyAt(this.#remotes, value, kinds)
    const ours = this.#embedded.verify(value, kinds, from)
    const claiming = this.#remotes.filter((remote) => remote.claims(value))
    if (claiming.length === 0) return ours
    // The embedded authority did not sign it: only then is it a token of another Portcullis.
    return andThen(ours, (verification) =>
      verification.token === undefined ? this.#verifyAt(claiming, value, kinds) : verification,
    )
  }

  #verifyAt(
    remotes: readonly RemoteVerifier[],
    value: string,
    kinds: ReadonlyMap<string, TokenKind>,
  ): Verification | Promise<Verification> {
    const digest = tokenDigest(value)
    let denial = INVALID
    const unknown: RemoteVerifier[] = []
    for (const remote of remotes) {
      if (!remote.fits(value)) continue
      const known = remote.known(value, digest, kinds)
      if (known === undefined) unknown.push(remote)
      else if (known.ok) return known
      else denial = moreTelling(denial, known)
    }
    return unknown.length === 0 ? denial : askInTurn(unknown, { value, digest, kinds }, denial)
  }

  /** Forgets a token that was revoked. */
  drop(digest: string): void {
    for (const remote of this.#remotes) remote.drop(digest)
  }
}

/** By what tokens are known in caches. */
export function tokenDigest(value: string): string {
  return hash('sha256', value, 'base64')
}

interface Question {
  readonly value: string
  readonly digest: string
  readonly kinds: ReadonlyMap<string, TokenKind>
}

/**
 * An upstream that fails does not stop the others. But where none verifies the token, it may be a token of
 * the one that failed.
 */
async function askInTurn(
  remotes: readonly RemoteVerifier[],
  { value, digest, kinds }: Question,
  known: Verification,
): Promise<Verification> {
  let denial = known
  let failure: CallError | undefined
  for (const remote of remotes) {
    try {
      const verification = await remote.ask(value, digest, kinds)
      if (verification.ok) return verification
      denial = moreTelling(denial, verification)
    } catch (error) {
      failure ??= error as CallError
    }
  }
  if (failure !== undefined) throw failure
  return denial
}

/** Of two denials, the one that knows the token. */
function moreTelling(one: Verification, other: Verification): Verification {
  return one.token === undefined ? other : one
}
