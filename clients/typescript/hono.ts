/**
 * `@portcullis/client/hono`: lets requests pass whose token opens an API, with Hono on Node.
 *
 * @module
 */
import { Gate, keepAnswer, type RoutedOptions, type TokenOptions } from './gate.ts'
import type { HttpRequest } from './local-routes.ts'

export { answerOf, type RoutedOptions, type TokenOptions } from './gate.ts'

/** The used parts of Hono's context. */
export interface Context {
  readonly req: { readonly raw: Pick<Request, 'headers' | 'signal' | 'method' | 'url'> }
  /** Hono's server for Node has the request itself in it. */
  readonly env?: unknown
}

/**
 * A middleware that goes on only if the sidecar allows the request, and answers it otherwise: 401 or 403 with
 * what would be accepted, 503 where there is no answer. Hono does not know the address of the sender, so
 * accounts that restrict addresses need `clientAddress`.
 *
 * @param guarding id of the API and options; or `{ routes: true }` with options, where the routes of the
 *   sidecar say the API and the target
 */
export function requireToken<HonoContext extends Context = Context>(
  ...guarding: [api: string, options?: TokenOptions<HonoContext>] | [options: RoutedOptions<HonoContext>]
  // biome-ignore lint/suspicious/noConfusingVoidType: a middleware of Hono returns nothing where the next one answers.
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | void> {
  const gate = new Gate(guarding)
  return async (context, next) => {
    const { headers, signal } = context.req.raw
    const request = requestIn(context)
    const verdict = await gate.judge(context, { headers, request, address: undefined, signal })
    switch (verdict.type) {
      case 'passes':
        keepAnswer(context, verdict.answer)
        return next()
      case 'denied': {
        const { status, headers: answered, body } = verdict.denial
        // A copy: Hono's server for Node writes the length of the body into what it is given.
        return new Response(body, { status, headers: { ...answered } })
      }
      case 'left':
        // No client sees it: 499 is what proxies log for a client that has left.
        return new Response(null, { status: 499 })
    }
  }
}

/** A `Request` has no path as it arrived, but one without dots. */
function requestIn({ env, req: { raw } }: Context): HttpRequest {
  const { incoming } = (env ?? {}) as { readonly incoming?: { readonly url?: string } }
  const [, , ofUrl = ''] = /^([a-z]+:\/\/[^/?#]*)(.*)$/is.exec(raw.url) ?? []
  return { method: raw.method, host: raw.headers.get('host') ?? '', path: incoming?.url ?? ofUrl }
}
