/**
 * AuthZEN Authorization API 1.0: the decisions of `Check` for enforcement points that know the standard, and
 * not the product.
 */
import type { HttpError, HttpReply, HttpRequest } from '../../base/http/exchange.ts'
import { type HttpRoutes, NO_SUCH_PATH } from '../../base/http/http-routes.ts'
import { connectionOf } from '../../base/net/http-request.ts'
import { REQUEST_ID_HEADER } from '../../base/request-id.ts'
import type { Asker } from '../../usecases/asker.ts'
import { listenerOf } from '../../usecases/call-tracing.ts'
import type { Admitting, PerCall, Reporting, Ruled } from '../../usecases/capabilities.ts'
import type { DecisionMeter } from '../../usecases/decision-meters.ts'
import { timed } from '../../usecases/timed.ts'
import { type Admission, expectCaller } from '../callers-only.ts'
import { httpErrorOf } from '../http-error.ts'
import { JsonBodies, sendJson } from '../json.ts'
import { logRefusal } from '../refusals.ts'
import { answerSearch } from './authzen-search.ts'
import { expectFields, type Fields } from './entities.ts'
import { type Asked, answerEvaluation, answerEvaluations } from './evaluations.ts'

export interface AuthzenOptions extends Pick<Asked, 'evaluationsMax'>, Pick<Admission, 'callersOnly'> {}

interface Endpoint {
  readonly path: string
  /** Its name in the metadata. */
  readonly parameter: string
  readonly answer: (asked: Asked, body: Fields) => object | Promise<object>
}

const ENDPOINTS: readonly Endpoint[] = [
  { path: '/access/v1/evaluation', parameter: 'access_evaluation_endpoint', answer: answerEvaluation },
  { path: '/access/v1/evaluations', parameter: 'access_evaluations_endpoint', answer: answerEvaluations },
  ...(['subject', 'resource', 'action'] as const).map((searched) => ({
    path: `/access/v1/search/${searched}`,
    parameter: `search_${searched}_endpoint`,
    answer: (asked: Asked, body: Fields) => answerSearch(asked, body, searched),
  })),
]

const METADATA = '/.well-known/authzen-configuration'

/** How long metadata may be cached. It changes at a restart alone. */
const METADATA_SECONDS = 60

/** Chosen by the enforcement point, and sent back. */
const REQUEST_ID = 'x-request-id'

/**
 * Members that the standard does not know must be ignored, and headers are members, so that no name of one
 * may be refused. Nothing here is copied by assignment.
 */
const BODY = { types: /^application\/json$/, anyKey: true }

const WORDING = { sendError: sendText }

interface Addressed {
  /** URL of the server for clients, without a slash at the end. */
  readonly url: string
}

/** @param site a function, because the addresses are known only when the server listens */
export function addAuthzenRoutes(
  routes: HttpRoutes,
  services: PerCall<Asked['services']> & Ruled & Admitting & Reporting,
  { callersOnly, evaluationsMax }: AuthzenOptions,
  site: () => Addressed,
): void {
  const { cacheForMs } = services
  const meter = services.meters?.of('authzen')
  const bodies = new JsonBodies(services.turns)
  // Before the body is read.
  const onRequest = (request: HttpRequest) => expectCaller(services, request, { callersOnly })
  for (const { path, answer } of ENDPOINTS)
    routes.post(
      path,
      async (request, reply) => {
        const explain = (error: unknown) => explained(services, request, error)
        const asker = askerOf(services, request, meter)
        const body = await bodies.read(request, (value) => expectFields(value, 'the body'), BODY)
        const asked = { services: services.forCall(), cacheForMs, evaluationsMax, asker, explain }
        return sendJson(identified(reply), 200, await timed(meter, answer)(asked, body))
      },
      { ...WORDING, onRequest },
    )

  const metadata = (reply: HttpReply) => {
    // The same for all clients, so without the id of a request.
    reply.removeHeader('vary').header('cache-control', `public, max-age=${METADATA_SECONDS}`)
    return sendJson(reply, 200, metadataOf(site()))
  }
  // These routes answer HEAD too, without a body.
  routes.get(METADATA, (_request, reply) => metadata(reply), WORDING)
  // Of a server whose URL has a path, that path comes last.
  routes.get(
    `${METADATA}/*`,
    ({ url }, reply) =>
      url === `${METADATA}${new URL(site().url).pathname}` ? metadata(reply) : NO_SUCH_PATH,
    WORDING,
  )
}

function askerOf(
  services: Reporting & Admitting,
  request: HttpRequest,
  meter: DecisionMeter | undefined,
): Asker {
  const {
    authorization = [],
    traceparent = [],
    [REQUEST_ID_HEADER]: requestIds = [],
  } = request.raw.headersDistinct
  const listener = listenerOf(services, 'authzen', meter, () => ({
    ...{ address: request.clientAddress, traceparent, requestIds },
    name: services.callers.findOrNobody({ authorization, iamToken: [], certificateNames: [] })?.name,
  }))
  return { connection: connectionOf(request), listener }
}

/** Of one evaluation of several. */
function explained(services: Reporting, request: HttpRequest, error: unknown): HttpError {
  const explanation = httpErrorOf(error)
  logRefusal(services, request, error as Error, explanation)
  return explanation
}

/** Every address is from the configuration. */
function metadataOf({ url }: Addressed): object {
  const endpoints = ENDPOINTS.map(({ parameter, path }) => [parameter, `${url}${path}`])
  return { policy_decision_point: url, ...Object.fromEntries(endpoints) }
}

/** The text alone, as the specification has it. */
function sendText(reply: HttpReply, { status, message, retryAfterSeconds }: HttpError): HttpReply {
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="portcullis"')
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  // Bytes, because Node would write the id in the encoding of a text.
  return identified(reply)
    .code(status)
    .header('content-type', 'text/plain; charset=utf-8')
    .send(Buffer.from(message))
}

/** The reply with the id of the request, if it has one. */
function identified(reply: HttpReply): HttpReply {
  const id = reply.request.headers[REQUEST_ID]
  return id === undefined ? reply : reply.header(REQUEST_ID, String(id))
}
