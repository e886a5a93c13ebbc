/**
 * Answers over HTTP/1.1 have the names of their headers as documents write them: scripts look for
 * `X-Subject-Token` with `grep` and `awk`, which know capitals. In HTTP/2 every name is in small letters.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http'

// Not imported, because an import makes Node create every export of the module, and some of them are large.
const { ServerResponse } = process.getBuiltinModule('node:http')

/** Every name of ours, as its document writes it. Other names, of targets of egress, go back as they came. */
const NAMES = [
  ...['Accept-Post', 'Allow', 'Cache-Control', 'Connection', 'Content-Disposition', 'Content-Length'],
  ...[
    'Content-Security-Policy',
    'Content-Type',
    'Cross-Origin-Opener-Policy',
    'Cross-Origin-Resource-Policy',
  ],
  ...['Access-Control-Allow-Credentials', 'Access-Control-Allow-Headers', 'Access-Control-Allow-Methods'],
  ...['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Access-Control-Max-Age'],
  ...['ETag', 'Location', 'Proxy-Authenticate', 'Referrer-Policy', 'Retry-After', 'Set-Cookie'],
  ...['Strict-Transport-Security', 'Vary', 'WWW-Authenticate', 'X-Accel-Buffering', 'X-Content-Type-Options'],
  ...['X-Auth-Token', 'X-Openstack-Request-Id', 'X-Request-Id', 'X-Subject-Token'],
  ...['Portcullis-Reason', 'X-Portcullis-Denial', 'X-Portcullis-Reason', 'X-Portcullis-Would-Deny'],
  ...['X-Portcullis-Account', 'X-Portcullis-Authority', 'X-Portcullis-Kind', 'X-Portcullis-Project'],
  ...['X-Portcullis-Rules-Digest', 'X-Portcullis-Token-Id', 'X-Portcullis-User-Id'],
  ...['X-Portcullis-User-Name', 'X-Portcullis-User-Type'],
]

const WRITTEN: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [name.toLowerCase(), name]))

/** @param name as the code has it; one with capitals stays as it is */
function asWritten(name: string): string {
  return WRITTEN.get(name) ?? name
}

/** The response class of a server of HTTP/1.1: `createServer({ ServerResponse: WrittenResponse })`. */
export class WrittenResponse<
  Request extends IncomingMessage = IncomingMessage,
> extends ServerResponse<Request> {
  override writeHead(status: number, ...rest: unknown[]): this {
    const headers = rest.pop()
    // Text: the phrase that goes with the status.
    if (typeof headers !== 'object' || headers === null) rest.push(headers)
    else rest.push(written(headers as OutgoingHttpHeaders | OutgoingHttpHeader[]))
    return super.writeHead(status, ...(rest as [OutgoingHttpHeader[]]))
  }

  override setHeader(name: string, value: number | string | readonly string[]): this {
    return super.setHeader(asWritten(name), value)
  }
}

/** Names and values in turn, which Node writes as they are. */
function written(headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): OutgoingHttpHeader[] {
  const fields: OutgoingHttpHeader[] = []
  if (Array.isArray(headers))
    for (let index = 0; index < headers.length; index += 2)
      fields.push(asWritten(String(headers[index])), headers[index + 1] as OutgoingHttpHeader)
  else for (const name in headers) fields.push(asWritten(name), headers[name] as OutgoingHttpHeader)
  return fields
}

/** An answer for a connection that has no response, as text. The connection ends with it. */
export function answerText(
  status: number,
  title: string,
  headers: Readonly<Record<string, string | number>>,
  body: string,
): string {
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${asWritten(name)}: ${value}\r\n`,
  )
  return `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`
}
