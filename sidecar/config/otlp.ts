/** Reads the parts of the configuration about endpoints of OpenTelemetry. */
import { bareHost, isLoopback } from '../base/address.ts'
import type { Secret } from '../base/secret.ts'
import { ConfigError } from './config.ts'
import { readSecret } from './configured-callers.ts'
import type { ConfigKeys } from './gen/config-keys.ts'
import { readCertificates } from './profiles-config.ts'

/** An endpoint, with the keys of the file. */
type OtlpSettings = ConfigKeys['traces']['otlp']

export interface OtlpOptions {
  readonly url: URL
  /** Value of the header `authorization`, if there is one. */
  readonly authorization: Secret | undefined
  /** Certificates in PEM; `undefined`: those that Node trusts. */
  readonly ca: string | undefined
  /** How long a request may take in all, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * @param at key of the settings
 * @param because the secret that an endpoint learns
 * @throws ConfigError that names the key
 */
export function otlpOptionsOf(
  at: string,
  text: string,
  { ca, authorization_file: file, timeout_ms: timeoutMs }: OtlpSettings,
  because: string,
): OtlpOptions {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.hash !== '')
    throw new ConfigError(`${at}.url: expected a URL without a user name and without a fragment`)
  if (url.protocol !== 'https:' && !isLoopback(bareHost(url.hostname)))
    throw new ConfigError(`${at}.url: expected https, or an address of this machine: ${because}`)
  return {
    ...{ url, timeoutMs },
    authorization: file === undefined ? undefined : readSecret(`${at}.authorization_file`, file),
    ca: ca === undefined ? undefined : readCertificates(`${at}.ca`, ca),
  }
}
