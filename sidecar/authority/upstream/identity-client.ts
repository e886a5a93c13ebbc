/**
 * HTTP to a foreign identity endpoint (§4.1). A call ends within the upstream's time limit,
 * whatever the endpoint does. No redirect is followed: it would carry a password or a token to an address
 * that is not configured.
 */
import pLimit from 'p-limit'
import type { Dispatcher, Pool } from 'undici'
import { type CallError, callError } from '../../base/call-error.ts'
import { codingOf, poolTo, UNCODED } from '../../base/net/pool.ts'
import { retryAfterMs } from '../../base/net/retry-after.ts'
import type { Secret } from '../../base/secret.ts'
import {
  type Span,
  type SpanFacts,
  serverAttributes,
  type TraceFields,
  type Tracer,
} from '../../base/tracing.ts'
import { AttemptError, Resilience, type ResilienceEvents, type ResilienceTimes } from './resilience.ts'

export interface IdentityClientOptions {
  /** Name of the upstream, for errors. */
  readonly name: string
  /** URL of `auth/tokens`. */
  readonly tokensUrl: string
  /** Certificates in PEM; `undefined`: those that Node trusts. */
  readonly ca: string | undefined
  /** How long a call may take in all, in milliseconds. */
  readonly timeoutMs: number
  readonly times?: Partial<ResilienceTimes> | undefined
  readonly events?: ResilienceEvents | undefined
  /** `undefined`: there are no traces. */
  readonly tracer?: Tracer | undefined
}

/** An answer of the endpoint, not yet believed. */
export interface Answer {
  readonly status: number
  /** A header that came several times has several values. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** Largest headers and body of an answer, in bytes. */
const HEADER_BYTES_MAX = 262_144
const BODY_BYTES_MAX = 1_048_576

/**
 * How many calls run at once, and how many wait. Each sort has its own lane, so that unknown tokens stop
 * neither logins nor revocations.
 */
const LANES = {
  logIn: { running: 8, waiting: 1_000 },
  validate: { running: 32, waiting: 1_000 },
  revoke: { running: 8, waiting: 1_000 },
} as const

type Lane = keyof typeof LANES

interface Call {
  readonly lane: Lane
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: string
  /** Attempts after the first one. */
  readonly repeats: number
  /** Whether it has a token that some servers and proxies do not accept in a header. */
  readonly isLong?: boolean
}

/**
 * The longest header that common servers accept as they are installed, in bytes. For a longer one some close
 * the connection or answer 500, which has no meaning for other calls: every client can send a long token.
 */
const COMMON_HEADER_BYTES = 8_192

export class IdentityClient {
  readonly #options: IdentityClientOptions
  readonly #path: string
  readonly #pool: Pool
  readonly #resilience: Resilience
  readonly #lanes: Readonly<Record<Lane, ReturnType<typeof pLimit>>>

  constructor(options: IdentityClientOptions) {
    const { name, tokensUrl, ca, timeoutMs, times, events } = options
    this.#options = options
    const { origin, pathname } = new URL(tokensUrl)
    this.#path = pathname
    this.#resilience = new Resilience(name, times, events)
    this.#lanes = {
      logIn: pLimit(LANES.logIn.running),
      validate: pLimit(LANES.validate.running),
      revoke: pLimit(LANES.revoke.running),
    }
    this.#pool = poolTo(origin, {
      connections: LANES.logIn.running + LANES.validate.running + LANES.revoke.running,
      maxHeaderSize: HEADER_BYTES_MAX,
      maxResponseSize: BODY_BYTES_MAX,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connectMs: timeoutMs,
      ca,
    })
  }

  /**
   * A login. It is repeated once: at worst, a token that no client received is lost.
   *
   * @throws CallError where there is no answer, or one that says that the endpoint is out of order
   */
  logIn(body: object): Promise<Answer> {
    return this.#call({
      lane: 'logIn',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      repeats: 1,
    })
  }

  /**
   * Asks about a token. The answer is without the catalog, which would be most of it.
   *
   * @throws CallError as `logIn`
   */
  validate(own: Secret, subject: string): Promise<Answer> {
    const headers = { 'x-auth-token': own.reveal(), 'x-subject-token': subject }
    const isLong = subject.length > COMMON_HEADER_BYTES
    return this.#call({ lane: 'validate', method: 'GET', headers, query: '?nocatalog', repeats: 2, isLong })
  }

  /** Revokes a token. @param by token of the requester @throws CallError as `logIn` */
  revoke(by: string, subject: string): Promise<Answer> {
    const headers = { 'x-auth-token': by, 'x-subject-token': subject }
    const isLong = Math.max(by.length, subject.length) > COMMON_HEADER_BYTES
    return this.#call({ lane: 'revoke', method: 'DELETE', headers, repeats: 2, isLong })
  }

  /** The address that is asked. It has no credentials. */
  get url(): string {
    return this.#options.tokensUrl
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }

  async #call(call: Call): Promise<Answer> {
    const { name, events } = this.#options
    try {
      const answer = await this.#ask(call)
      events?.onCalled?.(name, 'answered')
      return answer
    } catch (error) {
      events?.onCalled?.(name, 'failed')
      throw error
    }
  }

  async #ask(call: Call): Promise<Answer> {
    const { name: upstream, timeoutMs } = this.#options
    const lane = this.#lanes[call.lane]
    if (lane.pendingCount >= LANES[call.lane].waiting)
      throw callError(
        'UPSTREAM_EXHAUSTED',
        { cause: 'too many calls are waiting for', upstream, seconds: 1 },
        { metadata: { upstream, retry_after_seconds: '1' } },
      )
    // The time in the queue counts.
    const signal = AbortSignal.timeout(timeoutMs)
    const ended = Promise.withResolvers<never>()
    const end = () => ended.reject(this.#unavailable(`did not answer within ${timeoutMs} ms`))
    signal.addEventListener('abort', end, { once: true })
    try {
      const answer = lane(() => {
        // It has waited too long, which says nothing about the upstream.
        if (signal.aborted) return ended.promise
        return this.#resilience.execute(call.repeats, signal, () =>
          call.isLong ? this.#attempt(call, signal).catch(failOnce) : this.#attempt(call, signal),
        )
      })
      return await Promise.race([answer, ended.promise])
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  /** @throws AttemptError where there is no answer, or none of an endpoint that works */
  #attempt(call: Call, signal: AbortSignal): Promise<Answer> {
    const { tracer } = this.#options
    if (tracer === undefined) return this.#send(call, signal)
    return tracer.request(
      () => this.#spanOf(call),
      (fields, span) => this.#send(call, signal, fields, span),
    )
  }

  #spanOf({ method }: Call): SpanFacts {
    const { name, tokensUrl } = this.#options
    return {
      name: method,
      kind: 'client',
      attributes: {
        'http.request.method': method,
        ...serverAttributes(new URL(tokensUrl)),
        'portcullis.upstream': name,
      },
    }
  }

  async #send(
    { method, headers, query = '', body }: Call,
    signal: AbortSignal,
    fields?: TraceFields,
    span?: Span,
  ): Promise<Answer> {
    let response: Dispatcher.ResponseData
    let text: string
    try {
      response = await this.#pool.request({
        path: `${this.#path}${query}`,
        method,
        headers: {
          accept: 'application/json',
          ...UNCODED,
          'user-agent': 'portcullis',
          ...fields,
          ...headers,
        },
        body: body ?? null,
        signal,
      })
      text = await response.body.text()
    } catch (error) {
      throw this.#attemptError(error)
    }
    const { statusCode: status } = response
    span?.set({ 'http.response.status_code': status })
    const answer = { status, headers: response.headers, body: text }
    const coding = status < 300 ? codingOf(response.headers['content-encoding']) : undefined
    if (coding !== undefined) throw this.#badAnswer(`a body without Content-Encoding, and it has ${coding}`)
    if (status !== 429 && status < 500) return answer
    const pauseMs = retryAfterMs(answer.headers)
    const metadata = {
      upstream: this.#options.name,
      ...(pauseMs !== undefined && { retry_after_seconds: String(Math.ceil(pauseMs / 1000)) }),
    }
    if (status === 429)
      throw new AttemptError(this.#throttled(pauseMs ?? 1_000), { pauseMs: pauseMs ?? 1_000 })
    throw new AttemptError(
      callError(
        'UPSTREAM_UNAVAILABLE',
        { upstream: this.#options.name, problem: `failed with status ${status}` },
        { metadata },
      ),
      // An error of the endpoint itself may come after it has done its part; one of a proxy means that
      // nothing was done.
      { outage: true, repeat: method !== 'POST' || status > 500, pauseMs },
    )
  }

  #throttled(pauseMs: number): CallError {
    const { name: upstream } = this.#options
    const seconds = Math.ceil(pauseMs / 1000)
    return callError(
      'UPSTREAM_EXHAUSTED',
      { cause: 'too many calls for', upstream, seconds },
      { metadata: { upstream, retry_after_seconds: String(seconds) } },
    )
  }

  /** The error's own text and fields are left out: some quote the answer. */
  #attemptError(error: unknown): AttemptError {
    const code = codeOf(error)
    const { timeoutMs } = this.#options
    const expected = UNREADABLE.get(code) ?? (code.startsWith('HPE_') ? `HTTP/1.1 (${code})` : undefined)
    if (expected !== undefined) return this.#badAnswer(expected)
    if (TIMEOUTS.has(code))
      return new AttemptError(this.#unavailable(`did not answer within ${timeoutMs} ms`), { outage: true })
    if (/CERT|SIGNATURE|^ERR_TLS|^ERR_SSL|^EPROTO$/.test(code))
      return new AttemptError(this.#unavailable(`cannot be trusted: TLS failed with ${code}`), {
        outage: true,
      })
    return new AttemptError(this.#unavailable(`cannot be reached (${code})`), { outage: true, repeat: true })
  }

  #badAnswer(expected: string): AttemptError {
    const { name: upstream, tokensUrl: url } = this.#options
    return new AttemptError(callError('UPSTREAM_BAD_ANSWER', { upstream, url, expected }), { outage: true })
  }

  #unavailable(problem: string): CallError {
    const { name: upstream } = this.#options
    return callError('UPSTREAM_UNAVAILABLE', { upstream, problem }, { metadata: { upstream } })
  }
}

/** Of a call whose failure has no meaning for others. */
function failOnce(error: unknown): never {
  throw error instanceof AttemptError ? error.error : error
}

const UNREADABLE: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_HEADERS_OVERFLOW', `headers of at most ${HEADER_BYTES_MAX} bytes`],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', `a body of at most ${BODY_BYTES_MAX} bytes`],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'a body of the length that it names'],
])

const TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_ABORTED',
  'ABORT_ERR',
  'TimeoutError',
])

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  // The error of a signal has a number as its code.
  return typeof code === 'string' ? code : String(name ?? 'unknown')
}
