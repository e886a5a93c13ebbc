/** Traces that each show one thing of the memory of a client, as clients/conformance/README.md says it. */
import { CLOCK_TRACES } from './clock-traces.ts'
import { DENIAL_TRACES } from './denial-traces.ts'
import { DISAGREEING_TRACES } from './disagreeing-traces.ts'
import { PART_TRACES } from './part-traces.ts'
import { PLACE_TRACES } from './place-traces.ts'
import { ROUTE_TRACES } from './route-traces.ts'
import { ENGINES } from './rules.ts'
import { SCHEME_TRACES } from './scheme-traces.ts'
import {
  ASKED,
  CLOSED,
  changed,
  DAY_MS,
  DENIAL,
  GENUINE,
  messageOf,
  OPEN,
  OPEN_TOO,
  type Question,
  STATIC,
  TOKEN,
  type Token,
  Trace,
  UNKNOWN,
} from './trace.ts'

const TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  ...ROUTE_TRACES,
  ...PART_TRACES,
  ...DENIAL_TRACES,
  ...DISAGREEING_TRACES,
  ...PLACE_TRACES,
  ...SCHEME_TRACES,
  ...CLOCK_TRACES,
  'before the first response it asks, and remembers nothing': (trace) => {
    trace.know()
    trace.begin()
    trace.know()
    trace.hear({ rules: 'shipped', voided: 'everything' })
    trace.asked()
  },
  'what the sidecar vouches for is known for every API and target': (trace) => {
    trace.follow()
    trace.know()
    trace.allowed()
    trace.allowed({ ...ASKED, api: OPEN_TOO })
    trace.allowed({ ...ASKED, target: { account: '1' } })
    trace.allowed({ ...ASKED, target: { account: '1', project: 'any' } })
    trace.asked(UNKNOWN)
  },
  'a denial goes out in the words of the sidecar, which are asked for once': (trace) => {
    trace.follow()
    trace.know()
    const closed = { ...ASKED, api: CLOSED }
    trace.learn(trace.asked(closed), { ...GENUINE, ...DENIAL })
    trace.check(closed, { allowed: false, reason: DENIAL.reason, message: DENIAL.message })
    trace.asked({ ...ASKED, target: { account: '2' } })
    trace.allowed()
  },
  'new rules bring new words': (trace) => {
    trace.follow()
    const closed = { ...ASKED, api: CLOSED }
    trace.know(closed, DENIAL)
    trace.check(closed, { allowed: false, reason: DENIAL.reason, message: DENIAL.message })
    trace.hear({ rules: 'shipped-strict' })
    trace.asked(closed)
    trace.hear({ rules: 'shipped' })
    trace.learn(trace.asked(closed), { ...GENUINE, ...DENIAL, same_rules: false })
    trace.asked(closed)
    trace.asked()
  },
  'an API that the new rules do not have is denied': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ rules: 'many' })
    trace.learn(trace.asked(), { reason: 'UNKNOWN_API', message: 'not in the matrix' })
    trace.check(ASKED, { allowed: false, reason: 'UNKNOWN_API', message: 'not in the matrix' })
    trace.hear({ rules: 'shipped' })
    trace.allowed()
  },
  'claims need no token, and a fault is found without the sidecar': (trace) => {
    const claims = { api: OPEN, kind: STATIC, scope: { account: '1' } }
    trace.check(claims, 'ask')
    trace.follow()
    trace.check(claims, { allowed: true, reason: 'ALLOWED', message: messageOf(OPEN) })
    const none = { api: OPEN, headers: [['Accept', '*/*']] as const }
    trace.learn(trace.asked(none), { reason: 'CREDENTIAL_MISSING', message: 'no credential' })
    trace.check(none, { allowed: false, reason: 'CREDENTIAL_MISSING', message: 'no credential' })
    trace.asked({ api: OPEN, headers: [['X-Token', 'a,b']] })
    trace.wait(5_000)
    trace.asked(none)
    trace.check(claims, 'ask')
  },
  'a token is known in the header that it came in': (trace) => {
    trace.follow()
    trace.know()
    trace.asked({ ...ASKED, headers: [['X-Auth-Token', 'one']] })
    trace.allowed({ ...ASKED, headers: [['x-token', ' one ']] })
  },
  'a token in the wrong header is not remembered': (trace) => {
    trace.follow()
    const wrong: Question = { ...ASKED, headers: [['X-Auth-Token', 'one']] }
    trace.know()
    trace.learn(trace.asked(wrong), { ...GENUINE, reason: 'WRONG_HEADER', verified: false })
    trace.asked(wrong)
    trace.allowed()
  },
  'a credential that is not genuine is asked about each time': (trace) => {
    trace.follow()
    for (let count = 2; count > 0; count--)
      trace.learn(trace.asked(), { reason: 'CREDENTIAL_INVALID', message: 'not genuine' })
    trace.asked()
  },
  'a token of an upstream is not remembered': (trace) => {
    trace.follow()
    const { position: _, ...upstream } = GENUINE
    trace.learn(trace.asked(), upstream)
    trace.asked()
  },
  'a change drops what it touches, and nothing else': (trace) => {
    trace.follow()
    const tokens: readonly [string, Partial<Token>][] = [
      ['by id', { id: 'a' }],
      ['by derivation', { id: 'b', derived_from: ['x', 'root'] }],
      ['by holder', { id: 'c', user: 'u9' }],
      ['by account', { id: 'd', account: '9' }],
      ['by project', { id: 'e', project_id: 'p9' }],
      ['untouched', { id: 'f' }],
    ]
    const question = (value: string): Question => ({
      api: OPEN,
      headers: [['X-Token', value.replaceAll(' ', '-')]],
    })
    for (const [value, token] of tokens) trace.know(question(value), { token: { ...TOKEN, ...token } })
    trace.hear(changed(11, { token_ids: ['a', 'root'], user_ids: ['u9'] }))
    trace.hear(changed(12, { accounts: ['9'], project_ids: ['p9', ''] }))
    for (const [value] of tokens) {
      if (value === 'untouched') trace.allowed(question(value))
      else trace.asked(question(value))
    }
  },
  'without word from the sidecar it asks, and goes on when it hears again': (trace) => {
    trace.follow()
    trace.know()
    trace.wait(4_999)
    trace.allowed()
    trace.wait(1)
    trace.asked()
    trace.hear()
    trace.allowed()
  },
  'a response that is late prolongs nothing': (trace) => {
    trace.follow()
    trace.know()
    trace.wait(1_000)
    const sentAtMs = trace.atMs + 500_000
    trace.wait(3_000)
    trace.hear({ sent_at_ms: sentAtMs, time_of_day_ms: 0 })
    trace.wait(1_999)
    trace.allowed()
    trace.wait(1)
    trace.asked()
  },
  'the first response counts from when the stream was asked for': (trace) => {
    trace.begin()
    trace.wait(2_000)
    trace.hear({ rules: 'shipped', voided: 'everything' })
    trace.know()
    trace.wait(2_999)
    trace.allowed()
    trace.wait(1)
    trace.asked()
  },
  'a sidecar that does not know what changes is asked': (trace) => {
    trace.follow({ valid_for_ms: 0 })
    trace.know()
    trace.asked()
    trace.hear()
    trace.allowed()
    trace.hear({ valid_for_ms: 0 })
    trace.asked()
  },
  'a lost stream goes on from its position, and the promise counts until its end': (trace) => {
    trace.follow()
    trace.know()
    trace.hear(changed(11))
    trace.wait(1_000)
    trace.begin({ after: [11, 1_000_011], basis: 'keys' })
    trace.allowed()
    trace.wait(100)
    trace.hear(changed(12, { user_ids: ['somebody'] }, { rules: 'shipped', sent_at_ms: 7 }))
    trace.wait(4_899)
    trace.allowed()
    trace.wait(1)
    trace.asked()
  },
  'everything is void after other keys': (trace) => {
    trace.follow()
    trace.know()
    trace.begin({ after: [10, 1_000_010], basis: 'keys' })
    trace.hear({ rules: 'shipped', voided: 'everything', basis: 'others' })
    trace.asked()
    trace.begin({ after: [10, 1_000_010], basis: 'others' })
  },
  'an answer that rests on other keys than the stream is not remembered': (trace) => {
    trace.follow()
    // Of a process that has not read yet that a key was withdrawn, and of one that does not say.
    for (const basis of ['withdrawn', '']) {
      trace.know(ASKED, { basis })
      trace.asked()
    }
    trace.know()
    trace.allowed()
    trace.hear({ basis: 'one more' })
    trace.allowed()
    trace.know(UNKNOWN, { token: { ...TOKEN, id: 't2' } })
    trace.asked(UNKNOWN)
    trace.know(UNKNOWN, { token: { ...TOKEN, id: 't2' }, basis: 'one more' })
    trace.allowed(UNKNOWN)
  },
  'an answer from before everything was void is not remembered': (trace) => {
    trace.follow()
    const asked = trace.asked()
    trace.hear({ voided: 'everything', position: [5, 2_000_005] })
    trace.learn(asked, { ...GENUINE, position: [11, 1_000_011] })
    trace.asked()
  },
  'an answer that is older than what was told is not remembered': (trace) => {
    trace.follow()
    const asked = trace.asked()
    trace.hear(changed(11, { token_ids: ['another'] }))
    trace.learn(asked, GENUINE)
    trace.asked()
    trace.know(ASKED, { position: [11, 7] })
    trace.asked()
    trace.know(ASKED, { position: [11, 1_000_011] })
    trace.allowed()
  },
  'an answer that is newer than what was told is remembered, until a change touches it': (trace) => {
    trace.follow()
    trace.know(ASKED, { position: [12, 1_000_012] })
    trace.allowed()
    trace.hear(changed(11))
    trace.allowed()
    trace.hear(changed(12, { accounts: ['1'] }))
    trace.asked()
  },
  'a token expires by the clock of the sidecar': (trace) => {
    trace.follow()
    trace.know(ASKED, { token: { ...TOKEN, expires_at_ms: trace.atMs + DAY_MS + 3_000 } })
    trace.wait(2_999)
    trace.allowed()
    trace.wait(1)
    trace.asked()
  },
  'where the sidecar does not say its time of day, a token that expires is asked about': (trace) => {
    const { hear } = trace
    trace.hear = (told, expect) => hear.call(trace, { ...told, time_of_day_ms: undefined } as never, expect)
    trace.follow()
    trace.know(ASKED, { token: { ...TOKEN, expires_at_ms: trace.atMs + DAY_MS + 3_000 } })
    trace.asked()
    trace.know(UNKNOWN)
    trace.allowed(UNKNOWN)
  },
  'a clock that goes backwards ends the stream, and all that is known': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ sent_at_ms: 1 }, 'refused')
    trace.asked()
    trace.begin()
    trace.hear({ rules: 'shipped', voided: 'everything' })
    trace.asked()
  },
  'a position that goes backwards ends the stream': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ position: [9, 1_000_009] }, 'refused')
    trace.asked()
  },
  'a position with another time ends the stream': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ position: [10, 5] }, 'refused')
    trace.asked()
  },
  'a stream that goes on from other keys is refused': (trace) => {
    trace.follow()
    trace.know()
    trace.begin({ after: [10, 1_000_010], basis: 'keys' })
    trace.hear({ rules: 'shipped', basis: 'others' }, 'refused')
    trace.asked()
  },
  'a response without a position is refused': (trace) => {
    trace.follow()
    trace.know()
    trace.hear({ position: null }, 'refused')
    trace.asked()
  },
  'a response without a time is refused': (trace) => {
    trace.begin()
    trace.hear({ sent_at_ms: null, rules: 'shipped', voided: 'everything' }, 'refused')
  },
  'what newer rules say in a way that is not known is asked about': (trace) => {
    trace.follow({ rules: 'newer' })
    const claims = { api: OPEN, kind: STATIC, scope: { account: '1' } }
    for (const question of [ASKED, claims]) {
      trace.learn(trace.asked(question), { ...GENUINE, reason: 'UNSPECIFIED', message: 'of a newer sidecar' })
      trace.asked(question)
    }
    const closed = { ...claims, api: CLOSED }
    trace.learn(trace.asked(closed), DENIAL)
    trace.check(closed, { allowed: false, reason: DENIAL.reason, message: DENIAL.message })
  },
  'where the clock of the sidecar is set back, tokens expire by that': (trace) => {
    trace.follow()
    const expiresAtMs = trace.atMs + DAY_MS + 3_000
    trace.know(ASKED, { token: { ...TOKEN, expires_at_ms: expiresAtMs } })
    trace.wait(3_000)
    trace.asked()
    trace.hear({ time_of_day_ms: expiresAtMs - 1_000 })
    trace.allowed()
    trace.wait(1_000)
    trace.asked()
  },
  'another token with the same value takes its place': (trace) => {
    trace.follow()
    trace.know({ ...ASKED, address: 'a' })
    trace.know({ ...ASKED, address: 'b' }, { token: { ...TOKEN, id: 't2' } })
    trace.asked({ ...ASKED, address: 'a' })
    trace.allowed({ ...ASKED, address: 'b' })
  },
}

/** Options that a client may get when it is made. */
const WITH_OPTIONS: readonly (readonly [string, object, (trace: Trace) => void])[] = [
  [
    'of some accounts, the tokens of others are not remembered',
    { accounts: ['1'] },
    (trace) => {
      trace.begin({ accounts: ['1'] })
      trace.hear({ rules: 'shipped', voided: 'everything' })
      trace.know()
      trace.allowed()
      trace.know(UNKNOWN, { token: { ...TOKEN, id: 't2', account: '2' } })
      trace.asked(UNKNOWN)
    },
  ],
  [
    'of one token that may be known, it is the last one',
    { tokens_max: 1 },
    (trace) => {
      trace.follow()
      trace.know()
      trace.know(UNKNOWN, { token: { ...TOKEN, id: 't2' } })
      trace.allowed(UNKNOWN)
      trace.asked()
    },
  ],
]

export function* traces(): Generator<object> {
  for (const [name, tell] of Object.entries(TRACES)) yield told(name, {}, tell)
  for (const [name, options, tell] of WITH_OPTIONS) yield told(name, options, tell)
}

/** The same with that many APIs. */
/** @param rules in parts, as the sidecar sends them */
export function* largeTrace(rules: readonly string[], apis: number): Generator<object> {
  yield told(`a matrix of ${apis} APIs`, {}, (trace) => {
    trace.begin()
    trace.hear({ voided: 'everything', valid_for_ms: null })
    for (const part of rules.slice(0, -1)) trace.hearPart(part)
    trace.hear({ rules: rules.at(-1) ?? '' })
    trace.know({ ...ASKED, api: 'api-2' })
    // Every third one accepts a static token.
    for (const number of [5, apis - 5, apis - 2]) {
      const api = `api-${number}`
      const { message = '' } =
        ENGINES.many?.decide({ api: 'api-2', kind: STATIC, scope: { account: '1' } }) ?? {}
      trace.check(
        { ...ASKED, api },
        { allowed: true, reason: 'ALLOWED', message: message.replace('api-2', api) },
      )
    }
  })
}

function told(name: string, options: object, tell: (trace: Trace) => void): object {
  const trace = new Trace()
  tell(trace)
  return { name, options, steps: trace.steps }
}
