/** A check as the memory of the client takes it, and as the sidecar is asked it. */
import type { CredentialHeaders, Scope } from '../../engine/index.ts'
import type { FoundRoute, HttpRequest } from './local-routes.ts'
import { type AnyCheck, checkRequest, type RequestHeaders, type TrustedToken } from './values.ts'

/** It has `request`, or an `api`; and `credentials`, or a `token`. */
export interface LocalQuestion {
  readonly api?: string
  readonly request?: HttpRequest
  readonly credentials?: RequestHeaders
  readonly token?: TrustedToken
  readonly target?: Scope | undefined
  readonly clientAddress?: string
}

/** The sidecar must be asked. */
export class Ask {
  /** Of the token, if it is known, or of the claims. */
  readonly kind: string
  /** The credential for which its answer may be remembered; `undefined`: nothing. */
  readonly credential:
    | { readonly place: string; readonly value: string; readonly address: string }
    | undefined
  /** The findings of the known routes about the request. */
  readonly route: FoundRoute | undefined
  /** How often the answers to what was asked before had become void. */
  readonly age: number

  constructor(kind: string, credential: Ask['credential'], route: FoundRoute | undefined, age: number) {
    this.kind = kind
    this.credential = credential
    this.route = route
    this.age = age
  }
}

/** @throws TypeError that names the field, if a caller without types passes a wrong value */
export function localQuestion(check: AnyCheck): LocalQuestion {
  if (!hasShape(check)) checkRequest(check)
  const { target, token }: LocalQuestion = check
  if (target?.project !== '' && token?.scope?.project !== '') return check
  // The sidecar takes an empty project for none.
  return {
    ...check,
    target: target && withProject(target),
    ...(token && { token: { ...token, scope: withProject(token.scope) } }),
  }
}

function withProject({ account, project }: Scope): Scope {
  return project === undefined || project === '' ? { account } : { account, project }
}

export function headerPairs(headers: RequestHeaders): CredentialHeaders {
  return Symbol.iterator in headers ? headers : Object.entries(headers)
}

/** Whether it looks like a check; `checkRequest` says what is wrong with one that does not. */
function hasShape(check: AnyCheck): boolean {
  const { api, request, target, clientAddress, credentials, token }: Loose = check ?? {}
  const subject = credentials ?? token
  // The sidecar says what else is wrong with a request.
  if (request !== undefined && (api !== undefined || target !== undefined || token !== undefined))
    return false
  return (
    (request === undefined ? typeof api === 'string' : isRequest(request)) &&
    typeof (clientAddress ?? '') === 'string' &&
    (target === undefined || typeof target?.account === 'string') &&
    (credentials === undefined) !== (token === undefined) &&
    typeof subject === 'object' &&
    subject !== null
  )
}

function isRequest(request: unknown): request is HttpRequest {
  const { method, host, path }: Partial<Record<keyof HttpRequest, unknown>> = request ?? {}
  return typeof method === 'string' && typeof host === 'string' && typeof path === 'string'
}

/** Of a caller without types. */
interface Loose {
  readonly api?: unknown
  readonly request?: unknown
  readonly target?: { readonly account?: unknown } | null | undefined
  readonly clientAddress?: unknown
  readonly credentials?: unknown
  readonly token?: unknown
}
