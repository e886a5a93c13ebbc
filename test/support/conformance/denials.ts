/** The answer to the sender of a request that does not pass. */
import { denialOf, failureOf, refusalOf } from '../../../engine/denial.ts'
import { CREDENTIAL_REASONS, type Decision, REASONS } from '../../../engine/index.ts'
import { ENGINES } from './rules.ts'

export function* denials(): Generator<object> {
  const seen = new Set<string>()
  for (const decision of decisionsOfAll()) {
    const key = JSON.stringify([decision.reason, decision.accepted])
    if (decision.allowed || seen.has(key)) continue
    seen.add(key)
    const { reason, message, accepted, rulesDigest } = decision
    yield {
      answer: { reason, message, accepted, rules_digest: rulesDigest },
      ...answerOf(denialOf(decision)),
    }
  }
  for (const [reason, message] of [
    ['UNSPECIFIED', 'a reason of a newer sidecar'],
    ['ALLOWED', 'a denial that contradicts itself'],
  ] as const) {
    const said = { reason, message, accepted: [] }
    yield { answer: { ...said, rules_digest: '' }, ...answerOf(denialOf({ ...said, rulesDigest: '' })) }
  }
  for (const [refused, message] of REFUSALS)
    yield {
      answer: { reason: 'UNKNOWN_API', message, accepted: [], rules_digest: '', refused },
      ...answerOf(refusalOf(refused, message)),
    }
  const isSeen = REASONS.every(
    (reason) => reason === 'ALLOWED' || [...seen].some((key) => key.includes(reason)),
  )
  if (!isSeen) throw new Error('a reason has no row')
  for (const [code, reason] of FAILURES) {
    const isTemporary = code !== 'INVALID_ARGUMENT'
    const failure = failureOf(reason === '' ? code : reason, isTemporary ? '1' : undefined)
    yield { failure: { code, reason }, ...answerOf(isTemporary ? failure : failureOf('INTERNAL', undefined)) }
  }
}

/** Refusals by the routes. The last one is of a newer sidecar. */
const REFUSALS: readonly (readonly [refused: string, detail: string])[] = [
  ['NO_ROUTE', 'no route has this method, host and path'],
  ['NOT_CANONICAL', 'expected a path of letters and "…", without `;` and \\'],
  ['TARGET_NOT_FOUND', 'expected the account in one header x-account: 1 to 255 visible characters'],
  ['NOT_TODAY', 'expected a request of another day'],
]

/** Why there is no answer. */
const FAILURES: readonly (readonly [code: string, reason: string])[] = [
  ['UNAVAILABLE', ''],
  ['DEADLINE_EXCEEDED', ''],
  ['UNAVAILABLE', 'DIRECTORY_UNAVAILABLE'],
  ['UNAUTHENTICATED', 'CALLER_TOKEN_MISSING'],
  ['INVALID_ARGUMENT', 'REQUEST_INVALID'],
]

function* decisionsOfAll(): Generator<Decision> {
  const { shipped, 'shipped-strict': strict, smallest, library } = ENGINES
  for (const engine of [shipped, strict, smallest, library]) {
    if (engine === undefined) continue
    for (const api of [...engine.apis.keys(), 'no-such-api'])
      for (const kind of [...engine.tokenKinds.keys(), 'no_such_kind']) {
        for (const fault of CREDENTIAL_REASONS) yield engine.deny(api, fault, kind)
        for (const scope of [{ account: '1' }, { account: '1', project: 'p' }, { account: '' }])
          for (const target of [undefined, { account: '2' }, { account: '1', project: 'q' }])
            yield engine.decide({ api, kind, scope, target })
      }
  }
}

function answerOf({ status, headers, body }: ReturnType<typeof denialOf> | ReturnType<typeof failureOf>) {
  return { status, headers: Object.fromEntries(headers), body: JSON.parse(body) as object }
}
