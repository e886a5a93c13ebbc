/**
 * The request that a proxy asks about, in the headers by which nginx, Caddy, Traefik and HAProxy describe it.
 */
import type { IncomingMessage } from 'node:http'
import { type FieldViolation, invalidFields } from '../base/call-error.ts'
import { PATH_OVERRIDES } from '../rules/routes/overrides.ts'
import type { RouteRequest } from '../rules/routes/route.ts'

/** A whole URL: `X-Original-URL`, as Ingress NGINX has it. */
const URL_PARTS = /^https?:\/\/([^/?#]+)(.*)$/i

/** A header with its value. */
interface Named {
  readonly name: string
  readonly value: string
}

/**
 * Reads each part of the request from one header. A client can send such headers, too: where the proxy writes
 * one name and lets another one of the client through, nothing is decided.
 *
 * @throws CallError `INVALID_ARGUMENT` that names each header that is missing, or there more than once
 */
export function readProxiedRequest({
  headersDistinct,
}: Pick<IncomingMessage, 'headersDistinct'>): RouteRequest {
  const violations: FieldViolation[] = []
  const expectOne = (first: string, ...others: readonly string[]): Named | undefined => {
    const names = [first, ...others]
    const found = names.flatMap((name) =>
      (headersDistinct[name.toLowerCase()] ?? []).map((value) => ({ name, value })),
    )
    const [one, ...more] = found
    if (one !== undefined && one.value !== '' && more.length === 0) return one
    const expected = `one header ${names.join(' or ')}, which the proxy writes`
    violations.push({ field: first, expected })
    return undefined
  }
  const method = expectOne('X-Original-Method', 'X-Forwarded-Method')
  const uri = expectOne('X-Original-URI', 'X-Forwarded-Uri', 'X-Original-URL')
  const url = uri?.name === 'X-Original-URL' ? URL_PARTS.exec(uri.value) : null
  const urlHost = url?.[1]
  const named = headersDistinct['x-forwarded-host'] !== undefined
  const host = urlHost !== undefined && !named ? urlHost : expectOne('X-Forwarded-Host')?.value
  if (urlHost !== undefined && host?.toLowerCase() !== urlHost.toLowerCase())
    violations.push({ field: 'X-Forwarded-Host', expected: 'the host of X-Original-URL' })
  if (violations.length > 0) throw invalidFields(violations)
  return {
    method: (method as Named).value,
    host,
    target: url?.[2] ?? (uri as Named).value,
    // The proxy's own word for the path overrides none.
    header: (name) => (name === 'x-original-url' ? undefined : headersDistinct[name]),
  }
}

/**
 * Whether a header of the client overrides the path that the proxy goes by. `X-Original-URL` is the proxy's
 * own word for it, where no other one is there.
 */
export function overridesPath({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): boolean {
  const isThere = (name: string) => headersDistinct[name] !== undefined
  const described = isThere('x-original-uri') || isThere('x-forwarded-uri')
  return PATH_OVERRIDES.some((name) => isThere(name) && (described || name !== 'x-original-url'))
}
