/**
 * What an operator says about the requests of a proxy's route, as names and values: which API they ask for, whose resources these are,
 * and what else the decision depends on.
 */
import type { Scope } from '../../engine/index.ts'
import { type FieldViolation, invalidFields } from '../base/call-error.ts'
import type { Replacement } from '../usecases/proxied-request.ts'

/** What is asked about the requests of a route. */
export interface RoutePolicy {
  readonly api: string
  readonly target: Scope | undefined
  /** How many of the addresses in `X-Forwarded-For` proxies of the operator wrote, from the right; 0: the header is not read. */
  readonly trustedHops: number
  /** What takes the place of the client's credential. */
  readonly replacement: Replacement | undefined
}

const KEYS = [
  ...(['api', 'account', 'project', 'trusted_hops'] as const),
  ...(['credential_profile', 'credential_api', 'credential_project'] as const),
] as const

type Key = (typeof KEYS)[number]

const HOPS_MAX = 16

/**
 * Reads the policy of a route. An unknown name is refused: a misspelt `account` would open the route to every account.
 *
 * @param settings names and values, in any order
 * @param place where they were written, for errors, for example `context_extensions`
 * @throws CallError `INVALID_ARGUMENT` that names everything that is not as expected
 */
export function readRoutePolicy(
  settings: Iterable<readonly [name: string, value: string]>,
  place: string,
): RoutePolicy {
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
  const { api, account, project, trusted_hops = '0' } = values
  const { credential_profile, credential_api, credential_project } = values
  expect(api !== undefined, 'api', 'the id of an API')
  expect(project === undefined || account !== undefined, 'account', 'the account of the project')
  const hops = /^\d{1,2}$/.test(trusted_hops) ? Number(trusted_hops) : Number.POSITIVE_INFINITY
  expect(hops <= HOPS_MAX, 'trusted_hops', `a number from 0 to ${HOPS_MAX}`)
  // Otherwise every customer could act with the credential of the profile.
  expect(
    credential_profile === undefined || account !== undefined,
    'account',
    'the account whose tokens may be exchanged for the credential of a profile',
  )
  expect(
    credential_profile !== undefined || (credential_api ?? credential_project) === undefined,
    'credential_profile',
    'the name of a profile',
  )
  if (api === undefined || violations.length > 0) throw invalidFields(violations)
  return {
    api,
    target: account === undefined ? undefined : { account, project },
    trustedHops: hops,
    replacement:
      credential_profile === undefined
        ? undefined
        : { profile: credential_profile, api: credential_api ?? api, project: credential_project },
  }
}

const KNOWN: ReadonlySet<string> = new Set(KEYS)

function isKey(name: string): name is Key {
  return KNOWN.has(name)
}
