/**
 * `@portcullis/client/fetch`: puts the credential of a profile on each request.
 *
 * @module
 */
import type { Client } from './client.ts'
import { type Kept, ProfileToken } from './profile-token.ts'

export interface SendOptions {
  /** Name of a profile of the sidecar's configuration, which issues the token. */
  readonly profile: string
  /** Id of the API that the requests go to. */
  readonly api: string
  /** Name of the project, if the API accepts tokens of a project alone. */
  readonly project?: string
  /** What sends the requests. Default: `fetch` of the platform. */
  readonly fetch?: typeof fetch
}

type Issuing = Pick<Client, 'issue'>

const REDIRECTS_MAX = 20

/**
 * A `fetch` that sends the credential of a profile for an API, in the header that the API wants. The token is
 * kept until shortly before it expires, and renewed once where the API answers 401. It goes to the origin of
 * the request alone: a redirect to another one is followed without it.
 *
 * Rejects with a `PortcullisError` where the sidecar gives no token; then nothing is sent.
 */
export function credentialFetch(client: Issuing, options: SendOptions): typeof fetch {
  const tokens = new Tokens(client, options)
  const { fetch: send = fetch } = options
  return async (input, init) => {
    const request = new Request(input, init)
    const token = await tokens.current()
    const isRepeatable = request.body === null || !isStream(init?.body ?? request.body)
    const response = await sendTo(send, isRepeatable ? request.clone() : request, token)
    if (response.status !== 401) return response
    // Where there is no other token, the answer of the API says what is wrong.
    const renewed = await tokens.after(token).catch(() => undefined)
    if (renewed === undefined || renewed.value === token.value || !isRepeatable) return response
    await response.body?.cancel()
    return sendTo(send, request, renewed)
  }
}

/** Follows redirects within the origin. `fetch` follows those that leave it, without the credential. */
async function sendTo(send: typeof fetch, first: Request, token: Kept): Promise<Response> {
  const isFollowing = first.redirect === 'follow'
  let request = first
  for (let count = 0; ; count++) {
    const headers = new Headers(request.headers)
    headers.set(token.header, token.headerValue)
    const spare = isFollowing && request.body === null ? request : undefined
    const redirect = isFollowing ? 'manual' : first.redirect
    const response = await send(new Request(request, { headers, redirect }))
    const location = response.headers.get('location')
    if (!isFollowing || !REDIRECTS.has(response.status) || location === null) return response
    const url = new URL(location, request.url)
    const next = redirected(spare, first, response.status, url)
    // A body that is gone cannot be sent again.
    if (next === undefined) return response
    await response.body?.cancel()
    if (url.origin !== new URL(first.url).origin) return send(next)
    if (count === REDIRECTS_MAX) throw new TypeError(`more than ${REDIRECTS_MAX} redirects`)
    request = next
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The request after a redirect, as the standard of fetch has it. */
function redirected(
  spare: Request | undefined,
  { method, headers, signal }: Request,
  status: number,
  url: URL,
): Request | undefined {
  const isGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST'
  if (isGet) {
    const kept = Array.from(headers).filter(([name]) => !name.startsWith('content-'))
    return new Request(url, { headers: kept, signal })
  }
  return spare && new Request(url, { method, headers, signal })
}

function isStream(body: unknown): boolean {
  return body instanceof ReadableStream || (typeof body === 'object' && body !== null && 'pipe' in body)
}

class Tokens {
  readonly #client: Issuing
  readonly #options: SendOptions
  readonly #token = new ProfileToken()
  #renewing: Promise<Kept> | undefined

  constructor(client: Issuing, options: SendOptions) {
    for (const field of ['profile', 'api'] as const)
      if (typeof options?.[field] !== 'string' || options[field] === '')
        throw new TypeError(`${field}: expected a name`)
    this.#client = client
    this.#options = options
  }

  /** @throws PortcullisError if the sidecar gives no token, and there is none that still lasts */
  async current(): Promise<Kept> {
    const nowMs = performance.now()
    const kept = this.#token.current(nowMs)
    if (kept !== undefined) return kept
    const lasting = this.#token.lasting(nowMs)
    return lasting === undefined ? this.#renew() : this.#renew().catch(() => lasting)
  }

  /** Another token than the one that an API has refused. */
  after({ value }: Kept): Promise<Kept> {
    this.#token.refuse(value)
    return this.current()
  }

  /** All who need a token now wait for the same one. */
  #renew(): Promise<Kept> {
    this.#renewing ??= this.#issue().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #issue(): Promise<Kept> {
    const { profile, api, project } = this.#options
    const { rejected } = this.#token
    const askedAtMs = performance.now()
    const today = Date.now()
    const issued = await this.#client.issue({
      ...{ profile, apis: [api] },
      ...(project !== undefined && { project }),
      ...(rejected !== undefined && { rejected }),
    })
    const leftMs =
      issued.expiresAt === undefined ? Number.POSITIVE_INFINITY : issued.expiresAt.getTime() - today
    return this.#token.came(issued, leftMs, askedAtMs)
  }
}
