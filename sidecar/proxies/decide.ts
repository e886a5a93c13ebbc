/**
 * May a request pass that a proxy asks about, and with which headers does it go on? One behaviour for every
 * way in which Envoy asks.
 */
import { type Engine, fieldValue } from '../../engine/index.ts'
import type { VerifiedToken } from '../authority/authority.ts'
import type { IpAddress } from '../base/ip-address.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { RouteRequest } from '../rules/routes/route.ts'
import type { Asker } from '../usecases/asker.ts'
import type { Caller } from '../usecases/callers.ts'
import type { PerCall, Recognizing, Reporting, Ruled } from '../usecases/capabilities.ts'
import type { Verifying } from '../usecases/check.ts'
import { authorizeRequest, type ProxiedOutcome } from '../usecases/decide-proxied.ts'
import type { Issuing } from '../usecases/issue.ts'
import type { Headers } from './denial-answer.ts'
import {
  identityHeaders,
  isIdentity,
  listsIdentity,
  relevanceTo,
  removedHeaders,
  WOULD_DENY_HEADER,
} from './identity-headers.ts'
import { type PolicyRefusal, policyOf, type RouteSettings } from './policy.ts'

export type DecideServices = PerCall<Verifying & Issuing> & Ruled & Recognizing & Reporting

/** A request that a proxy received. */
export interface AskedRequest extends RouteRequest {
  /** The relevant headers, with names in lower case. */
  readonly headers: Headers
  readonly clientAddress: IpAddress | undefined
}

/** The decision about it. */
export interface DecidedRequest extends ProxiedOutcome {
  readonly refused: undefined
  readonly api: string
  /** The one that decided. */
  readonly engine: Engine
}

/** A request about which nothing is decided. */
interface RefusedRequest extends PolicyRefusal {
  /** It does not pass in observe mode either: it forges or hides what the sidecar says of its sender. */
  readonly always?: true
}

export type Decided = DecidedRequest | RefusedRequest

/**
 * A proxy removes `Connection`, but of a request for an upgrade it may pass it on, and the next one removes
 * what it lists.
 */
const IDENTITY_LISTED: RefusedRequest = {
  refused: 'NOT_CANONICAL',
  always: true,
  detail: 'expected a header Connection that lists none of the headers which say who sent the request',
}

/**
 * @param findCaller who the proxy is; asked only where a credential is replaced
 * @param asker the proxy
 * @throws CallError where nothing can be decided
 */
export function decide(
  services: DecideServices,
  settings: RouteSettings,
  request: AskedRequest,
  findCaller: () => Caller | undefined,
  asker: Asker,
): MaybePromise<Decided> {
  if (listsIdentity(request.headers)) return IDENTITY_LISTED
  const policy = policyOf(settings, services.routes?.match(request))
  if (policy.refused !== undefined) return policy
  const { api, target, replacement } = policy
  const { headers, clientAddress } = request
  const question = { api, target, replacement, headers, clientAddress }
  const current = services.forCall()
  const { engine } = current
  return andThen(
    authorizeRequest(current, question, findCaller, asker),
    ({ outcome, credential }): Decided => ({ refused: undefined, api, engine, outcome, credential }),
  )
}

/** The changes of the headers of a request that may pass. */
export interface HeaderChanges {
  readonly set: Headers
  /** Envoy removes after it sets, so none of them is among those to set. */
  readonly removed: readonly string[]
}

/** @param came headers that the client sent */
export function headerChanges(
  { outcome, credential, engine }: DecidedRequest,
  token: VerifiedToken | undefined,
  came: Headers,
): HeaderChanges {
  const set = [...identityHeaders(token, outcome.decision)]
  if (credential !== undefined)
    set.push([credential.header.toLowerCase(), fieldValue(credential, credential.value.reveal())])
  const carriers = credential && relevanceTo(engine).carriers
  return { set, removed: removedHeaders(came, set, carriers) }
}

/**
 * The changes of the headers of a request that passes in observe mode and would be denied: they do not name
 * its sender, and the client's own credential stays.
 */
export function observedChanges(reason: string, came: Headers): HeaderChanges {
  const set = [[WOULD_DENY_HEADER, reason]] as const
  return { set, removed: removedHeaders(came, set) }
}

/** Whether the changes are those of every request with the same token. */
export function areUsual({ credential }: ProxiedOutcome, came: Headers): boolean {
  return credential === undefined && !came.some(([name]) => isIdentity(name))
}

/** The values of a header; `undefined`: there is none. */
export function valuesOf(headers: Headers, name: string): readonly string[] | undefined {
  const values = headers.flatMap(([each, value]) => (each === name ? [value] : []))
  return values.length === 0 ? undefined : values
}
