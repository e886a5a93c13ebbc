/** Cedar, compiled to wasm. Its policies, one for each kind, are parsed before and kept inside. */
import {
  type PolicySet,
  preparsePolicySet,
  type StatefulAuthorizationCall,
  statefulIsAuthorized,
} from '@cedar-policy/cedar-wasm/nodejs'
import { type Asked, apisByKind, type Peer, type Rule } from './peer.ts'

const POLICY_SET = 'portcullis'
const ACTION = 'open'

export function cedarPeer(rules: readonly Rule[], questions: readonly Asked[]): Peer {
  const staticPolicies = [...apisByKind(rules)].map(([kind, apis]) => policyOf(kind, apis)).join('\n')
  const policies: PolicySet = { staticPolicies }
  const parsed = preparsePolicySet(POLICY_SET, policies)
  if (parsed.type !== 'success') throw new Error(`Cedar rejects its policies: ${JSON.stringify(parsed)}`)
  const calls = questions.map(callOf)
  return {
    id: 'cedar',
    name: 'Cedar',
    configured:
      'Cedar (wasm): policies parsed before (`preparsePolicySet`, `statefulIsAuthorized`), request objects built before, no schema and no entities. One policy for each kind with a set of APIs, which took a third of the time of one policy for each cell.',
    answers: async () => calls.map(ask),
    countAllowed: {
      awaited: false,
      once: () => {
        let allowed = 0
        for (const call of calls) if (ask(call)) allowed++
        return allowed
      },
    },
  }
}

function policyOf(kind: string, apis: readonly string[]): string {
  const set = apis.map((api) => `Api::${quoted(api)}`).join(', ')
  return `permit(principal == Kind::${quoted(kind)}, action == Action::${quoted(ACTION)}, resource) when { [${set}].contains(resource) };`
}

function callOf({ api, kind }: Asked): StatefulAuthorizationCall {
  return {
    principal: { type: 'Kind', id: kind },
    action: { type: 'Action', id: ACTION },
    resource: { type: 'Api', id: api },
    context: {},
    entities: [],
    preparsedPolicySetId: POLICY_SET,
  }
}

function ask(call: StatefulAuthorizationCall): boolean {
  const answer = statefulIsAuthorized(call)
  if (answer.type !== 'success') throw new Error(`Cedar failed to answer: ${JSON.stringify(answer)}`)
  return answer.response.decision === 'allow'
}

/** Cedar writes strings as JSON does. Ids contain no character in which the two differ. */
function quoted(id: string): string {
  return JSON.stringify(id)
}
