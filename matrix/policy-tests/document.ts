/**
 * Policy tests as a document: questions to a matrix, and the answers that they must get. The fields are
 * described in `sidecar/config/policy-tests.schema.json`.
 */
import type { CredentialReason, Reason, Scope } from '../../engine/index.ts'
import { MODES, type Mode } from '../compare.ts'

/** A document that fits the schema. Whether its ids are known is for `testProblems` to say. */
export interface PolicyTests {
  readonly title?: string
  readonly mode?: Mode | 'both'
  /** File with the routes, relative to that of the tests. */
  readonly routes?: string
  /** By the value of the header that carries them. */
  readonly tokens?: Readonly<Record<string, TestToken>>
  readonly tests: readonly PolicyTest[]
}

/** The token that a value of a credential header stands for. */
export interface TestToken {
  readonly kind?: string
  readonly scope?: Scope
  readonly holder?: string
  /** The fault that an authority finds, where it does not verify the token. */
  readonly fault?: CredentialReason
}

interface Expected {
  readonly name?: string
  readonly mode?: Mode | 'both'
  readonly allowed?: boolean
  readonly reason?: Reason
  /** Exactly the kinds that open the API, in any order. */
  readonly accepted?: readonly string[]
}

export type TestHeaders = Readonly<Record<string, string | readonly string[]>>

/** Asks about each of its APIs with each of its kinds, or with the credential among headers. */
export interface ApiTest extends Expected {
  readonly request?: undefined
  readonly api?: string
  readonly apis?: readonly string[]
  /** Without kinds and headers, every kind of the matrix is asked about. */
  readonly kind?: string
  readonly kinds?: readonly string[]
  readonly headers?: TestHeaders
  /** Default: some scope that fits the kind. */
  readonly scope?: Scope
  readonly target?: Scope
  readonly holder?: string
}

/** Asks about a request: its route, the credential among its headers, and the decision. */
export interface RequestTest extends Expected {
  /** `GET https://api.example.com/billing/items`, or a path in place of the URL. */
  readonly request: string
  readonly headers?: TestHeaders
  /** The API that the routes must find. */
  readonly api?: string
  readonly target?: Scope
  /** Why the routes must find nothing. */
  readonly refused?: string
}

export type PolicyTest = ApiTest | RequestTest

/** Most questions of a run. */
export const QUESTIONS_MAX = 10_000_000

export function apisOf({ api, apis }: ApiTest): readonly string[] {
  return apis ?? (api === undefined ? [] : [api])
}

/** The kinds that are named; `undefined`: none is. */
export function kindsOf({ kind, kinds }: ApiTest): readonly string[] | undefined {
  return kinds ?? (kind === undefined ? undefined : [kind])
}

/** In which modes a test is asked. @param fallback where neither it nor its file says */
export function modesOf(tests: PolicyTests, { mode }: PolicyTest, fallback: Mode): readonly Mode[] {
  const chosen = mode ?? tests.mode ?? fallback
  return chosen === 'both' ? MODES : [chosen]
}

/** How many questions a test asks. @param kinds how many the matrix has */
export function countQuestions(tests: PolicyTests, test: PolicyTest, kinds: number): number {
  const modes = (test.mode ?? tests.mode) === 'both' ? 2 : 1
  if (test.request !== undefined) return modes
  const each = test.headers !== undefined ? 1 : (kindsOf(test)?.length ?? kinds)
  return modes * apisOf(test).length * each
}

/** The title of a test: its name, or else its question. */
export function nameOf(test: PolicyTest): string {
  if (test.name !== undefined) return test.name
  if (test.request !== undefined) return test.request
  const what = test.headers === undefined ? some(kindsOf(test) ?? ['every kind']) : headersText(test.headers)
  return `${some(apisOf(test))} × ${what}`
}

/** The names of headers. Their values may be credentials. */
export function headersText(headers: TestHeaders): string {
  const names = Object.keys(headers)
  return names.length === 0 ? 'no headers' : some(names)
}

const NAMED_MAX = 3

function some(ids: readonly string[]): string {
  const more = ids.length - NAMED_MAX
  return `${ids.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Whether a test is about a text: it is part of its name, its request or one of its ids. Case is ignored. */
export function isAbout(test: PolicyTest, text: string): boolean {
  const lower = text.toLowerCase()
  const ids = test.request === undefined ? [apisOf(test), kindsOf(test)].flat() : [test.request, test.api]
  return [nameOf(test), ...ids].some((each) => each?.toLowerCase().includes(lower))
}
