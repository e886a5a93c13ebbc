/** The request that a proxy asks about, in the headers by which nginx, Caddy, Traefik and HAProxy describe it. */
import type { IncomingMessage } from 'node:http'
import { type FieldViolation, invalidFields } from '../base/call-error.ts'
import type { RouteRequest } from '../routes/route.ts'

/**
 * A client can send these headers, too. So each part of the request comes in one header alone, by one of its names: where a proxy writes one
 * name and lets another one of the client through, nothing is decided.
 */
const METHOD = ['X-Original-Method', 'X-Forwarded-Method'] as const
const URI = ['X-Original-URI', 'X-Forwarded-Uri', 'X-Original-URL'] as const
const HOST = ['X-Forwarded-Host'] as const

/** A whole URL, as Ingress NGINX has it. */
const URL_PARTS = /^https?:\/\/([^/?#]*)(.*)$/i

/** @throws CallError `INVALID_ARGUMENT` that names each header that is missing, or there more than once */
export function readProxiedRequest({
  headersDistinct,
}: Pick<IncomingMessage, 'headersDistinct'>): RouteRequest {
  const violations: FieldViolation[] = []
  const one = (names: readonly string[], mayBeMissing = false): string => {
    const [value, ...more] = names.flatMap((name) => headersDistinct[name.toLowerCase()] ?? [])
    if (more.length > 0 || (!value && !mayBeMissing))
      violations.push({
        field: names[0] ?? '',
        expected: `one header ${names.join(' or ')}, which the proxy writes`,
      })
    return value ?? ''
  }
  const method = one(METHOD)
  const uri = one(URI)
  const [, urlHost, urlTarget] = URL_PARTS.exec(uri) ?? []
  const host = one(HOST, urlHost !== undefined)
  if (urlHost !== undefined && host !== '' && host.toLowerCase() !== urlHost.toLowerCase())
    violations.push({ field: 'X-Forwarded-Host', expected: 'the host of X-Original-URL' })
  if (violations.length > 0) throw invalidFields(violations)
  return {
    method,
    host: urlHost ?? host,
    target: urlTarget ?? uri,
    header: (name) => headersDistinct[name],
  }
}
