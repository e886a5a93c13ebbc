/** A trace as it is written down, and what most of them are about. */
import { ENGINES } from './rules.ts'

/** Number and time of a position. */
type Position = readonly [change: number, recordedAtMs: number]

export interface Told {
  readonly position?: Position | null
  /** Name of a file. */
  readonly rules?: string
  /** Name of a file. */
  readonly rules_part?: string
  readonly voided?: 'everything' | { readonly [what: string]: readonly string[] }
  readonly valid_for_ms?: number | null
  readonly sent_at_ms?: number | null
  readonly basis?: string
  readonly time_of_day_ms?: number
}

export interface Token {
  readonly id: string
  readonly kind: string
  readonly account: string
  readonly project?: string
  readonly project_id?: string
  readonly user: string
  readonly derived_from?: readonly string[]
  readonly expires_at_ms?: number
}

export interface Answer {
  /** Default: whether the reason is `ALLOWED`. */
  readonly allowed?: boolean
  /** `UNSPECIFIED`: a number that no client knows; empty: none. */
  readonly reason: string
  readonly message?: string
  readonly header?: string
  readonly verified?: boolean
  readonly token?: Token
  readonly position?: Position
  readonly basis?: string
  /** Whether it was decided by the rules that the client has. Default: true. */
  readonly same_rules?: boolean
  /** The route that was found for a `request`. */
  readonly route?: Route
}

export interface Route {
  readonly api?: string
  readonly target?: Scope
  readonly refused?: string
}

interface Scope {
  readonly account: string
  readonly project?: string
}

export interface Question {
  /** Default: the routes say it for `request`. */
  readonly api?: string
  readonly request?: { readonly method: string; readonly host: string; readonly path: string }
  readonly headers?: readonly (readonly [string, string])[]
  readonly kind?: string
  readonly scope?: Scope
  readonly target?: Scope
  readonly address?: string
}

export type Expected =
  | 'ask'
  | {
      readonly allowed: boolean
      readonly reason: string
      readonly message: string
      /** Absent: none. */
      readonly advice?: readonly string[]
      readonly route?: Route
    }

/** Writes the steps of a trace down. Times are in milliseconds on the clock of the client. */
export class Trace {
  readonly steps: object[] = []
  atMs = 1_000
  /** How far the wall clock of the client is ahead of the monotonic one. */
  wallAheadMs = 0

  begin(
    expect: {
      readonly accounts?: readonly string[]
      readonly after?: Position
      readonly basis?: string
    } = {},
  ) {
    const { accounts = [], after = null, basis = '' } = expect
    this.#add({ begin: {}, expect: { accounts, after, basis } })
  }

  /** A response that was sent now, unless it says otherwise; the clock of the sidecar is 500 s ahead. */
  hear(told: Told = {}, expect: 'followed' | 'left' | 'refused' = 'followed'): void {
    const defaults = {
      position: POSITION,
      valid_for_ms: 5_000,
      sent_at_ms: this.atMs + 500_000,
      basis: 'keys',
    }
    this.#add({ hear: { ...defaults, time_of_day_ms: this.atMs + DAY_MS, ...told }, expect })
  }

  /** A response that has a part of rules, and nothing else. */
  hearPart(name: string): void {
    this.#add({ hear: { rules_part: name }, expect: 'followed' })
  }

  /** @returns the number of the step, for `learn` */
  check(question: Question, expect: Expected): number {
    return this.#add({ check: question, expect })
  }

  /** @param expect what the program is answered */
  learn(of: number, answer: Answer, expect?: { readonly allowed: boolean; readonly reason: string }): void {
    this.#add({ learn: { of, ...answer }, ...(expect && { expect }) })
  }

  wait(ms: number): void {
    this.atMs += ms
  }

  /** The machine of the client sleeps, or its wall clock is set. */
  jump(ms: number): void {
    this.wallAheadMs += ms
  }

  /** The client follows, and everything is void. */
  follow(told: Told = {}): void {
    this.begin()
    this.hear({ rules: 'shipped', voided: 'everything', ...told })
  }

  /** It asks about the token and learns that it is genuine. */
  know(question: Question = ASKED, answer: Partial<Answer> = {}): void {
    this.learn(this.check(question, 'ask'), { ...GENUINE, ...answer })
  }

  allowed(question: Question = ASKED): void {
    this.check(question, { allowed: true, reason: 'ALLOWED', message: messageOf(question.api ?? '') })
  }

  asked(question: Question = ASKED): number {
    return this.check(question, 'ask')
  }

  /** A plain request with the token. @param more further headers */
  requested(path: string, ...more: readonly (readonly [string, string])[]): Question {
    const request = { method: 'GET', host: 'api.example.com', path }
    return { request, headers: [...TOKEN_HEADERS, ...more] }
  }

  /** It answers by that route; a denial, when it has learnt how the sidecar says it. */
  found(
    path: string,
    route: Route,
    denial?: Partial<Answer>,
    ...more: readonly (readonly [string, string])[]
  ): void {
    const question = this.requested(path, ...more)
    const { api = '', target } = route
    const decided = ENGINES.shipped?.decide({ api, kind: STATIC, scope: { account: '1' }, target })
    const { allowed = false, reason = '', message = '' } = decided ?? {}
    if (allowed !== (denial === undefined))
      throw new Error(`${path}: expected another route, found ${reason}`)
    const said = denial === undefined ? { reason, message } : { reason, message: denial.message ?? '' }
    if (denial !== undefined && denial !== DENIAL)
      this.learn(this.asked(question), { ...GENUINE, ...said, route })
    this.check(question, { allowed, ...said, route })
  }

  #add(step: object): number {
    const ahead = this.wallAheadMs !== 0 && { wall_ms: this.atMs + this.wallAheadMs }
    this.steps.push({ at_ms: this.atMs, ...ahead, ...step })
    return this.steps.length - 1
  }
}

/** The beginning of the time of day on the clock of the client: some day in 2026. */
export const DAY_MS = 1_790_000_000_000
const POSITION: Position = [10, 1_000_010]

export const STATIC = 'static_token'
export const TOKEN: Token = { id: 't1', kind: STATIC, account: '1', user: 'u1' }
export const GENUINE: Answer = {
  ...{ reason: 'ALLOWED', verified: true, token: TOKEN },
  ...{ position: POSITION, basis: 'keys' },
}
/** An API that a static token opens, and another one. */
export const [OPEN = '', OPEN_TOO = ''] = apisThat(true)
export const [CLOSED = ''] = apisThat(false)
export const TOKEN_HEADERS = [['X-Token', 'one']] as const
export const ASKED: Question = { api: OPEN, headers: TOKEN_HEADERS }
export const UNKNOWN: Question = { api: OPEN, headers: [['X-Token', 'two']] }
export const DENIAL = { reason: 'TOKEN_KIND_NOT_ACCEPTED', message: 'no such kind here', header: 'X-Token' }

function apisThat(open: boolean): string[] {
  const { shipped } = ENGINES
  return [...(shipped?.apis.values() ?? [])]
    .filter(({ accepted }) => accepted.some(({ kind }) => kind === STATIC) === open)
    .map(({ id }) => id)
}

export function messageOf(api: string): string {
  return ENGINES.shipped?.decide({ api, kind: STATIC, scope: { account: '1' } }).message ?? ''
}

export const changed = (change: number, voided?: Told['voided'], more: Told = {}): Told => ({
  position: [change, 1_000_000 + change],
  ...(voided !== undefined && { voided }),
  ...more,
})
