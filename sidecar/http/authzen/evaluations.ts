/** Access Evaluation and Access Evaluations: may the subject do this? */

import type { Decision } from '../../../engine/index.ts'
import { invalidArgument } from '../../base/call-error.ts'
import type { HttpError } from '../../base/http/exchange.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { Slices } from '../../base/slices.ts'
import type { Asker } from '../../usecases/asker.ts'
import type { Clocked, Deciding } from '../../usecases/capabilities.ts'
import { checkClaims, checkCredentials, checkKind, type Verifying } from '../../usecases/check.ts'
import { type Answer, claimsAnswer, credentialsAnswer, errorAnswer, unknownAnswer } from './answers.ts'
import {
  type Entities,
  expectFields,
  type Fields,
  readDefaults,
  readEntities,
  type Subject,
} from './entities.ts'

/** The parts that answer a request. */
export interface Asked {
  /** With one engine for the whole request. */
  readonly services: Verifying & Clocked
  /** How long an answer may be reused, in milliseconds. */
  readonly cacheForMs: number
  /** Most evaluations in one request. */
  readonly evaluationsMax: number
  readonly asker: Asker
  /** The answer for an error, which is also logged. */
  readonly explain: (error: unknown) => HttpError
}

/** @throws CallError where the request is not valid, or nothing can be decided */
export function answerEvaluation(asked: Asked, body: Fields): MaybePromise<Answer> {
  return evaluate(asked, readEntities(body))
}

/** The decision that ends the evaluations, by `options.evaluations_semantic`. */
const ENDED_BY: Readonly<Record<string, boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
}

/**
 * A fault of one evaluation, or an error in it, is reported in its place: its decision is false.
 *
 * @throws CallError where the request as a whole is not valid
 */
export async function answerEvaluations(asked: Asked, body: Fields): Promise<object> {
  const { evaluations = [] } = body
  if (!Array.isArray(evaluations))
    throw invalidArgument({ field: 'evaluations', expected: 'an array, or none' })
  if (evaluations.length === 0) return answerEvaluation(asked, body)
  const { evaluationsMax } = asked
  if (evaluations.length > evaluationsMax)
    throw invalidArgument({
      field: 'evaluations',
      expected: `at most ${evaluationsMax} evaluations, found ${evaluations.length}`,
    })
  const defaults = readDefaults(body)
  const endedBy = ENDED_BY[readSemantic(body)]
  const answers: Promise<Answer>[] = []
  const slices = new Slices()
  for (const [index, item] of evaluations.entries()) {
    await slices.pause()
    const answer = answerItem(asked, item, `evaluations[${index}]`, defaults)
    answers.push(answer)
    if (endedBy !== undefined && (await answer).decision === endedBy) break
  }
  return { evaluations: await Promise.all(answers) }
}

/** The promise never fails, so that no error is left unhandled. */
async function answerItem(
  asked: Asked,
  item: unknown,
  field: string,
  defaults: Partial<Entities>,
): Promise<Answer> {
  try {
    return await evaluate(asked, readEntities(expectFields(item, field), { path: `${field}.`, defaults }))
  } catch (error) {
    return errorAnswer(error, asked.explain(error))
  }
}

function readSemantic({ options = {} }: Fields): string {
  const { evaluations_semantic: semantic = 'execute_all' } = expectFields(options, 'options')
  if (typeof semantic === 'string' && Object.hasOwn(ENDED_BY, semantic)) return semantic
  throw invalidArgument({
    field: 'options.evaluations_semantic',
    expected: `one of ${Object.keys(ENDED_BY).join(', ')}`,
  })
}

/** @throws CallError where nothing can be decided */
export function evaluate(
  { services, cacheForMs, asker }: Asked,
  { subject, action, resource, clientAddress }: Entities,
): MaybePromise<Answer> {
  const { engine, now } = services
  if (resource.type === 'unknown') return unknownAnswer('UNKNOWN_RESOURCE_TYPE', engine)
  if (action === 'unknown') return unknownAnswer('UNKNOWN_ACTION', engine)
  const { api, target } = resource
  switch (subject.type) {
    case 'token':
      return claimsAnswer(decideToken(services, subject, resource, asker), cacheForMs)
    case 'credential':
      return andThen(
        checkCredentials(services, { api, headers: subject.headers, target, clientAddress }, asker),
        (outcome) => credentialsAnswer(outcome, cacheForMs, now()),
      )
    case 'unknown':
      return unknownAnswer('UNKNOWN_SUBJECT_TYPE', engine)
  }
}

/**
 * Without a scope the question is about the kind, unless the owner of the resource must be compared with
 * something.
 */
export function decideToken(
  services: Deciding,
  { kind, scope }: Extract<Subject, { type: 'token' }>,
  { api, target }: Extract<Entities['resource'], { type: 'api' }>,
  { listener }: Pick<Asker, 'listener'>,
): Decision {
  return scope === undefined && target === undefined
    ? checkKind(services, { api, kind }, listener)
    : checkClaims(services, { api, kind, scope, target }, listener)
}
