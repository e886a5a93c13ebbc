/** Traces in which an answer and the rules disagree: nothing is learned, and the token is forgotten. */
import { REASONS } from '../../../engine/index.ts'
import { ENGINES, MOVED } from './rules.ts'
import {
  type Answer,
  ASKED,
  CLOSED,
  DENIAL,
  GENUINE,
  OPEN,
  type Question,
  STATIC,
  TOKEN,
  type Token,
  type Trace,
} from './trace.ts'

const HERE = '192.0.2.1'
const THERE = '192.0.2.2'
const IAM = 'iam_token_account_scoped'
const OF_PROJECT = 'iam_token_project_scoped'
/** APIs that take tokens of an account alone, of a project alone, and both of them in one header. */
const [ACCOUNT_API, PROJECT_API, ANY_API] = ['audit-logs', 'certificates', 'cloud-quotas']
const CONTESTED = [...(ENGINES.shipped?.apis.keys() ?? [])].find(
  (api) =>
    ENGINES['shipped-strict']?.decide({ api, kind: STATIC, scope: { account: '1' } }).reason === 'CONTESTED',
)

/** All that an answer can say, whether or not it makes sense. */
function* combinations() {
  const either = [true, false]
  for (const reason of [...REASONS, 'UNSPECIFIED', ''])
    for (const allowed of either)
      for (const verified of either)
        for (const hasToken of either)
          for (const isSame of either) yield { reason, allowed, verified, hasToken, isSame }
}

type Combination = ReturnType<typeof combinations> extends Generator<infer Each> ? Each : never

/** The fate of a token that opens the API, after such an answer about it at another address. */
function fateOf({ reason, allowed, verified, hasToken, isSame }: Combination) {
  const isLearned = hasToken && isSame && allowed === verified
  if (isLearned && allowed && reason === 'ALLOWED') return { here: 'allowed', there: 'allowed' }
  if (isLearned && !allowed && reason === 'ADDRESS_NOT_ALLOWED') return { here: 'allowed', there: 'denied' }
  const isOver = reason === 'CREDENTIAL_EXPIRED' || reason === 'CREDENTIAL_REVOKED'
  return { here: 'ask', there: isLearned && !allowed && isOver ? 'denied' : 'ask' }
}

/** Such an answer, and what a program makes of it. */
function said({ reason, allowed, verified, isSame, hasToken }: Combination, token: Token) {
  const answer = { reason, allowed, verified, message: `words of ${reason}`, position: GENUINE.position }
  return [
    { ...answer, basis: 'keys', ...(hasToken && { token }), ...(!isSame && { same_rules: false }) } as Answer,
    { allowed: allowed && reason === 'ALLOWED', reason: reason || 'UNSPECIFIED' },
  ] as const
}

/** A question, the state of the token that the memory knows, and an answer about it elsewhere. */
interface Row {
  readonly question?: Question
  readonly known?: Partial<Token>
  readonly answer: Partial<Answer>
  /** The question there, if it is another one. */
  readonly asked?: Question
  readonly rules?: string
}

const iam = (api: string): Question => ({ api, headers: [['X-Auth-Token', 'one']] })
const badge = (value: string): Question => ({
  api: 'catalogue',
  headers: [['Authorization', `Bearer ${value}`]],
})
const project = { kind: OF_PROJECT, project: 'p', project_id: 'p1' }
const other: Question = { ...ASKED, target: { account: '2' } }

const DISAGREEING: Readonly<Record<string, Row>> = {
  'a kind that the API does not take': {
    ...{ question: iam(ACCOUNT_API), known: { kind: IAM } },
    answer: { token: { ...TOKEN, ...project } },
  },
  'a kind that is not in the matrix': { answer: { token: { ...TOKEN, kind: 'no_such_kind' } } },
  'a kind whose tokens are in another place': {
    ...{ question: iam('balance'), known: { kind: IAM } },
    answer: { token: TOKEN },
  },
  'a kind whose tokens begin otherwise': {
    ...{ rules: 'library', question: badge('stf_one'), known: { kind: 'staff_badge' } },
    answer: { token: { ...TOKEN, kind: 'branch_badge', project: 'p', project_id: 'p1' } },
  },
  'no account': { answer: { token: { ...TOKEN, account: '' } } },
  'no account, which the rules would deny': {
    answer: { reason: 'INVALID_SCOPE', token: { ...TOKEN, account: '' } },
  },
  'a scope of another level': { answer: { token: { ...TOKEN, project: 'p', project_id: 'p1' } } },
  'no id': { answer: { token: { ...TOKEN, id: '' } } },
  'no holder': { answer: { token: { ...TOKEN, user: '' } } },
  'a project without its id': {
    ...{ question: iam(PROJECT_API), known: project },
    answer: { token: { ...TOKEN, ...project, project_id: '' } },
  },
  'that a token opens what belongs to others': { asked: other, answer: {} },
  'another denial than that of the rules': { asked: other, answer: { reason: 'PROJECT_MISMATCH' } },
  'a denial where the rules have none': { answer: { reason: 'ACCOUNT_MISMATCH' } },
  'that a contested cell is open': {
    ...{ rules: 'shipped-strict', asked: { ...ASKED, api: CONTESTED ?? '' } },
    ...{ question: iam(ACCOUNT_API), known: { kind: IAM } },
    answer: { token: TOKEN },
  },
  'that an API is unknown which the rules have': { answer: { ...nothing('UNKNOWN_API'), same_rules: true } },
  'that an unknown API is open': { asked: { ...ASKED, api: 'no-such-api' }, answer: {} },
}

/** Nothing of the token. */
function nothing(reason: string) {
  return {
    reason,
    verified: false,
    token: undefined,
    position: undefined,
    basis: undefined,
  } as never as Answer
}

/** It knows the token here, asks about it there, and gets an answer. */
function tell(trace: Trace, { question = ASKED, known, answer, asked = question, rules }: Row) {
  if (trace.steps.length > 0) trace.hear({ voided: 'everything' })
  else trace.follow(rules === undefined ? {} : { rules })
  const token = { ...TOKEN, ...known }
  trace.know({ ...question, address: HERE }, { token })
  trace.learn(trace.asked({ ...asked, headers: question.headers ?? [], address: THERE }), {
    ...{ ...GENUINE, token },
    ...answer,
  })
}

const ENCODED = '/else/%77here'
/** The routes in an answer about a request, and whether the client has found one itself. */
const REQUESTS: Readonly<
  Record<string, { readonly path: string; readonly answer: Partial<Answer>; readonly isKnown?: boolean }>
> = {
  'another API than the routes have': { path: '/else/where', answer: { route: { api: 'statistics' } } },
  'another target than the routes have': {
    path: '/else/where',
    answer: { route: { api: 'balance', target: { account: '1' } } },
  },
  'no route where the routes have one': {
    path: '/else/where',
    answer: { ...nothing('UNKNOWN_API'), same_rules: false, route: { refused: 'NO_ROUTE' } },
  },
  'no word of the routes': { path: '/else/where', answer: {} },
  'a refusal': {
    ...{ path: ENCODED, isKnown: true },
    answer: { ...nothing('UNKNOWN_API'), same_rules: false, route: { refused: 'NOT_CANONICAL' } },
  },
  'a refusal of an older sidecar, which has no routes': {
    ...{ path: ENCODED, isKnown: true },
    answer: nothing('UNKNOWN_API'),
  },
  'a refusal that allows': {
    path: ENCODED,
    answer: { ...nothing('UNKNOWN_API'), allowed: true, route: { refused: 'NOT_CANONICAL' } },
  },
  'a refusal without its reason': {
    path: ENCODED,
    answer: { ...nothing(''), route: { refused: 'NOT_CANONICAL' } },
  },
  'a refusal that vouches for the token': {
    path: ENCODED,
    answer: { reason: 'UNKNOWN_API', route: { refused: 'NOT_CANONICAL' } },
  },
  'a refusal that names an API': {
    path: ENCODED,
    answer: { route: { api: 'balance', refused: 'NOT_TODAY' } },
  },
}

export const DISAGREEING_TRACES: Readonly<Record<string, (trace: Trace) => void>> = {
  'of all that can be said of a credential, what the rules would have said is learned': (trace) => {
    trace.follow()
    for (const [index, combination] of [...combinations()].entries()) {
      const token = { ...TOKEN, id: `t${index}` }
      const at = (address: string): Question => ({ api: OPEN, headers: [['X-Token', `v${index}`]], address })
      trace.know(at(HERE), { token })
      trace.learn(trace.asked(at(THERE)), ...said(combination, token))
      const fate = fateOf(combination)
      for (const [address, what] of [
        [HERE, fate.here],
        [THERE, fate.there],
      ] as const) {
        if (what === 'allowed') trace.allowed(at(address))
        else if (what === 'ask') trace.asked(at(address))
        else
          trace.check(at(address), {
            ...{ allowed: false, reason: combination.reason },
            message: `words of ${combination.reason}`,
          })
      }
    }
  },
  'of all that can be said of claims, the words of the denial are learned that the rules have': (trace) => {
    trace.follow()
    const claims = { api: CLOSED, kind: STATIC, scope: { account: '1' } }
    for (const combination of combinations()) {
      const { reason, allowed, verified, hasToken, isSame } = combination
      trace.learn(trace.asked(claims), ...said(combination, TOKEN))
      if (reason !== DENIAL.reason || allowed || verified || hasToken || !isSame) continue
      trace.check(claims, { allowed: false, reason, message: `words of ${reason}` })
      trace.hear({ rules: 'shipped' })
    }
    trace.asked(claims)
  },
  ...Object.fromEntries(
    Object.entries(DISAGREEING).map(([name, row]) => [
      `a token is unknown after an answer that says ${name}`,
      (trace: Trace) => {
        tell(trace, row)
        const { question = ASKED, asked = question } = row
        trace.asked({ ...question, address: HERE })
        trace.asked({ ...asked, headers: question.headers ?? [], address: THERE })
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(REQUESTS).map(([name, { path, answer, isKnown = false }]) => [
      `a token is ${isKnown ? 'known' : 'unknown'} after an answer to a request that says ${name}`,
      (trace: Trace) => {
        trace.follow({ rules: 'routed' })
        trace.know({ ...ASKED, address: HERE })
        trace.learn(trace.asked({ ...trace.requested(path), address: THERE }), { ...GENUINE, ...answer })
        if (isKnown) trace.allowed({ ...ASKED, address: HERE })
        else trace.asked({ ...ASKED, address: HERE })
        trace.asked({ ...ASKED, address: THERE })
      },
    ]),
  ),
  'what is not learned leaves what is known where it says nothing against the token': (trace) => {
    const { position: _, ...upstream } = GENUINE
    const rows: readonly Partial<Answer>[] = [
      { position: [9, 1_000_009] },
      { basis: 'others' },
      { ...upstream, position: undefined as never },
    ]
    for (const answer of rows) {
      tell(trace, { answer })
      trace.allowed({ ...ASKED, address: HERE })
      trace.asked({ ...ASKED, address: THERE })
    }
    tell(trace, { asked: { ...ASKED, api: 'no-such-api' }, answer: nothing('UNKNOWN_API') })
    trace.allowed({ ...ASKED, address: HERE })
  },
  'a fault that is not learned makes a token unknown': (trace) => {
    const fault = { reason: 'ADDRESS_NOT_ALLOWED', verified: false }
    for (const answer of [{ position: [9, 1_000_009] }, { basis: 'others' }] as const) {
      tell(trace, { answer: { ...fault, ...answer } })
      trace.asked({ ...ASKED, address: HERE })
    }
  },
  'what was asked before an answer that the rules would not have given is not learned after it': (trace) => {
    trace.follow()
    const [here, there] = [HERE, THERE].map((address) => trace.asked({ ...ASKED, address })) as [
      number,
      number,
    ]
    trace.learn(there, { ...GENUINE, reason: 'UNSPECIFIED', verified: false })
    trace.learn(here, GENUINE)
    trace.asked({ ...ASKED, address: HERE })
    trace.know({ ...ASKED, address: HERE })
    trace.allowed({ ...ASKED, address: HERE })
  },
  'what was asked before the rules is about the token that they find, and is not learned': (trace) => {
    const answers: readonly [answer: Partial<Answer>, isKnown: boolean][] = [
      [{}, true],
      [{ reason: 'UNSPECIFIED', verified: false }, false],
      [nothing('CREDENTIAL_MALFORMED'), false],
      [{ reason: 'CREDENTIAL_REVOKED', verified: false }, false],
    ]
    for (const [answer, isKnown] of answers) {
      if (trace.steps.length === 0) trace.begin()
      else {
        trace.begin({ after: [10, 1_000_010], basis: 'keys' })
        trace.hear({ position: [1, 1_000_001] }, 'refused')
        trace.begin()
      }
      const early = trace.asked()
      trace.hear({ rules: 'shipped', voided: 'everything' })
      trace.know()
      trace.learn(early, { ...GENUINE, ...answer })
      if (isKnown) trace.allowed()
      else trace.asked()
      const request = trace.asked(trace.requested('/else/%77here'))
      for (const rules of ['moved', 'routed']) trace.hear({ rules })
      trace.know()
      trace.learn(request, { ...GENUINE, ...answer, route: { api: 'balance' } })
      if (isKnown) trace.allowed()
      else trace.asked()
    }
  },
  'a token of which something else is said takes the place of the one that was known': (trace) => {
    const tokens = [
      { expires_at_ms: trace.atMs + 2_000_000_000_000 },
      { derived_from: ['root'] },
      { user: 'u2' },
      { id: 't2' },
    ]
    for (const more of tokens) {
      tell(trace, { answer: { token: { ...TOKEN, ...more } } })
      trace.asked({ ...ASKED, address: HERE })
      trace.allowed({ ...ASKED, address: THERE })
    }
    const message = 'no such kind of token'
    tell(trace, {
      answer: { reason: 'UNKNOWN_TOKEN_KIND', message, token: { ...TOKEN, kind: 'no_such_kind' } },
    })
    trace.asked({ ...ASKED, address: HERE })
    trace.check({ ...ASKED, address: THERE }, { allowed: false, reason: 'UNKNOWN_TOKEN_KIND', message })
  },
  'a token that expired in 1970 has expired': (trace) => {
    trace.follow()
    for (const expiresAtMs of [0, -1]) {
      trace.know(ASKED, { token: { ...TOKEN, expires_at_ms: expiresAtMs } })
      trace.asked()
    }
  },
  'the words of an answer that the rules would not have given are not learned': (trace) => {
    const closed = { ...ASKED, api: CLOSED, address: HERE }
    tell(trace, { asked: closed, answer: { ...DENIAL, verified: false } })
    trace.know({ ...ASKED, address: HERE })
    trace.asked(closed)
  },
  'new rules that have a kind in another place, or with another prefix, make its tokens unknown': (trace) => {
    trace.follow()
    const ofProject = (value: string): Question => ({ api: PROJECT_API, headers: [['X-Auth-Token', value]] })
    trace.know()
    for (const value of ['plain', 'prj_two'])
      trace.know(ofProject(value), { token: { ...TOKEN, ...project, id: value } })
    const asked = trace.asked({ ...ASKED, headers: [['X-Token', 'late']] })
    trace.hear({ rules: 'moved' })
    trace.asked()
    trace.asked(ofProject('plain'))
    const { message } = MOVED.decide({
      api: PROJECT_API,
      kind: OF_PROJECT,
      scope: { account: '1', project: 'p' },
    })
    trace.check(ofProject('prj_two'), { allowed: true, reason: 'ALLOWED', message })
    // Of a sidecar that has the new rules, about what was found by the old ones.
    trace.learn(asked, { ...GENUINE, token: { ...TOKEN, id: 'late' } })
    trace.hear({ rules: 'shipped' })
    trace.asked({ ...ASKED, headers: [['X-Token', 'late']] })
    trace.asked()
  },
  'what an API of both levels takes is learned as it is': (trace) => {
    trace.follow()
    const question = iam(ANY_API)
    for (const [id, kind] of [
      ['t1', { kind: IAM }],
      ['t2', project],
    ] as const) {
      trace.learn(trace.asked({ ...question, address: id }), { ...GENUINE, token: { ...TOKEN, id, ...kind } })
      const scope = { account: '1', ...('project' in kind && { project: kind.project }) }
      const { message = '' } = ENGINES.shipped?.decide({ api: ANY_API, kind: kind.kind, scope }) ?? {}
      trace.check({ ...question, address: id }, { allowed: true, reason: 'ALLOWED', message })
    }
    trace.asked({ ...question, address: 't1' })
  },
}
