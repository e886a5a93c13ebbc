/** Whether an answer of the sidecar is one to learn from (clients/conformance, "Learning"). */
import type { Scope } from '../../engine/index.ts'
import type * as wire from '../../proto/gen/portcullis/v1/authorization.ts'
import type { Ask, LocalQuestion } from './local-question.ts'
import type { FoundRoute } from './local-routes.ts'
import { isFault, type LocalRules } from './local-rules.ts'
import { reasonName, scopeValue } from './values.ts'

/** The API and the target: those of the question, or those that the routes say in the answer. */
export function subjectOf(
  { api = '', target, request }: LocalQuestion,
  { route }: wire.CheckResponse,
): { readonly api: string; readonly target: Scope | undefined } {
  if (request === undefined) return { api, target }
  return { api: route?.api ?? '', target: route?.target && scopeValue(route.target) }
}

/** Whether the rules and their routes would have given the answer. */
export function wouldGive(
  rules: LocalRules,
  question: LocalQuestion,
  { credential, route }: Ask,
  response: wire.CheckResponse,
): boolean {
  const { allowed, verified, token } = response
  const reason = reasonName(response.reason)
  if (reason === 'UNSPECIFIED' || allowed !== (reason === 'ALLOWED')) return false
  if (response.rulesDigest !== rules.matrix.rulesDigest) return false
  if (question.request !== undefined && !isFoundAs(route, response.route)) return false
  const { api, target } = subjectOf(question, response)
  const { token: claims } = question
  if (claims !== undefined)
    return token === undefined && !verified && reason === rules.reason(api, claims.kind, claims.scope, target)
  if (token !== undefined && (credential === undefined || !isWhole(token))) return false
  if (!verified) {
    const fault = isFault(reason) ? reason : 'CREDENTIAL_MISSING'
    return reason === rules.reasonOfFault(api, token?.kind ?? '', fault)
  }
  if (token === undefined || credential === undefined) return false
  const { kind, scope } = token
  const isCarried = rules.carries(kind, credential.place, credential.value)
  return isCarried && reason === rules.reason(api, kind, scopeValue(scope), target)
}

/** Whether the routes of the sidecar refuse the request, and nothing is said of the token. */
export function isRefusal(question: LocalQuestion, ask: Ask, response: wire.CheckResponse): boolean {
  if (question.request === undefined || ask.route !== undefined) return false
  const { allowed, reason, verified, token, route } = response
  const isSilent = !allowed && !verified && token === undefined
  return isSilent && (route?.api ?? '') === '' && reasonName(reason) === 'UNKNOWN_API'
}

/** Whether the sidecar has found a route, and the client no other one. */
function isFoundAs(known: FoundRoute | undefined, found: wire.FoundRoute | undefined): boolean {
  if (found === undefined || found.api === '' || found.refused !== '') return false
  if (known === undefined) return true
  const { account, project = '' } = known.target ?? {}
  const isSame = account === found.target?.account && project === (found.target?.project ?? '')
  return isSame && known.api === found.api
}

/** Whether changes can name all that the token depends on. */
function isWhole({ tokenId, subject, scope, projectId }: wire.VerifiedToken): boolean {
  const { account = '', project = '' } = scope ?? {}
  const isNamed = tokenId !== '' && (subject?.id ?? '') !== '' && account !== ''
  return isNamed && (project === '' || projectId !== '')
}
