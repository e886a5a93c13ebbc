/**
 * The common part of all routes of the control panel: requests of our page in JSON, and how errors are
 * worded.
 */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { invalidArgument } from '../../base/call-error.ts'
import type { HttpError, HttpReply, HttpRequest } from '../../base/http/exchange.ts'
import type { HttpRoutes } from '../../base/http/http-routes.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { connectionOf } from '../../base/net/http-request.ts'
import { Secret } from '../../base/secret.ts'
import { escaped } from '../../base/visible-text.ts'
import type { Administering } from '../../usecases/administration/administer.ts'
import type { Admitting, PerCall } from '../../usecases/capabilities.ts'
import type { FactorServices } from '../../usecases/control-panel/factors.ts'
import type { PanelCall, PanelServices } from '../../usecases/control-panel/panel-call.ts'
import type { Authenticating } from '../../usecases/requester.ts'
import { isObject, JsonBodies, sendJson } from '../json.ts'
import type { PageRequests } from './page-requests.ts'

export type PanelGiven = PerCall<Authenticating & Administering> &
  Admitting &
  Pick<PanelServices, 'controlPanel'>

/** A request of our page. */
export interface PanelExchange {
  readonly services: FactorServices
  readonly call: PanelCall
  readonly request: HttpRequest
  readonly reply: HttpReply
}

/** The answer: an object, or `undefined` for an answer without a body. */
type Answer = MaybePromise<object | undefined>

/** Length of the longest description of a browser that is kept, in characters. */
const CLIENT_LENGTH_MAX = 200

const BODY = { types: /^application\/json$/ }

/** Adds routes for our page. Each has its turn among logins and administrative calls. */
export class PanelRoutes {
  readonly pages: PageRequests
  readonly #routes: HttpRoutes
  readonly #services: PanelGiven
  readonly #lasts: (request: IncomingMessage) => void
  readonly #bodies: JsonBodies

  /** @param lasts called with a request whose answer may never end */
  constructor(
    routes: HttpRoutes,
    services: PanelGiven,
    pages: PageRequests,
    lasts: (request: IncomingMessage) => void,
  ) {
    this.#lasts = lasts
    this.#routes = routes
    this.#services = services
    this.pages = pages
    this.#bodies = new JsonBodies(services.turns)
  }

  get(path: string, answer: (exchange: PanelExchange) => Answer): void {
    // This answers HEAD too, without a body.
    const handle = async (request: HttpRequest, reply: HttpReply) =>
      send(reply, await answer(await this.#begin(request, reply)))
    this.#routes.get(path, handle, { ...ROUTE, onRequest: this.#expectOurs })
  }

  /** An answer of lines of JSON that may go on for as long as its reader wants. */
  lines(path: string, answer: (exchange: PanelExchange) => Promise<Readable>): void {
    const handle = async (request: HttpRequest, reply: HttpReply) => {
      const body = await answer(await this.#begin(request, reply))
      this.#lasts(request.raw)
      // Some proxies would collect the lines until there are many.
      return reply.headers({ 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' }).stream(body)
    }
    this.#routes.get(path, handle, { ...LASTING_ROUTE, onRequest: this.#expectOurs })
  }

  /**
   * @param read makes something of the fields of the body, or throws
   * @param callerTokenOf a caller token in the body: a client with a valid one comes before strangers
   */
  post<Body>(
    path: string,
    read: (fields: Fields) => Body,
    answer: (exchange: PanelExchange, body: Body) => Answer,
    callerTokenOf: (body: Body) => Secret | undefined = () => undefined,
  ): void {
    const handle = async (request: HttpRequest, reply: HttpReply) => {
      const body = await this.#bodies.read(request, (value) => readFields(value, read), BODY)
      return send(reply, await answer(await this.#begin(request, reply, callerTokenOf(body)), body))
    }
    this.#routes.post(path, handle, { ...ROUTE, onRequest: this.#expectOurs })
  }

  /** Before the body is read. */
  readonly #expectOurs = async ({ raw }: HttpRequest): Promise<void> => this.pages.expectOurs(raw)

  async #begin(request: HttpRequest, reply: HttpReply, token?: Secret): Promise<PanelExchange> {
    const { controlPanel, intake, trace } = this.#services
    const connection = `http ${connectionOf(request).name}`
    const session = this.pages.sessionOf(request.raw)
    const authorization = token === undefined ? [] : [`Bearer ${token.reveal()}`]
    await intake.turn(connection, { session, authorization })
    const call = {
      ...{ clientAddress: request.clientAddress, connection, requestId: request.id, session },
      page: this.pages.originOf(request.raw),
      client: escaped(String(request.headers['user-agent'] ?? '')).slice(0, CLIENT_LENGTH_MAX),
    }
    return { services: { ...this.#services.forCall(), controlPanel, trace }, call, request, reply }
  }
}

function send(reply: HttpReply, answer: object | undefined): HttpReply {
  return answer === undefined ? reply.code(204).send() : sendJson(reply, 200, answer)
}

/** The reason and the facts, as the contract has them in its errors. */
function sendPanelError(
  reply: HttpReply,
  { status, reason, message, metadata = {}, retryAfterSeconds }: HttpError,
): HttpReply {
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  const known = reason ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT')
  return sendJson(reply, status, { reason: known, message, metadata })
}

const ROUTE = { sendError: sendPanelError }
/** A span of hours says nothing. */
const LASTING_ROUTE = { ...ROUTE, tracing: 'none', answersHead: false } as const

/** Length of the longest text in a body, in characters. A password can be that long. */
const TEXT_LENGTH_MAX = 1_024

/** The fields of a body. Each is read once; a field that is not read is an error. */
export class Fields {
  readonly #unread: Map<string, unknown>

  constructor(body: Readonly<Record<string, unknown>>) {
    this.#unread = new Map(Object.entries(body))
  }

  text(name: string): string {
    const value = this.#take(name)
    if (typeof value !== 'string' || value.length > TEXT_LENGTH_MAX)
      throw invalidArgument({ field: name, expected: `a text of at most ${TEXT_LENGTH_MAX} characters` })
    return value
  }

  secret(name: string): Secret {
    return new Secret(this.text(name))
  }

  /** `undefined`: the body does not have it. */
  optionalText(name: string): string | undefined {
    return this.has(name) ? this.text(name) : undefined
  }

  has(name: string): boolean {
    return this.#unread.has(name)
  }

  /** A value that its reader checks. */
  value(name: string): unknown {
    return this.#take(name)
  }

  expectAllRead(): void {
    if (this.#unread.size > 0)
      throw invalidArgument({ field: 'the body', expected: 'no fields but those of this request' })
  }

  #take(name: string): unknown {
    const value = this.#unread.get(name)
    this.#unread.delete(name)
    return value
  }
}

function readFields<Body>(value: unknown, read: (fields: Fields) => Body): Body {
  if (!isObject(value)) throw invalidArgument({ field: 'the body', expected: 'an object of JSON' })
  const fields = new Fields(value)
  const body = read(fields)
  fields.expectAllRead()
  return body
}
