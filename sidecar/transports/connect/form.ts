/**
 * The protocol of a request, by its content type: Connect, with one message or with a stream of them,
 * or gRPC-Web.
 */
import type { IncomingHttpHeaders } from 'node:http'

/** How a request is written, and so its answer. */
export interface Form {
  readonly protocol: 'connect' | 'grpc-web'
  /** Whether each message stands in an envelope that says how long it is. */
  readonly enveloped: boolean
  readonly codec: 'json' | 'proto'
  /** Whether the body is base64. */
  readonly base64: boolean
  /** Content type of the answer. */
  readonly contentType: string
}

const FORMS: ReadonlyMap<string, Form> = new Map(
  [
    connect('application/json', false, 'json'),
    connect('application/proto', false, 'proto'),
    connect('application/connect+json', true, 'json'),
    connect('application/connect+proto', true, 'proto'),
    grpcWeb('application/grpc-web', 'proto', false),
    grpcWeb('application/grpc-web+proto', 'proto', false),
    grpcWeb('application/grpc-web+json', 'json', false),
    grpcWeb('application/grpc-web-text', 'proto', true),
    grpcWeb('application/grpc-web-text+proto', 'proto', true),
  ].map((form) => [form.contentType, form]),
)

/** The content types, for clients that sent another one. */
export const CONTENT_TYPES = [...FORMS.keys()].join(', ')

const JSON_FORM = FORMS.get('application/json') as Form

function connect(contentType: string, enveloped: boolean, codec: Form['codec']): Form {
  return { protocol: 'connect', enveloped, codec, base64: false, contentType }
}

function grpcWeb(contentType: string, codec: Form['codec'], base64: boolean): Form {
  return { protocol: 'grpc-web', enveloped: true, codec, base64, contentType }
}

/** The content type of every body of `curl -d`. */
const CURL_TYPE = 'application/x-www-form-urlencoded'

/** `undefined`: the content type is not one of them. */
export function formOf(headers: IncomingHttpHeaders): Form | undefined {
  const type = headers['content-type']
  return FORMS.get(type ?? '') ?? otherFormOf(type, headers)
}

function otherFormOf(type: string | undefined, headers: IncomingHttpHeaders): Form | undefined {
  const [name = '', ...parameters] = (type ?? '').toLowerCase().split(';')
  const trimmed = name.trim()
  // A page can send this type to any server without asking. Browsers say where a request comes from, and curl
  // does not.
  const fromPage = headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
  if (trimmed === '' || trimmed === CURL_TYPE) return fromPage ? undefined : JSON_FORM
  const isUtf8 = parameters.every((each) => !/^\s*charset\s*=/.test(each) || /=\s*"?utf-8"?\s*$/.test(each))
  return isUtf8 ? FORMS.get(trimmed) : undefined
}
