/** The spans of a request: of what the application asks, and of what the target is asked. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Span, type SpanFacts, serverAttributes } from '../base/tracing.ts'
import type { Route, Target } from './target.ts'

/** Paths and queries are the application's, and may have anything in them. */
export function spanOf({ method = '' }: IncomingMessage, { path, api, profile }: Route): SpanFacts {
  return {
    name: `egress ${path}`,
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'http.route': path,
      'portcullis.api': api,
      'portcullis.profile': profile,
    },
  }
}

export function endWith(span: Span, response: ServerResponse): void {
  response.once('close', () => {
    // The application may have left before its answer.
    if (response.headersSent) tellStatus(span, response.statusCode, 500)
    span.end()
  })
}

/** The span of one request to a target. */
export function attemptOf(span: Span, { route }: Target, method = ''): Span {
  return span.child({
    name: method,
    kind: 'client',
    attributes: { 'http.request.method': method, ...serverAttributes(route.url) },
  })
}

/** @param failures statuses from here on are failures: to a client, those of its requests are too */
export function tellStatus(span: Span, status: number, failures: 400 | 500): void {
  span.set({ 'http.response.status_code': status })
  if (status >= failures) span.failed(String(status))
}

/** The headers of a request that belongs to the span. */
export function joining(headers: readonly string[], { fields }: Span): string[] {
  const joined = Object.entries(fields).flat()
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string
    if (!/^trace(?:parent|state)$/i.test(name)) joined.push(name, headers[index + 1] as string)
  }
  return joined
}
