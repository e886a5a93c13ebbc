/** The contract over HTTP, in every form that it has there, by the clients of Connect. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DescMethodBiDiStreaming, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import type { Transport } from '@connectrpc/connect'
import { FORMS, methodOf, outcomeOf, transportOf } from '../../support/contract/contract.ts'
import type { RunningSidecar } from '../../support/sidecar/sidecar.ts'
import { type Answer, answerOfContract, everything, oneByOne, type Protocol } from '../protocol.ts'
import type { Question } from '../questions.ts'

const method = (name: string) => `HTTP /portcullis.v1.AuthorizationService/${name}`

/** Asked in `test/interop/connect/tools.test.ts`. */
export const CHECK_STREAM = method('CheckStream')

export const CONNECT: readonly Protocol[] = FORMS.flatMap((form): Protocol[] => [
  {
    name: `${form} Check`,
    files: [],
    announced: [method('Check')],
    silent: everything,
    ask: (sidecar, questions) => {
      const call = caller(sidecar, form)
      return oneByOne(questions, async (question) => answerOf(await call('Check', checkOf(question))))
    },
  },
  {
    name: `${form} CheckBatch`,
    files: [],
    announced: [method('CheckBatch')],
    silent: everything,
    ask: async (sidecar, questions) => {
      const { results } = await caller(sidecar, form)('CheckBatch', { checks: questions.map(checkOf) })
      return (results as JsonObject[]).map(answerOf)
    },
  },
])

/** Over HTTP/2, which the sidecar speaks with TLS alone. @param connect makes a transport to `HOST:PORT` */
export function streamed(name: string, connect: (address: string) => Transport): Protocol {
  return {
    name: `${name} CheckStream`,
    files: [],
    announced: [CHECK_STREAM],
    silent: everything,
    ask: async ({ sidecar, folder }, questions) => {
      const method = methodOf('CheckStream') as DescMethodBiDiStreaming
      async function* asked() {
        for (const question of questions) yield fromJson(method.input, { check: checkOf(question) })
      }
      const transport = connect(sidecar.httpAddress ?? '')
      const { message } = await transport.stream(method, undefined, 60_000, asCaller(folder), asked())
      const answers: Answer[] = []
      for await (const each of message) {
        const { result } = toJson(method.output, each, { alwaysEmitImplicit: true }) as { result: JsonObject }
        answers.push(answerOf(result))
      }
      return answers
    },
  }
}

/** Where proxies ask, not every client may. */
function asCaller(folder: string): Record<string, string> {
  const callerToken = readFileSync(join(folder, 'administrator-token'), 'utf8').trim()
  return { authorization: `Bearer ${callerToken}` }
}

function caller({ sidecar, address, folder }: RunningSidecar, form: (typeof FORMS)[number]) {
  const transport = transportOf(form, { grpc: address, http: sidecar.httpAddress ?? '' })
  const headers = asCaller(folder)
  return async (name: string, input: JsonObject): Promise<JsonObject> => {
    const outcome = await outcomeOf(transport, name, input, headers)
    if ('error' in outcome) throw new Error(`${outcome.error}: ${outcome.message}`)
    return outcome.answer
  }
}

/** The question as JSON of the contract. */
export function checkOf({ api, subject, target, clientAddress }: Question): JsonObject {
  const asked: JsonObject =
    'claims' in subject
      ? { token: { kind: subject.claims.kind, scope: scopeOf(subject.claims.scope) } }
      : { credentials: { headers: subject.headers.map(([name, value]) => ({ name, value })) } }
  return {
    ...{ api, ...asked },
    ...(target !== undefined && { target: scopeOf(target) }),
    ...(clientAddress !== undefined && { clientAddress }),
  }
}

function scopeOf({ account, project = '' }: NonNullable<Question['target']>): JsonObject {
  return { account, project }
}

function answerOf({ rulesDigest, ...answer }: JsonObject): Answer {
  return answerOfContract({ ...answer, rules_digest: rulesDigest })
}
