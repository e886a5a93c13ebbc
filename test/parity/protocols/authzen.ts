/**
 * AuthZEN 1.0: single evaluations, several in one request, and the search for actions, which says why there
 * is none.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { api, CALL, credential, EVALUATION, EVALUATIONS, token } from '../../support/proxies/authzen.ts'
import type { RunningSidecar } from '../../support/sidecar/sidecar.ts'
import { type Answer, answerOfContract, everything, oneByOne, type Protocol } from '../protocol.ts'
import type { Question } from '../questions.ts'
import { connectionTo } from './http.ts'

const ACTIONS = '/access/v1/search/action'

interface Evaluation {
  readonly decision: boolean
  readonly context: object
}

/** With no action to be permitted, `context` is that of the evaluation. */
interface ActionsFound {
  readonly results: readonly object[]
  readonly context: { readonly rules_digest: string }
}

export const AUTHZEN: readonly Protocol[] = [
  {
    name: 'AuthZEN, an evaluation each',
    files: ['sidecar/http/authzen/evaluations.ts', 'sidecar/http/authzen/answers.ts'],
    announced: [`HTTP ${EVALUATION}`],
    silent: everything,
    ask: async (sidecar, questions) => {
      const post = poster<Evaluation>(sidecar, EVALUATION)
      return oneByOne(questions, async (question) => answerOf(await post(entitiesOf(question))))
    },
  },
  {
    name: 'AuthZEN, evaluations',
    files: ['sidecar/http/authzen/evaluations.ts', 'sidecar/http/authzen/answers.ts'],
    announced: [`HTTP ${EVALUATIONS}`],
    silent: everything,
    ask: async (sidecar, questions) => {
      const post = poster<{ readonly evaluations: readonly Evaluation[] }>(sidecar, EVALUATIONS)
      const { evaluations } = await post({ evaluations: questions.map(entitiesOf) })
      return evaluations.map(answerOf)
    },
  },
  {
    name: 'AuthZEN, a search for actions',
    files: ['sidecar/http/authzen/authzen-search.ts'],
    announced: [`HTTP ${ACTIONS}`],
    silent: everything,
    ask: async (sidecar, questions) => {
      const post = poster<ActionsFound>(sidecar, ACTIONS)
      return oneByOne(questions, async (question) => {
        const { action: _, ...entities } = entitiesOf(question)
        const { results, context } = await post(entities)
        if (results.length === 0) return answerOf({ decision: false, context })
        return { allowed: true, reason: 'ALLOWED', rulesDigest: context.rules_digest }
      })
    },
  },
]

/** Asks as a caller, because where proxies ask not every client may. */
function poster<T>({ sidecar, folder }: RunningSidecar, path: string): (body: object) => Promise<T> {
  const send = connectionTo(sidecar.httpAddress ?? '')
  const callerToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  return async (body) => {
    const text = JSON.stringify(body)
    const { status, text: answer } = await send({
      ...{ method: 'POST', path, body: text },
      headers: [
        ['Content-Type', 'application/json'],
        ['Content-Length', String(Buffer.byteLength(text))],
        ['Authorization', `Bearer ${callerToken}`],
      ],
    })
    if (status !== 200) throw new Error(`${status} ${answer}`)
    return JSON.parse(answer) as T
  }
}

function entitiesOf({ api: id, subject, target, clientAddress }: Question) {
  const asked =
    'claims' in subject
      ? token(subject.claims.kind, ownerOf(subject.claims.scope))
      : credential(
          // A header that came several times is an array.
          Object.fromEntries(
            [...Map.groupBy(subject.headers, ([name]) => name)].map(([name, pairs]) => [
              name,
              pairs.map(([, value]) => value),
            ]),
          ),
        )
  return {
    ...{ subject: asked, action: CALL, resource: api(id, target && ownerOf(target)) },
    ...(clientAddress !== undefined && { context: { client_address: clientAddress } }),
  }
}

function ownerOf({ account, project }: NonNullable<Question['target']>) {
  return project === undefined ? { account } : { account, project }
}

function answerOf({ decision, context }: Evaluation): Answer {
  const { conflicts } = context as { conflicts: readonly string[] }
  return answerOfContract({ ...context, allowed: decision, conflicts: conflicts.map((id) => ({ id })) })
}
