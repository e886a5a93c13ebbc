/** The configuration of HTTP, in the words of its server. */
import type { Config } from '../../config/config.ts'
import { readProxySecrets } from '../../config/secret-files.ts'
import { isForThisMachine } from '../../config/this-machine.ts'
import type { HttpOptions } from '../../http/options.ts'

/** Of a permission, where the configuration names no roles. */
const ROLES = ['member']

/** Of a configuration with https that does not say it. */
const HSTS_DAYS = 365

export function httpOptionsOf({ directory, grpc, http }: Config): HttpOptions {
  const { trusted_proxies: addresses = [], proxy_secret_file: path } = http
  const isElsewhere = directory.hub !== undefined
  const callersOnly = !isForThisMachine({ grpc, http })
  return {
    address: http.address,
    secure: http.tls !== undefined,
    hstsDays: http.tls?.hsts_days ?? HSTS_DAYS,
    publicUrl: http.public_url,
    region: http.region,
    catalog: http.catalog ?? [],
    headerBytesMax: http.max_header_bytes,
    v3AtRoot: http.compatibility.v3_at_root,
    identity: isElsewhere ? undefined : identityOptionsOf(http),
    authorize: http.authorize,
    jwks: http.jwks && !isElsewhere,
    console: http.console ? { verify: http.connect, callersOnly } : undefined,
    authzen: http.authzen ? { callersOnly, evaluationsMax: grpc.max_batch_length } : undefined,
    proxies:
      addresses.length === 0 && path === undefined
        ? undefined
        : {
            addresses,
            secrets: path === undefined ? undefined : { path, read: () => readProxySecrets(path) },
          },
  }
}

function identityOptionsOf(http: Config['http']): HttpOptions['identity'] {
  return {
    settings: {
      roles: {
        account: http.roles?.account ?? ROLES,
        projects: http.roles?.projects ?? ROLES,
        byRole: new Map(Object.entries(http.roles?.by_role ?? {})),
      },
      unscopedLogin: http.compatibility.unscoped_login,
      tokenMethod: http.compatibility.token_method,
      applicationCredentials: http.compatibility.application_credentials,
    },
    defaultDomain: http.compatibility.default_domain,
    listScopes: http.compatibility.list_scopes,
  }
}
