/** Traces of a matrix whose kinds have several places, and some of whose APIs need no token. */
import { ENGINES } from './rules.ts'
import { type Answer, GENUINE as COMMON, type Question, type Token, type Trace } from './trace.ts'

const TOKEN: Token = { id: 't1', kind: 'git_token', account: '1', user: 'u1' }
const GENUINE: Answer = { ...COMMON, token: TOKEN }
const SCOPE = { account: '1' }

const sent = (api: string, ...headers: NonNullable<Question['headers']>): Question => ({ api, headers })

const decided = (kind: string, api: string) => {
  const {
    allowed,
    reason,
    message = '',
    advice = [],
  } = ENGINES.placed?.decide({ api, kind, scope: SCOPE }) ?? {}
  return { allowed: allowed === true, reason: reason ?? '', message, ...(advice.length > 0 && { advice }) }
}

const basic = (credentials: string) => `Basic ${btoa(credentials)}`

export const PLACE_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'a request without a token is allowed where none is needed': (trace) => {
    trace.follow({ rules: 'placed' })
    const open = { allowed: true, reason: 'ALLOWED' }
    trace.check(sent('status'), { ...open, message: '`status` needs no token' })
    trace.check(sent('status', ['Authorization', '']), { ...open, message: '`status` needs no token' })
    trace.check(sent('search'), { ...open, message: '`search` needs no token' })
    trace.asked(sent('projects'))
  },
  'a token that is sent is judged where none is needed': (trace) => {
    trace.follow({ rules: 'placed' })
    trace.asked(sent('status', ['PRIVATE-TOKEN', 'one']))
    trace.asked(sent('status', ['Authorization', 'Digest one']))
  },
  'a token is known in each of its places by itself': (trace) => {
    trace.follow({ rules: 'placed' })
    trace.learn(trace.asked(sent('projects', ['PRIVATE-TOKEN', 'one'])), GENUINE)
    trace.check(sent('projects', ['PRIVATE-TOKEN', 'one']), decided('git_token', 'projects'))
    trace.asked(sent('projects', ['Authorization', 'Bearer one']))
    trace.learn(trace.asked(sent('projects', ['Authorization', basic('any:one')])), GENUINE)
    trace.check(sent('projects', ['authorization', basic('other:one')]), decided('git_token', 'projects'))
  },
  'a token counts with the header that must come with it': (trace) => {
    trace.follow({ rules: 'placed' })
    const key: Answer = { ...COMMON, token: { ...TOKEN, kind: 'account_key' } }
    const both = sent('search', ['X-Auth-Key', 'one'], ['X-Auth-Email', 'a@example.com'])
    trace.learn(trace.asked(both), key)
    trace.check(both, decided('account_key', 'search'))
    trace.check(sent('search', ['x-auth-email', 'b@example.com'], ['x-auth-key', 'one']), {
      ...decided('account_key', 'search'),
    })
    trace.asked(sent('search', ['X-Auth-Key', 'one']))
  },
  'a cell has its note': (trace) => {
    trace.follow({ rules: 'placed' })
    for (const kind of ['git_token', 'secret_key'])
      trace.check({ api: 'projects', kind, scope: SCOPE }, decided(kind, 'projects'))
  },
}
