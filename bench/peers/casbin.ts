/** Casbin: an access control list, evaluated each time; and its enforcer that remembers what it answered. */
import { newCachedEnforcer, newEnforcer, newModelFromString, StringAdapter } from 'casbin'
import type { Asked, Peer, Rule } from './peer.ts'

/** The list model of its documentation, with nothing that the question does not need. */
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
  return [await evaluated(...parts(), questions), await remembered(...parts(), questions)]
}

type Parts = readonly [model: ReturnType<typeof newModelFromString>, policy: StringAdapter]

async function evaluated(model: Parts[0], policy: Parts[1], questions: readonly Asked[]): Promise<Peer> {
  const enforcer = await newEnforcer(model, policy)
  const ask = ({ api, kind }: Asked): boolean => enforcer.enforceSync(kind, api)
  return {
    id: 'casbin',
    name: 'Casbin',
    configured:
      'Casbin: the plain list model, one line a cell that is allowed, no roles and no functions; `enforceSync`, which spares the promise; the matcher is compiled once and evaluated line by line until one allows.',
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

async function remembered(model: Parts[0], policy: Parts[1], questions: readonly Asked[]): Promise<Peer> {
  const enforcer = await newCachedEnforcer(model, policy)
  const ask = ({ api, kind }: Asked): Promise<boolean> => enforcer.enforce(kind, api)
  return {
    id: 'casbin-cached',
    name: 'Casbin, remembered',
    configured:
      'Casbin: `newCachedEnforcer`, its enforcer with a cache of answers, which holds all of them before the clock starts; it caches in the asynchronous `enforce` alone.',
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
