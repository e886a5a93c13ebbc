/**
 * An operator's settings for the requests of a proxy's route, as names and values: the API, the owner of the
 * resources, and further facts for the decision.
 */
import type { Scope } from '../../engine/index.ts'
import { type FieldViolation, invalidArgument, invalidFields } from '../base/call-error.ts'
import type { RouteMatch } from '../rules/routes/route.ts'
import type { Replacement } from '../usecases/decide-proxied.ts'

/** An operator's settings for a route of a proxy. */
export interface RouteSettings {
  /** Where it was written, for errors: `context_extensions`. */
  readonly place: string
  readonly api: string | undefined
  readonly target: Scope | undefined
  /**
   * How many of the addresses in `X-Forwarded-For` proxies of the operator wrote, from the right; 0: the
   * header is not read.
   */
  readonly trustedHops: number
  /** The profile whose credential takes the place of the client's. */
  readonly credential: (Omit<Replacement, 'api'> & { readonly api: string | undefined }) | undefined
}

/** The question about a request. */
export interface RequestPolicy {
  readonly refused: undefined
  readonly api: string
  readonly target: Scope | undefined
  readonly replacement: Replacement | undefined
}

/** Why a request has no policy, although nothing is wrong with what the operator says. */
export type PolicyRefusal = Exclude<RouteMatch, { readonly refused: undefined }>

const KEYS = [
  ...(['api', 'account', 'project', 'trusted_hops'] as const),
  ...(['credential_profile', 'credential_api', 'credential_project', 'credential_place'] as const),
] as const

type Key = (typeof KEYS)[number]

const HOPS_MAX = 16

/**
 * Reads what an operator says about a route. An unknown name is refused: a misspelt `account` would open the
 * route to every account.
 *
 * @param settings names and values, in any order
 * @throws CallError `INVALID_ARGUMENT` that names everything that is not as expected
 */
export function readRouteSettings(
  settings: Iterable<readonly [name: string, value: string]>,
  place: string,
): RouteSettings {
  const violations: FieldViolation[] = []
  const values: { [Name in Key]?: string } = {}
  for (const [name, value] of settings) {
    // The name may be anything, so it is not repeated in the error.
    if (!isKey(name)) violations.push({ field: place, expected: `no other names than ${KEYS.join(', ')}` })
    else if (values[name] !== undefined) violations.push({ field: `${place}.${name}`, expected: 'one value' })
    else values[name] = value
    if (violations.length > KEYS.length) break
  }
  const expect = (holds: boolean, name: Key, expected: string) => {
    if (!holds) violations.push({ field: `${place}.${name}`, expected })
  }
  for (const name of KEYS) expect(values[name] !== '', name, 'a value that is not empty')
  const { api, account, project, trusted_hops = '0', credential_profile: profile } = values
  const { credential_api, credential_project, credential_place } = values
  expect(project === undefined || account !== undefined, 'account', 'the account of the project')
  const hops = /^\d{1,2}$/.test(trusted_hops) ? Number(trusted_hops) : Number.POSITIVE_INFINITY
  expect(hops <= HOPS_MAX, 'trusted_hops', `a number from 0 to ${HOPS_MAX}`)
  const named =
    profile !== undefined || (credential_api ?? credential_project ?? credential_place) === undefined
  expect(named, 'credential_profile', 'the name of a profile')
  if (violations.length > 0) throw invalidFields(violations)
  return {
    place,
    api,
    target: account === undefined ? undefined : { account, project },
    trustedHops: hops,
    credential:
      profile === undefined
        ? undefined
        : { profile, api: credential_api, project: credential_project, place: credential_place },
  }
}

/**
 * The question about a request, by the operator's settings for its route and by the routes of the
 * configuration. Where both say something, they must agree: a mistake in one of them opens nothing.
 *
 * @param match what the routes of the configuration found; `undefined`: there are none
 * @throws CallError `INVALID_ARGUMENT` where no API is known, or the two disagree
 */
export function policyOf(
  { place, api: named, target: owner, credential }: RouteSettings,
  match: RouteMatch | undefined,
): RequestPolicy | PolicyRefusal {
  // The routes of the configuration need not have every route of the proxy.
  const unrouted = match === undefined || (match.refused === 'NO_ROUTE' && named !== undefined)
  if (!unrouted && match.refused !== undefined) return match
  const routed = unrouted ? undefined : (match as Exclude<RouteMatch, PolicyRefusal>)
  const api = named ?? routed?.api
  if (api === undefined)
    throw invalidArgument({
      field: `${place}.api`,
      expected: 'the id of an API, because the configuration has no `routes`',
    })
  if (routed !== undefined && routed.api !== api)
    throw invalidArgument({
      field: `${place}.api`,
      expected: `the API of routes[${routed.route.index}] of the configuration, or none`,
    })
  const target = agreed(owner, routed?.target)
  if (target === 'different')
    return {
      refused: 'TARGET_NOT_FOUND',
      detail: 'expected a resource of the account and project of the route',
    }
  // Otherwise every customer could act with the credential of the profile.
  if (credential !== undefined && target === undefined)
    throw invalidArgument({
      field: `${place}.account`,
      expected: 'the account whose tokens may be exchanged for the credential of a profile',
    })
  return {
    refused: undefined,
    api,
    target,
    replacement: credential && { ...credential, api: credential.api ?? api },
  }
}

/** The narrower of two owners. */
function agreed(one: Scope | undefined, other: Scope | undefined): Scope | 'different' | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const projects = new Set([one.project, other.project].filter((project) => project !== undefined))
  if (one.account !== other.account || projects.size > 1) return 'different'
  return one.project === undefined ? other : one
}

const KNOWN: ReadonlySet<string> = new Set(KEYS)

function isKey(name: string): name is Key {
  return KNOWN.has(name)
}
