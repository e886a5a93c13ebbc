/**
 * Names of client certificates: the ones that the configuration gives to callers, and the ones in a
 * certificate.
 */

/** A DNS name in lower case, or a URI as it is. The same name is always the same text. */
export type CertificateName = `dns:${string}` | `uri:${string}`

/** The form of names of a certificate, for errors. */
export const DNS_EXPECTED = 'a DNS name without a wildcard, for example worker.example'
export const URI_EXPECTED =
  'a URI of ASCII characters without quotes, commas and backslashes, for example spiffe://example/worker'

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const DNS_NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`)

/** Printable ASCII without what Node quotes in its list of names: quotes, backslashes and commas. */
const URI = /^(?=.{1,2048}$)[a-z][a-z0-9+.-]*:[!#-&(-+\--[\]-~]+$/i

/** `undefined`: not a DNS name. A wildcard is not one, because a caller is one name. */
export function dnsName(text: string): CertificateName | undefined {
  const name = text.toLowerCase()
  return DNS_NAME.test(name) ? `dns:${name}` : undefined
}

/** `undefined`: not a URI, or one with characters that a URI has only encoded. */
export function uriName(text: string): CertificateName | undefined {
  return URI.test(text) ? `uri:${text}` : undefined
}

/**
 * One entry of Node's text. Node quotes a value that could be mistaken for several entries (CVE-2021-44532),
 * so a quote begins a value or there is none.
 */
const ENTRY = /([A-Za-z0-9 ]+):(?: ?"((?:[^"\\]|\\.)*)"|([^"'\\,]*))(?:, |$)/y

/**
 * The DNS names and URIs of a certificate. Entries of other types, quoted ones and wildcards are left out. A
 * text that does not have Node's form has no names.
 *
 * @param subjectAltName as Node writes it: `DNS:worker.example, URI:spiffe://example/worker`
 */
export function namesOfCertificate(subjectAltName: string | undefined): readonly CertificateName[] {
  const text = subjectAltName ?? ''
  const names = new Set<CertificateName>()
  for (let at = 0; at < text.length; at = ENTRY.lastIndex) {
    ENTRY.lastIndex = at
    const [, type, quoted, value = ''] = ENTRY.exec(text) ?? []
    if (type === undefined) return []
    if (quoted !== undefined) continue
    const name = type === 'DNS' ? dnsName(value) : type === 'URI' ? uriName(value) : undefined
    if (name !== undefined) names.add(name)
  }
  return [...names]
}
