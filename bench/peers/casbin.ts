/**
 * Casbin: an access control list that is evaluated for each question, and its enforcer that caches answers.
 */
import { newCachedEnforcer, newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import type { Asked, Peer, Rule } from './peer.ts'

/** The plain list model of its documentation, without what the question does not need. */
const MODEL = `
[request_definition]
r = sub, obj

[policy_definition]
p = sub, obj

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = r.sub == p.sub && r.obj == p.obj
`

export async function casbinPeers(rules: readonly Rule[], questions: readonly Asked[]): Promise<Peer[]> {
  const policy = rules.flatMap(({ api, kinds }) => kinds.map((kind) => `p, ${kind}, ${api}`)).join('\n')
  const parts = () => [newModelFromString(MODEL), new StringAdapter(policy)] as const
  return [await evaluatedPeer(...parts(), questions), await cachedPeer(...parts(), questions)]
}

type Parts = readonly [model: ReturnType<typeof newModelFromString>, policy: StringAdapter]

async function evaluatedPeer(model: Parts[0], policy: Parts[1], questions: readonly Asked[]): Promise<Peer> {
  const enforcer = await newEnforcer(model, policy)
  const ask = ({ api, kind }: Asked): boolean => enforcer.enforceSync(kind, api)
  return {
    id: 'casbin',
    name: 'Casbin',
    configured:
      'Casbin: the plain list model, one line for each allowed cell, no roles and no functions; `enforceSync`, which needs no promise. The matcher is compiled once and evaluated line by line until one allows.',
    answers: async () => questions.map(ask),
    countAllowed: {
      awaited: false,
      once: () => {
        let allowed = 0
        for (const question of questions) if (ask(question)) allowed++
        return allowed
      },
    },
  }
}

async function cachedPeer(model: Parts[0], policy: Parts[1], questions: readonly Asked[]): Promise<Peer> {
  const enforcer = await newCachedEnforcer(model, policy)
  const ask = ({ api, kind }: Asked): Promise<boolean> => enforcer.enforce(kind, api)
  return {
    id: 'casbin-cached',
    name: 'Casbin, cached',
    configured:
      'Casbin: `newCachedEnforcer`, its enforcer with a cache of answers. The cache holds all answers before the clock starts. Only the asynchronous `enforce` uses it.',
    answers: () => Promise.all(questions.map(ask)),
    countAllowed: {
      awaited: true,
      once: async () => {
        let allowed = 0
        for (const question of questions) if (await ask(question)) allowed++
        return allowed
      },
    },
  }
}
