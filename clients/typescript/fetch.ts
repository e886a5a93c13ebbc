/**
 * `@portcullis/client/fetch`: puts the credential of a profile on each request.
 *
 * @module
 */
import type { Client } from './client.ts'
import { CLOCK } from './clock.ts'
import { type Kept, ProfileToken } from './profile-token.ts'

export interface SendOptions {
  /** Name of a profile of the sidecar's configuration, which issues the token. */
  readonly profile: string
  /** Id of the API that the requests go to. */
  readonly api: string
  /** Name of the project, if the API accepts tokens of a project alone. */
  readonly project?: string
  /** The place of the token's kind to send it in, such as `Authorization: Bearer`. Default: the first one. */
  readonly place?: string
  /** The function that sends the requests. Default: `fetch` of the platform. */
  readonly fetch?: typeof fetch
}

type Issuing = Pick<Client, 'issue'>

const REDIRECTS_MAX = 20

/**
 * A `fetch` that sends the credential of a profile for an API, in the header that the API wants. The token is
 * kept until shortly before it expires, and renewed once where the API answers 401. It goes to the origin of
 * the request alone: a redirect to another one is followed without it, also back.
 *
 * Redirects are those of the standard of fetch. Rejects with a `PortcullisError` where the sidecar gives no
 * token; then nothing is sent.
 */
export function credentialFetch(client: Issuing, options: SendOptions): typeof fetch {
  const tokens = new Tokens(client, options)
  const { fetch: send = fetch } = options
  return async (input, init) => {
    const first = new Request(input, init)
    // A body that is not a stream is kept: a new token or a redirect may need it again.
    const isKept = first.body !== null && !isStream(init?.body ?? first.body)
    const body = isKept ? await first.blob() : first.body
    const isFollowing = first.redirect === 'follow'
    const sendTo = ({ url, method, headers, body }: Hop, token: Kept | undefined) => {
      const sent = new Headers(headers)
      if (token !== undefined) sent.set(token.header, token.headerValue)
      const redirect = isFollowing ? 'manual' : first.redirect
      return send(
        new Request(url, { ...init, ...sharedBy(first), method, headers: sent, body, redirect, ...HALF }),
      )
    }
    let token: Kept | undefined = await tokens.current()
    const headers = new Headers(first.headers)
    headers.delete(token.header)
    let hop: Hop = { url: new URL(first.url), method: first.method, headers, body }
    for (let count = 0; ; count++) {
      let response = await sendTo(hop, token)
      if (token !== undefined && response.status === 401) {
        // Where there is no other token, the answer of the API says what is wrong.
        const renewed: Kept | undefined = await tokens.after(token).catch(() => undefined)
        const isRepeatable = !(hop.body instanceof ReadableStream)
        if (renewed !== undefined && renewed.value !== token.value && isRepeatable) {
          await response.body?.cancel()
          token = renewed
          response = await sendTo(hop, token)
        }
      }
      const location = response.headers.get('location')
      if (!isFollowing || !REDIRECTS.has(response.status) || location === null)
        return count === 0 ? response : redirected(response)
      await response.body?.cancel()
      if (count === REDIRECTS_MAX) throw new TypeError(`more than ${REDIRECTS_MAX} redirects`)
      hop = nextHop(hop, response.status, location)
      if (hop.url.origin !== new URL(first.url).origin) token = undefined
    }
  }
}

/** One request of those that a redirect leads to. Its headers have no token. */
interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: Blob | ReadableStream | null
}

/** Node wants it where a body is a stream. */
const HALF = { duplex: 'half' } as const

/** The settings that every request takes from the first one. */
function sharedBy(first: Request): RequestInit {
  const { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy, signal } = first
  return { cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy, signal }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Headers that are for one origin. */
const OF_ORIGIN = ['authorization', 'proxy-authorization', 'cookie', 'host']

/** Headers of a body that is gone. */
const OF_BODY = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type']

/**
 * The request after a redirect, as the standard of fetch has it.
 *
 * @throws TypeError where there is none
 */
function nextHop({ url: from, method, headers: earlier, body }: Hop, status: number, location: string): Hop {
  // Bytes of a header are characters here. Those beyond ASCII are UTF-8.
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), from.href)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError('a redirect: expected a URL with http or https')
  if (url.username !== '' || url.password !== '')
    throw new TypeError('a redirect: expected a URL without a user')
  if (status !== 303 && body instanceof ReadableStream)
    throw new TypeError('a redirect: the body is a stream, and cannot be sent again')
  const isGet =
    (status === 303 && method !== 'GET' && method !== 'HEAD') || (status < 303 && method === 'POST')
  const headers = new Headers(earlier)
  const dropped = [...(url.origin === from.origin ? [] : OF_ORIGIN), ...(isGet ? OF_BODY : [])]
  for (const name of dropped) headers.delete(name)
  return isGet ? { url, method: 'GET', headers, body: null } : { url, method, headers, body }
}

/** A response that says that redirects led to it, and so do its clones. */
function redirected(response: Response): Response {
  const clone = () => redirected(Response.prototype.clone.call(response))
  return Object.defineProperties(response, { redirected: { value: true }, clone: { value: clone } })
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
    const nowMs = CLOCK.now()
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
    const { profile, api, project, place } = this.#options
    const { rejected } = this.#token
    const askedAtMs = CLOCK.now()
    const today = Date.now()
    const issued = await this.#client.issue({
      ...{ profile, apis: [api] },
      ...(project !== undefined && { project }),
      ...(place !== undefined && { place }),
      ...(rejected !== undefined && { rejected }),
    })
    const leftMs =
      issued.expiresAt === undefined ? Number.POSITIVE_INFINITY : issued.expiresAt.getTime() - today
    return this.#token.came(issued, leftMs, askedAtMs)
  }
}
