/** An endpoint of OpenTelemetry: OTLP over HTTP, in JSON. Loaded where one is configured. */
import type { Dispatcher, Pool } from 'undici'
import { poolTo, UNCODED } from '../base/net/pool.ts'
import { retryAfterMs } from '../base/net/retry-after.ts'
import type { OtlpOptions } from '../config/otlp.ts'

/** The answer of an endpoint. */
export interface OtlpAnswer {
  readonly status: number
  /** The value of its `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number | undefined
  /** Of a success; `undefined`: it is longer than any answer of OTLP, or coded. */
  readonly body?: string | undefined
}

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
    this.#pool = poolTo(origin, {
      connections: 1,
      maxHeaderSize: ANSWER_BYTES_MAX,
      connectMs: timeoutMs,
      ca,
    })
  }

  /** @throws Error where the endpoint does not answer */
  async post(body: string | Uint8Array): Promise<OtlpAnswer> {
    const { authorization, timeoutMs } = this.#options
    const {
      statusCode,
      headers,
      body: answer,
    } = await this.#pool.request({
      path: this.#path,
      method: 'POST',
      headers: {
        ...UNCODED,
        'content-type': 'application/json',
        ...(authorization && { authorization: authorization.reveal() }),
      },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (statusCode >= 200 && statusCode < 300) {
      const text = await textOf(answer, headers['content-encoding'])
      // The log repeats what an endpoint says, which may be the credential that it does not like.
      const secret = authorization?.reveal().split(' ').at(-1)
      return { status: statusCode, body: secret ? text?.replaceAll(secret, '…') : text }
    }
    await answer.dump({ limit: ANSWER_BYTES_MAX })
    return { status: statusCode, retryAfterMs: retryAfterMs(headers) }
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

async function textOf(
  answer: Dispatcher.ResponseData['body'],
  coding: string | readonly string[] | undefined,
): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop closes the connection.
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > ANSWER_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return coding === undefined || coding === 'identity' ? Buffer.concat(chunks).toString() : undefined
}
