/**
 * Hostile questions in numbers: each gets a decision that the engine lists, and none opens what the source's
 * table does not. By hand, for as long as you like: DECIDE_CALLS=120000000 npx vitest run
 * test/engine/hostile.test.ts
 */
import { expect, test } from 'vitest'
import type { Decision, Engine, Question } from '../../engine/index.ts'
import { INHERITED_NAMES, throwingGetters, throwingProxy } from '../support/inputs/hostile-values.ts'
import { randomFrom } from '../support/inputs/random.ts'
import { engine, strictEngine } from '../support/matrices/engines.ts'
import { cells, printedApis, printedKinds } from '../support/matrices/oracle.ts'

const CALLS = Number(process.env.DECIDE_CALLS ?? 200_000)
const SEED = Number(process.env.DECIDE_SEED ?? 1)

const random = randomFrom(SEED)
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T

const opening = new Set(cells().flatMap(({ api, kind, accepted }) => (accepted ? [`${api} ${kind}`] : [])))

/** Ids in every shape that is not a string, and texts that come near. */
const nearly = (id: string): unknown[] => [
  ...[`${id} `, ` ${id}`, `${id}\0`, id.toUpperCase(), id.slice(1), id.normalize('NFKD').concat('\u0301')],
  ...[[id], new String(id), { toString: () => id }, { [Symbol.toPrimitive]: () => id }, Symbol.for(id)],
]
const NOTHING: readonly unknown[] = [
  ...[undefined, null, '', 0, -0, 1n, Number.NaN, true, [], {}, () => 'iam', Symbol.iterator],
  ...[throwingProxy(), throwingGetters('account', 'project'), ...INHERITED_NAMES],
]
// Half of the time a value is a real one, so that the others reach every step of the rule.
const ids = (real: readonly string[]) => [real, [...real.flatMap(nearly), ...NOTHING]] as const
const APIS = ids(printedApis())
const KINDS = ids(printedKinds())
const ACCOUNTS = ids(['123456', '654321'])
const PROJECTS = ids(['alpha', 'beta'])
const HOLDERS = ids(['control_panel_user', 'service_user'])

const drawn = ([real, hostile]: readonly [readonly unknown[], readonly unknown[]]): unknown =>
  oneOf(random() < 0.7 ? real : hostile)

function drawnScope(): unknown {
  const kind = random()
  if (kind < 0.1) return oneOf(NOTHING)
  const scope = { account: drawn(ACCOUNTS), ...(kind < 0.6 && { project: drawn(PROJECTS) }) }
  // An inherited field is not part of a scope.
  if (kind > 0.95) return Object.create(scope)
  return kind > 0.9 ? Object.assign(() => {}, scope) : scope
}

/**
 * Gives another value at each reading, like an attacker who shows one to a check and the other one to its
 * use.
 */
function changing(question: object, name: string, values: unknown[], another: unknown): void {
  values.push(another)
  let read = 0
  Object.defineProperty(question, name, { get: () => values[read++ % values.length] })
}

/** A question, and the pairs of API and kind that it could mean. */
function drawnQuestion(): {
  readonly question: Question
  readonly apis: unknown[]
  readonly kinds: unknown[]
} {
  const [apis, kinds] = [[drawn(APIS)], [drawn(KINDS)]]
  const question: Record<string, unknown> = { api: apis[0], kind: kinds[0], scope: drawnScope() }
  if (random() < 0.5) question.target = drawnScope()
  if (random() < 0.3) question.holder = drawn(HOLDERS)
  if (random() < 0.05) changing(question, 'api', apis, drawn(APIS))
  if (random() < 0.05) changing(question, 'kind', kinds, drawn(KINDS))
  return { question: question as unknown as Question, apis, kinds }
}

test.each<[mode: string, engine: Engine]>([
  ['default', engine],
  ['strict', strictEngine],
])(`${CALLS / 2} hostile questions, in %s mode`, { timeout: 0 }, (_mode, asked) => {
  const known = new Set<Decision>(asked.decisions())
  const reasons = new Set<string>()
  for (let call = 0; call < CALLS / 2; call++) {
    const { question, apis, kinds } = drawnQuestion()
    const decision = asked.decide(question)
    reasons.add(decision.reason)
    if (!known.has(decision)) throw new Error(`call ${call} of seed ${SEED}: an unknown decision`)
    if (decision.allowed && !apis.some((api) => kinds.some((kind) => opens(api, kind))))
      throw new Error(`call ${call} of seed ${SEED}: allowed ${String(apis)} for ${String(kinds)}`)
  }
  // The hostile questions reached every fault that `decide` knows.
  const strictOnly = asked === strictEngine ? ['CONTESTED'] : []
  expect([...reasons].sort()).toEqual(
    [
      ...['ALLOWED', 'ACCOUNT_MISMATCH', 'INVALID_SCOPE', 'PROJECT_MISMATCH', 'TOKEN_KIND_NOT_ACCEPTED'],
      ...['UNKNOWN_API', 'UNKNOWN_TOKEN_KIND', ...strictOnly],
    ].sort(),
  )
})

function opens(api: unknown, kind: unknown): boolean {
  return typeof api === 'string' && typeof kind === 'string' && opening.has(`${api} ${kind}`)
}
