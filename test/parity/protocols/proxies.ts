/** The protocols of proxies: Envoy over gRPC and over HTTP, and all others at `/authorize`. */
import { EnvoyClient, type Verdict } from '../../support/proxies/ext-authz.ts'
import { PROXY_SECRET } from '../../support/proxies/proxied.ts'
import type { RunningSidecar } from '../../support/sidecar/sidecar.ts'
import { type Answer, headersOf, oneByOne, onlyRequests, type Protocol, refusedWith } from '../protocol.ts'
import type { Header, Question } from '../questions.ts'
import { answerOf, connectionTo, tooLong } from './http.ts'

const CHECK = 'gRPC /envoy.service.auth.v3.Authorization/Check'

/** Envoy over gRPC. The route of Envoy says what the request is for. */
function envoy(name: string, raw: boolean): Protocol {
  return {
    name,
    files: ['sidecar/contract/ext-authz/ext-authz-handler.ts'],
    announced: [CHECK],
    silent: onlyRequests,
    ask: async ({ address }, questions) => {
      const client = new EnvoyClient(address)
      return oneByOne(questions, async (question) => {
        const verdict = await client.ask({
          ...{ raw, headers: headersOf(question), from: question.clientAddress ?? NOWHERE },
          context: settingsOf(question),
        })
        return answerOfEnvoy(verdict)
      })
    },
  }
}

/** The routes of the sidecar say it. */
const routedEnvoy: Protocol = {
  ...envoy('ext_authz over gRPC, by routes', false),
  silent: silentRoutes,
  ask: async ({ address }, questions) => {
    const client = new EnvoyClient(address)
    return oneByOne(questions, async (question) =>
      answerOfEnvoy(
        await client.ask({
          path: pathOf(question),
          headers: headersOf(question),
          from: question.clientAddress ?? NOWHERE,
        }),
      ),
    )
  },
}

const envoyOverHttp: Protocol = {
  name: 'ext_authz over HTTP',
  files: ['sidecar/proxies/ext-authz-route.ts'],
  announced: ['HTTP /ext-authz/*'],
  silent: (question) => onlyRequests(question) ?? tooLong(question),
  ask: (sidecar, questions) =>
    asked(sidecar, questions, (question) => {
      const settings = Object.entries(settingsOf(question)).map(
        ([key, value]) => `${key}=${encodeURIComponent(value)}`,
      )
      return { path: `/ext-authz/${settings.join(',')}/v1/items?limit=10`, headers: [] }
    }),
}

const authorize: Protocol = {
  name: 'GET /authorize/API',
  files: ['sidecar/proxies/authorize-routes.ts'],
  announced: ['HTTP /authorize/:api'],
  silent: (question) =>
    onlyRequests(question) ??
    tooLong(question) ??
    (question.target && 'whose resource it is, routes alone can say'),
  ask: (sidecar, questions) =>
    asked(sidecar, questions, ({ api }) => ({ path: `/authorize/${encodeURIComponent(api)}`, headers: [] })),
}

const routedAuthorize: Protocol = {
  ...authorize,
  name: 'GET /authorize, by routes',
  announced: ['HTTP /authorize'],
  silent: (question) => silentRoutes(question) ?? tooLong(question),
  ask: (sidecar, questions) =>
    asked(sidecar, questions, (question) => ({
      path: '/authorize',
      headers: [
        ['X-Original-Method', 'GET'],
        ['X-Original-URI', pathOf(question)],
        ['X-Forwarded-Host', 'api.example'],
      ],
    })),
}

export const PROXIES: readonly Protocol[] = [
  envoy('ext_authz over gRPC, headers joined', false),
  envoy('ext_authz over gRPC, headers as they came', true),
  ...[routedEnvoy, envoyOverHttp, authorize, routedAuthorize],
]

/** The address that Envoy names for a client without an IP address. */
const NOWHERE = '/run/client.sock'

/** Asks as a proxy does: with the headers of its client, and with its own. */
async function asked(
  { sidecar }: RunningSidecar,
  questions: readonly Question[],
  about: (question: Question) => { readonly path: string; readonly headers: readonly Header[] },
): Promise<Answer[]> {
  const send = connectionTo(sidecar.httpAddress ?? '')
  return oneByOne(questions, async (question) => {
    const { path, headers } = about(question)
    const from: readonly Header[] =
      question.clientAddress === undefined ? [] : [['X-Forwarded-For', question.clientAddress]]
    const own: readonly Header[] = [['X-Portcullis-Proxy-Secret', PROXY_SECRET], ...from]
    // A proxy that asks at `/authorize` takes out what clients say of themselves. Envoy does as it is
    // answered.
    const came = headersOf(question).filter(
      ([name]) => !(path.startsWith('/authorize') && /^x[-_]portcullis[-_]/i.test(name)),
    )
    return answerOf(await send({ path, headers: [...came, ...headers, ...own] }))
  })
}

/** The settings of Envoy's route. */
function settingsOf({ api, target }: Question): Readonly<Record<string, string>> {
  const { account, project } = target ?? {}
  return { api, ...(account !== undefined && { account }), ...(project !== undefined && { project }) }
}

/** A path of the routes of `people.ts`. */
function pathOf({ api, target }: Question): string {
  if (target === undefined) return `/any/${api}/items`
  const { account, project } = target
  return project === undefined ? `/account/${api}/${account}/` : `/project/${api}/${account}/${project}/`
}

function silentRoutes(question: Question): string | undefined {
  if (question.reason === 'UNKNOWN_API') return 'every route has an API of the matrix'
  return onlyRequests(question)
}

function answerOfEnvoy({ allowed, status, body, headers, metadata }: Verdict): Answer {
  const { reason, advice, conflicts, strict, rules_digest } = metadata as unknown as Answer & {
    readonly rules_digest: string
  }
  // A filter of Envoy reads the metadata, and the receiver of the request or the denial reads the
  // headers and the body.
  const told = allowed ? { reason } : (body?.error as Pick<Answer, 'reason' | 'message' | 'accepted'>)
  const named = new Set([rules_digest, headers['x-portcullis-rules-digest']])
  if (metadata.allowed !== allowed || told.reason !== reason || named.size > 1)
    throw new Error('the metadata and the rest of the answer differ')
  const denial = allowed ? {} : { denial: refusedWith(status ?? 0, Object.entries(headers)) }
  return {
    ...told,
    ...{ allowed, advice, conflicts, strict },
    rulesDigest: rules_digest,
    ...denial,
  } as Answer
}
