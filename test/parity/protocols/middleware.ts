/**
 * The middleware of the client package before node:http and Fastify, and with a request of fetch. Express and
 * Hono are in test/interop/frameworks.test.ts.
 */
import fastify from 'fastify'
import {
  answerOf as answerOfFastify,
  type Request as FastifyRequest,
  requireToken as requireTokenOfFastify,
} from '../../../clients/typescript/fastify.ts'
import {
  answerOf as answerOfHono,
  requireToken as requireTokenOfHono,
} from '../../../clients/typescript/hono.ts'
import type { CheckAnswer, Client } from '../../../clients/typescript/index.ts'
import { answerOf as answerOfNode, requireToken } from '../../../clients/typescript/node.ts'
import { listening } from '../../support/proxies/middleware.ts'
import { whenTheFileEnds } from '../../support/suite/resources.ts'
import { type Answer, headersOf, oneByOne, onlyRequests, type Protocol } from '../protocol.ts'
import type { Question } from '../questions.ts'
import { answerOf, connectionTo, tooLong } from './http.ts'

/** The middleware before the handler of a question. */
interface Gate {
  readonly api: string
  readonly options: {
    readonly client: Client
    readonly cacheEntries: 0
    readonly clientAddress: () => string | undefined
    readonly target?: () => NonNullable<Question['target']>
  }
}

/**
 * Serves `/INDEX` behind the middleware, and answers with what the middleware knows by then.
 *
 * @returns `HOST:PORT`
 */
export type Serve = (gateOf: (index: string) => Gate) => Promise<string>

/** @param file of the client package */
export function middleware(name: string, file: string, serve: Serve): Protocol {
  return {
    name: `requireToken of ${name}`,
    files: [file],
    announced: [],
    silent: (question) => onlyRequests(question) ?? tooLong(question),
    ask: async ({ client }, questions) => {
      const address = await serve((index) => gateFor(questions[Number(index)] as Question, client))
      const send = connectionTo(address.replace('http://', ''))
      return oneByOne(questions, async (question) => {
        const path = `/${questions.indexOf(question)}`
        const answered = await send({ path, headers: headersOf(question) })
        return answered.status === 200 ? answerForHandler(JSON.parse(answered.text)) : answerOf(answered)
      })
    },
  }
}

function gateFor({ api, target, clientAddress }: Question, client: Client): Gate {
  return {
    api,
    options: {
      ...{ client, cacheEntries: 0 },
      clientAddress: () => clientAddress,
      ...(target !== undefined && { target: () => target }),
    },
  }
}

function answerForHandler(answer: CheckAnswer): Answer {
  const { allowed, reason, message, header, accepted, advice, digest, strict, rulesDigest } = answer
  return {
    ...{ allowed, message, header, accepted, advice, digest, strict, rulesDigest },
    reason: reason as Answer['reason'],
    conflicts: answer.conflicts.map(({ id }) => id),
  }
}

/** With what Hono gives to a middleware, and without Hono. */
const hono: Protocol = {
  ...middleware('a request of fetch', 'clients/typescript/hono.ts', () => {
    throw new Error('nothing is served')
  }),
  silent: onlyRequests,
  ask: ({ client }, questions) =>
    oneByOne(questions, async (question) => {
      const { api, options } = gateFor(question, client)
      const headers = headersOf(question).map(([name, value]): [string, string] => [name, value])
      const context = { req: { raw: new Request('http://api.example/', { headers }) } }
      let passed = false
      const response = await requireTokenOfHono(api, options)(context, async () => {
        passed = true
      })
      if (passed) return answerForHandler(answerOfHono(context) as CheckAnswer)
      if (response === undefined) throw new Error('neither an answer nor the next handler')
      const { status } = response
      return answerOf({ status, headers: Object.fromEntries(response.headers), text: await response.text() })
    }),
}

export const MIDDLEWARE: readonly Protocol[] = [
  hono,
  middleware('node:http', 'clients/typescript/node.ts', (gateOf) =>
    listening((request, response) => {
      const { api, options } = gateOf(request.url?.slice(1) ?? '')
      requireToken(api, options)(request, response, () => response.end(JSON.stringify(answerOfNode(request))))
    }),
  ),
  middleware('Fastify', 'clients/typescript/fastify.ts', (gateOf) => {
    const server = fastify()
    const onRequest = (request: FastifyRequest & { readonly params: unknown }, reply: never) => {
      const { api, options } = gateOf((request.params as { index: string }).index)
      return requireTokenOfFastify(api, options)(request, reply)
    }
    server.get('/:index', { onRequest: onRequest as never }, async (request) => answerOfFastify(request))
    whenTheFileEnds(() => server.close())
    return server.listen({ host: '127.0.0.1', port: 0 })
  }),
]
