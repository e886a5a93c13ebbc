/** Asks the questions of policy tests, and compares the answers with what is expected. */

import type { Decision, Engine, Reason, Scope } from '../../engine/index.ts'
import type { Mode } from '../compare.ts'
import type { Coverage } from './coverage.ts'
import { Credentials, fittingScope } from './credential.ts'
import {
  type ApiTest,
  apisOf,
  countQuestions,
  headersText,
  isAbout,
  kindsOf,
  modesOf,
  type PolicyTest,
  type PolicyTests,
  type RequestTest,
  type TestHeaders,
} from './document.ts'

/** The API of a request, or why it has none. */
export type Routed =
  | { readonly refused: undefined; readonly api: string; readonly target: Scope | undefined }
  | { readonly refused: string; readonly detail: string }

/** Finds the API of a request. @param url a URL or a path, as it was written */
export type FindRoute = (method: string, url: string, headers: TestHeaders) => Routed

export interface Surroundings {
  readonly engines: Readonly<Record<Mode, Engine>>
  /** Mode of the tests where neither they nor their file name one. */
  readonly mode: Mode
  /** Absent: no test asks about a request. */
  readonly findRoute?: FindRoute | undefined
  readonly coverage?: Coverage | undefined
  /** Selects the tests that run. Default: all. */
  readonly filter?: string | undefined
}

/** A difference between an answer and the expected one. */
interface Difference {
  readonly what: 'answer' | 'accepted' | 'api' | 'target'
  readonly expected: string
  readonly found: string
}

/** A question that got another answer than expected. */
export interface Failure {
  /** For people: `balance × static_token`, or the request. */
  readonly question: string
  /** `both`: the answers are the same in both modes. */
  readonly mode: Mode | 'both'
  readonly differences: readonly Difference[]
  /** The message of the decision, or that of the routes where they refuse the request. */
  readonly message: string
}

export interface TestResult {
  /** Its place among the tests of the file, from 0. */
  readonly index: number
  readonly test: PolicyTest
  readonly questions: number
  /** How many of them got another answer than expected. */
  readonly failed: number
  /** The first of these. */
  readonly failures: readonly Failure[]
}

/** Most failures that a test describes. The others are counted. */
const FAILURES_MAX = 10

/** Runs the tests that the filter chooses, in their order. They have no problems (`testProblems`). */
export function runTests(tests: PolicyTests, surroundings: Surroundings): TestResult[] {
  const { engines, mode, filter } = surroundings
  const credentials = new Credentials(engines.lenient, tests.tokens ?? {})
  const results: TestResult[] = []
  for (const [index, test] of tests.tests.entries()) {
    if (filter !== undefined && !isAbout(test, filter)) continue
    const found = new Failures()
    const asking = new Asking(surroundings, modesOf(tests, test, mode), credentials, found)
    if (test.request === undefined) asking.api(test)
    else asking.request(test)
    const questions = countQuestions(tests, test, engines.lenient.tokenKinds.size)
    results.push({ index, test, questions, failed: found.count, failures: found.first })
  }
  return results
}

class Failures {
  count = 0
  readonly first: Failure[] = []

  /** @param describe is not called for a failure that is only counted */
  add(question: string, mode: Mode, describe: () => Pick<Failure, 'differences' | 'message'>): void {
    this.count++
    const last = this.first.at(-1)
    const isTwin = last?.question === question && last.mode !== mode
    // Survives: `!isTwin && this.first.length >= FAILURES_MAX` → `false`, `this.first.length >= FAILURES_MAX`
    // → `this.first.length > FAILURES_MAX`. It only spares to describe what is counted and not listed.
    if (!isTwin && this.first.length >= FAILURES_MAX) return
    const failure = { question, mode, ...describe() }
    if (isTwin && isAlike(last, failure)) this.first[this.first.length - 1] = { ...last, mode: 'both' }
    else if (this.first.length < FAILURES_MAX) this.first.push(failure)
  }
}

function isAlike(one: Failure, other: Failure): boolean {
  return (
    one.message === other.message && JSON.stringify(one.differences) === JSON.stringify(other.differences)
  )
}

/** The expectations of an answer. */
interface Wanted {
  /** `undefined`: either. */
  readonly allowed: boolean | undefined
  readonly reason: Reason | undefined
  readonly accepted: ReadonlySet<string> | undefined
}

function wantedOf({ allowed, reason, accepted }: PolicyTest): Wanted {
  return { allowed, reason, accepted: accepted && new Set(accepted) }
}

/** Asks the questions of a test, each in all of its modes. */
class Asking {
  readonly #engines: readonly Engine[]
  readonly #findRoute: FindRoute | undefined
  readonly #coverage: Coverage | undefined
  readonly #credentials: Credentials
  readonly #failures: Failures

  constructor(
    { engines, findRoute, coverage }: Surroundings,
    modes: readonly Mode[],
    credentials: Credentials,
    failures: Failures,
  ) {
    this.#engines = modes.map((mode) => engines[mode])
    this.#findRoute = findRoute
    this.#coverage = coverage
    this.#credentials = credentials
    this.#failures = failures
  }

  api(test: ApiTest): void {
    const wanted = wantedOf(test)
    const { headers, target, holder } = test
    if (headers !== undefined) {
      for (const api of apisOf(test)) this.#credential(api, { headers, target, wanted })
      return
    }
    const named = kindsOf(test)
    const { tokenKinds } = this.#engines[0] as Engine
    const kinds = named ?? [...tokenKinds.keys()]
    // A row of the table: `accepted` states each of its cells.
    const isRow = named === undefined && test.allowed === undefined && test.reason === undefined
    const asked = kinds.map((kind) => ({
      kind,
      scope: test.scope ?? fittingScope(tokenKinds, kind),
      // Survives: `wanted.accepted?.has` → `wanted.accepted.has`. Tests that expect nothing are refused
      // before.
      wanted: isRow ? { ...NOTHING, allowed: wanted.accepted?.has(kind) === true } : wanted,
    }))
    for (const api of apisOf(test))
      for (const { kind, scope, wanted } of asked)
        for (const engine of this.#engines) {
          const decision = engine.decide({ api, kind, scope, target, holder })
          this.#coverage?.add(modeOf(engine), api, kind, decision.reason)
          if (!meets(wanted, engine, api, decision))
            this.#fail(`${api} × ${kind}`, wanted, engine, api, decision)
        }
  }

  request(test: RequestTest): void {
    const { request, headers = {}, refused } = test
    const space = request.indexOf(' ')
    const routed = this.#findRoute?.(request.slice(0, space), request.slice(space + 1), headers)
    if (routed === undefined) throw new TypeError('expected routes to find the requests by')
    const fail = (found: string, message: string) => {
      const differences = [{ what: 'answer', expected: answerWanted(test), found }] as const
      for (const engine of this.#engines)
        this.#failures.add(request, modeOf(engine), () => ({ differences, message }))
    }
    if (routed.refused !== undefined) {
      const fits = refused === undefined ? isDenialAlone(test) : refused === routed.refused
      if (!fits) fail(`refused by the routes: ${routed.refused}`, routed.detail)
      return
    }
    const { api, target } = routed
    if (refused !== undefined) {
      fail(`routed to ${api}`, 'the routes find an API')
      return
    }
    const differences: Difference[] = []
    if (test.api !== undefined && test.api !== api)
      differences.push({ what: 'api', expected: test.api, found: api })
    if (test.target !== undefined && !isSame(test.target, target))
      differences.push({ what: 'target', expected: scopeText(test.target), found: scopeText(target) })
    this.#credential(api, { headers, target, wanted: wantedOf(test), question: request, differences })
  }

  #credential(
    api: string,
    { headers, target, wanted, question = `${api} × ${headersText(headers)}`, differences = NONE }: Sent,
  ): void {
    for (const engine of this.#engines) {
      const { decision, kind } = this.#credentials.decide(engine, api, headers, target)
      this.#coverage?.add(modeOf(engine), api, kind, decision.reason)
      if (differences.length > 0 || !meets(wanted, engine, api, decision))
        this.#fail(question, wanted, engine, api, decision, differences)
    }
  }

  #fail(
    question: string,
    wanted: Wanted,
    engine: Engine,
    api: string,
    decision: Decision,
    others: readonly Difference[] = NONE,
  ): void {
    this.#failures.add(question, modeOf(engine), () => ({
      differences: [...others, ...differencesOf(wanted, engine, api, decision)],
      message: decision.message,
    }))
  }
}

/** A credential among headers, and the expected result. */
interface Sent {
  readonly headers: TestHeaders
  readonly target: Scope | undefined
  readonly wanted: Wanted
  readonly question?: string
  /** The unexpected results of the routes. */
  readonly differences?: readonly Difference[]
}

function modeOf({ strict }: Engine): Mode {
  return strict ? 'strict' : 'lenient'
}

function meets(
  { allowed, reason, accepted }: Wanted,
  engine: Engine,
  api: string,
  decision: Decision,
): boolean {
  if (reason !== undefined && decision.reason !== reason) return false
  if (allowed !== undefined && decision.allowed !== allowed) return false
  if (accepted === undefined) return true
  const found = acceptedOf(engine, api, decision)
  return found.length === accepted.size && found.every(({ kind }) => accepted.has(kind))
}

/** The kinds that open the API. A decision lists them where they are of use: on a denial. */
function acceptedOf({ apis }: Engine, api: string, decision: Decision): Decision['accepted'] {
  // Survives: `apis.get(api)?.accepted` → `apis.get(api).accepted`. An allowed flip is about an API that is
  // there.
  return decision.allowed ? (apis.get(api)?.accepted ?? NONE) : decision.accepted
}

function differencesOf(wanted: Wanted, engine: Engine, api: string, decision: Decision): Difference[] {
  const differences: Difference[] = []
  const { accepted } = wanted
  if (!meets({ ...wanted, accepted: undefined }, engine, api, decision))
    differences.push({
      what: 'answer',
      expected: answerWanted(wanted),
      found: decision.allowed ? 'allowed' : `denied: ${decision.reason}`,
    })
  // Survives: `accepted !== undefined` → `true`. Without expected kinds every answer has them; and a field
  // that is undefined is as one that is absent.
  if (accepted !== undefined && !meets({ ...NOTHING, accepted }, engine, api, decision))
    differences.push({
      what: 'accepted',
      expected: idsText([...accepted]),
      found: idsText(acceptedOf(engine, api, decision).map(({ kind }) => kind)),
    })
  return differences
}

const NONE: readonly never[] = Object.freeze([])
// Survives: `{ allowed: undefined, reason: undefined, accepted: undefined }` → `{}`. Without expected kinds
// every answer has them; and a field that is undefined is as one that is absent.
const NOTHING: Wanted = { allowed: undefined, reason: undefined, accepted: undefined }

/** Whether a test asks for a denial, whatever the reason, and for nothing else. */
function isDenialAlone({ allowed, reason, accepted, api, target }: RequestTest): boolean {
  return allowed === false && [reason, accepted, api, target].every((each) => each === undefined)
}

interface AnswerWanted {
  readonly allowed?: boolean | undefined
  readonly reason?: Reason | undefined
  readonly refused?: string
}

function answerWanted({ allowed, reason, refused }: AnswerWanted): string {
  if (refused !== undefined) return `refused by the routes: ${refused}`
  if (reason !== undefined) return reason === 'ALLOWED' ? 'allowed' : `denied: ${reason}`
  if (allowed === undefined) return 'an API'
  return allowed ? 'allowed' : 'denied'
}

function isSame(one: Scope, other: Scope | undefined): boolean {
  return one.account === other?.account && one.project === other.project
}

function scopeText(scope: Scope | undefined): string {
  if (scope === undefined) return 'none'
  return `account ${scope.account}${scope.project === undefined ? '' : `, project ${scope.project}`}`
}

function idsText(ids: readonly string[]): string {
  return ids.length === 0 ? 'no kind' : ids.toSorted().join(', ')
}
