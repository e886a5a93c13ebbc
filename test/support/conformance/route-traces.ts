/** Traces in which the routes of the sidecar say the API and the target. */
import { ASKED, DENIAL, GENUINE, TOKEN_HEADERS, type Trace } from './trace.ts'

export const ROUTE_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'the routes say the API and the target of a plain request': (trace) => {
    trace.follow({ rules: 'routed' })
    trace.know(trace.requested('/else/where'), { route: { api: 'balance' } })
    trace.found('/else/where', { api: 'balance' })
    trace.found('/iam/users', { api: 'iam' }, { message: 'not with that' })
    const target = { account: '1' }
    trace.found('/v2/1/servers/9?x=y', { api: 'dedicated-servers', target }, { message: DENIAL.message })
    trace.found('/v2/2/servers/9', { api: 'dedicated-servers', target: { account: '2' } }, DENIAL)
    const project = { api: 'dns-hosting', target: { account: '123456', project: 'web' } }
    trace.found('/dns/zones', project, { message: 'no such kind' }, ['X-Project', 'web'])
  },
  'every other request is asked about, and what it says of the token is remembered': (trace) => {
    trace.follow({ rules: 'routed' })
    const encoded = trace.requested('/else/%77here')
    const refused = { reason: 'UNKNOWN_API', message: 'expected another path', verified: false } as const
    const { token: _, position: __, ...none } = GENUINE
    trace.learn(trace.asked(encoded), { ...none, ...refused, route: { refused: 'NOT_CANONICAL' } })
    trace.asked(encoded)
    trace.asked(trace.requested('/else/where'))
    trace.know(trace.requested('/caf%C3%A9'), { route: { api: 'balance' } })
    trace.found('/else/where', { api: 'balance' })
    trace.asked(trace.requested('/caf%C3%A9'))
    trace.asked(trace.requested('/IAM/'))
    trace.asked(trace.requested('/dns/zones'))
    trace.asked({ ...trace.requested('/else/where'), headers: [['x-original-url', '/'], ...TOKEN_HEADERS] })
  },
  'without routes each request is asked about': (trace) => {
    trace.follow()
    trace.know(trace.requested('/else/where'), { route: { api: 'balance' } })
    trace.asked(trace.requested('/else/where'))
    trace.allowed()
  },
  'routes come and go with the rules': (trace) => {
    trace.follow({ rules: 'routed' })
    trace.know(trace.requested('/else/where'), { route: { api: 'balance' } })
    trace.found('/else/where', { api: 'balance' })
    trace.begin({ after: [10, 1_000_010], basis: 'keys' })
    trace.found('/else/where', { api: 'balance' })
    trace.hear({ rules: 'shipped', sent_at_ms: 7 })
    trace.asked(trace.requested('/else/where'))
    trace.hear({ rules: 'routed', sent_at_ms: 7 })
    trace.found('/else/where', { api: 'balance' })
    trace.wait(5_000)
    trace.asked(trace.requested('/else/where'))
  },
  'the words of a denial are those of the API that the routes found': (trace) => {
    trace.follow({ rules: 'routed' })
    const closed = trace.requested('/iam/')
    trace.learn(trace.asked(closed), { ...GENUINE, ...DENIAL, route: { api: 'federations' } })
    trace.asked(closed)
    trace.learn(trace.asked(closed), { ...GENUINE, ...DENIAL, route: { api: 'iam' } })
    trace.found('/iam/', { api: 'iam' }, DENIAL)
    trace.check({ ...ASKED, api: 'iam' }, { allowed: false, reason: DENIAL.reason, message: DENIAL.message })
  },
  'a request without a credential is denied for it': (trace) => {
    trace.follow({ rules: 'routed' })
    const none = { ...trace.requested('/iam/'), headers: [] }
    const said = { reason: 'CREDENTIAL_MISSING', message: 'no credential' }
    trace.learn(trace.asked(none), { ...said, route: { api: 'iam' } })
    trace.check(none, { allowed: false, ...said, route: { api: 'iam' } })
  },
}
