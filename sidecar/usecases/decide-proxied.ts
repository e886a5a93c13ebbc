/**
 * May a request that a proxy received pass, and with which credential does it go on? The client's own
 * credential decides. Where the proxy's operator says so, the credential of a profile takes its place behind
 * the proxy.
 */
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Asker } from './asker.ts'
import type { Caller } from './callers.ts'
import { checkCredentials, type Verifying } from './check.ts'
import { credentialFor } from './egress.ts'
import type { Issued, Issuing } from './issue.ts'
import type { CheckOutcome, CredentialsQuestion } from './questions.ts'

/** The credential that takes the place of the client's. */
export interface Replacement {
  /** Name of the profile whose token it is. */
  readonly profile: string
  /** The API behind the proxy. It decides which kind of token it is. */
  readonly api: string
  /** Project of the token, for kinds that need one. */
  readonly project: string | undefined
  /** Place that the token is sent in, by its name; `undefined`: the first one of its kind. */
  readonly place?: string | undefined
}

export interface ProxiedRequest extends CredentialsQuestion {
  /** `undefined`: the client's credential goes on as it is. */
  readonly replacement: Replacement | undefined
}

/** The outcome for a request. */
export interface ProxiedOutcome {
  readonly outcome: CheckOutcome
  /** Takes the place of the client's credential. Only where the request may pass. */
  readonly credential: Issued | undefined
}

/**
 * Decides about a request. The proxy needs no right for that, but a credential of a profile goes to a caller
 * who may use the profile.
 *
 * @param findCaller who the proxy is; asked only where a credential is replaced
 * @param asker the proxy
 * @throws CallError as `checkCredentials` and `issue` do
 */
export function authorizeRequest(
  services: Verifying & Issuing,
  request: ProxiedRequest,
  findCaller: () => Caller | undefined,
  asker: Asker,
): MaybePromise<ProxiedOutcome> {
  return andThen(checkCredentials(services, request, asker), (outcome) =>
    replaced(services, request, outcome, findCaller, asker),
  )
}

function replaced(
  services: Issuing,
  { replacement }: ProxiedRequest,
  outcome: CheckOutcome,
  findCaller: () => Caller | undefined,
  { listener }: Asker,
): MaybePromise<ProxiedOutcome> {
  // A request without a token may pass where none is needed, but not as the holder of the profile.
  const { decision, token } = outcome
  if (replacement === undefined || !decision.allowed || token === undefined)
    return { outcome, credential: undefined }
  return andThen(credentialFor(services, replacement, findCaller()), (found) => {
    listener?.ofOwnToken(replacement.api, found.credential, found.decision)
    return found.allowed
      ? { outcome, credential: found.credential }
      : { outcome: { ...outcome, decision: found.decision }, credential: undefined }
  })
}
