/**
 * `@portcullis/client/node`: lets requests pass whose token opens an API, with `node:http`, Express and
 * Connect.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Gate, headersOf, keepAnswer, type RoutedOptions, requestOf, type TokenOptions } from './gate.ts'

export { answerOf, type RoutedOptions, type TokenOptions } from './gate.ts'

/**
 * A middleware that calls `next` only if the sidecar allows the request, and answers it otherwise: 401 or 403
 * with what would be accepted, 503 where there is no answer.
 *
 * @param guarding id of the API and options; or `{ routes: true }` with options, where the routes of the
 *   sidecar say the API and the target
 */
export function requireToken<Request extends IncomingMessage = IncomingMessage>(
  ...guarding: [api: string, options?: TokenOptions<Request>] | [options: RoutedOptions<Request>]
): (request: Request, response: ServerResponse, next: () => void) => void {
  const gate = new Gate(guarding)
  return (request, response, next) => {
    const leaving = new AbortController()
    const leave = () => leaving.abort()
    response.once('close', leave)
    const headers = headersOf(request)
    // Express knows which of its proxies to believe.
    const { ip = request.socket.remoteAddress } = request as { readonly ip?: string | undefined }
    void gate
      .judge(request, {
        headers,
        request: requestOf(request, headers),
        address: ip,
        signal: leaving.signal,
      })
      .then((verdict) => {
        response.removeListener('close', leave)
        if (verdict.type === 'denied') {
          const { status, headers, body } = verdict.denial
          response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
        }
        if (verdict.type !== 'passes') return
        keepAnswer(request, verdict.answer)
        next()
      })
  }
}
