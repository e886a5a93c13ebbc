/** An endpoint of OpenTelemetry: OTLP over HTTP, in JSON. Loaded where one is configured. */
import { Pool } from 'undici'
import type { OtlpOptions } from '../config/otlp.ts'

/** The endpoint is there and does not take this request, and never will. */
export class OtlpRefused extends Error {
  override readonly name = 'OtlpRefused'
}

/** What OTLP says about a request that may be sent again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Largest headers and body of an answer, in bytes. */
const ANSWER_BYTES_MAX = 65_536

export class OtlpEndpoint {
  readonly #options: OtlpOptions
  readonly #pool: Pool
  readonly #path: string

  constructor(options: OtlpOptions) {
    const { url, ca, timeoutMs } = options
    const { origin, pathname, search } = url
    this.#options = options
    this.#path = pathname + search
    this.#pool = new Pool(origin, {
      connections: 1,
      allowH2: false,
      maxHeaderSize: ANSWER_BYTES_MAX,
      maxResponseSize: ANSWER_BYTES_MAX,
      // Said here, so that no variable of the environment switches the verification off.
      connect: { ca, timeout: timeoutMs, rejectUnauthorized: true, minVersion: 'TLSv1.2' },
    })
  }

  /** @throws OtlpRefused where the request must not be sent again; another error where it may be */
  async post(body: string | Uint8Array): Promise<void> {
    const { authorization, timeoutMs } = this.#options
    const { statusCode, body: answer } = await this.#pool.request({
      path: this.#path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(authorization && { authorization: authorization.reveal() }),
      },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
    await answer.dump()
    if (statusCode >= 200 && statusCode < 300) return
    const problem = `the endpoint answers with the status ${statusCode}`
    throw AGAIN.has(statusCode) ? new Error(problem) : new OtlpRefused(problem)
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}
