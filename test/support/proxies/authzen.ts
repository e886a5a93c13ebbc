/** A sidecar that answers AuthZEN, with a credential of each kind, and how a test asks it. */
import {
  type IdentitySidecar,
  OTHER_ACCOUNT,
  type RequestHeaders,
  type Response,
  startIdentity,
} from '../identity/identity.ts'
import type { SidecarOptions } from '../sidecar/sidecar.ts'

export const EVALUATION = '/access/v1/evaluation'
export const EVALUATIONS = '/access/v1/evaluations'
export const SEARCHES = ['subject', 'resource', 'action'] as const
export const METADATA = '/.well-known/authzen-configuration'

export const CALL = { name: 'call' }

/** The scope of a token, or the owner of a resource. */
export interface Owner {
  readonly account: string
  readonly project?: string
}

export const api = (id: string, properties?: Owner) => ({
  type: 'api',
  id,
  ...(properties && { properties }),
})
export const token = (id: string, properties?: Owner) => ({
  type: 'token',
  id,
  ...(properties && { properties }),
})
export const credential = (headers: RequestHeaders) => ({
  type: 'credential',
  id: '-',
  properties: { headers },
})

export interface AuthzenSidecar extends IdentitySidecar {
  /** Real ones, and what goes for one. */
  readonly credentials: Readonly<
    Record<'account' | 'project' | 'stranger' | 'static' | 'forged' | 'none', RequestHeaders>
  >
  /** Sends JSON, and text as it is. */
  post(path: string, body: object | string, headers?: RequestHeaders): Promise<Response>
}

export async function startAuthzen({ flags, ...options }: SidecarOptions = {}): Promise<AuthzenSidecar> {
  const identity = await startIdentity({ ...options, flags: { 'http.authzen': true, ...flags } })
  const { ask, tokenFor, staticToken } = identity
  const account = await tokenFor({})
  return {
    ...identity,
    credentials: {
      account: { 'X-Auth-Token': account },
      project: { 'X-Auth-Token': await tokenFor({ user: 'alpha', project: 'alpha' }) },
      stranger: { 'X-Auth-Token': await tokenFor({ user: 'stranger', account: OTHER_ACCOUNT }) },
      static: { 'X-Token': staticToken },
      forged: { 'X-Auth-Token': `${account.slice(0, -8)}AAAAAAAA` },
      none: {},
    },
    post: (path, body, headers = {}) => ask({ method: 'POST', path, body, headers }),
  }
}
