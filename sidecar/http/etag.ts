/** Answers that a client may have already (RFC 9110 §13.1.2). */
import type { HttpReply } from '../base/http/exchange.ts'

/**
 * Sends the body, or 304 where the client has it.
 *
 * @param body made only where it is sent
 * @param version names exactly this body; any text without quotes
 * @param known the header `If-None-Match`
 */
export function sendIfChanged(
  reply: HttpReply,
  body: Buffer | (() => Buffer),
  version: string,
  known: string | undefined,
): HttpReply {
  const etag = `"${version}"`
  reply.header('etag', etag)
  if (isNamed(etag, known)) return reply.code(304).send()
  return reply.send(typeof body === 'function' ? body() : body)
}

function isNamed(etag: string, header = ''): boolean {
  const named = header.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return named.includes(etag) || named.includes('*')
}
