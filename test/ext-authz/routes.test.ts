/**
 * Envoy's requests by the routes of the configuration, over gRPC and over HTTP: the rows of every protocol.
 */

import { startIdentity } from '../support/identity/identity.ts'
import { holdsToRoutes, ROUTES, type RoutedOutcome, type RoutedRow } from '../support/inputs/paths.ts'
import { EnvoyClient } from '../support/proxies/ext-authz.ts'
import { httpBehindProxy, PROXY_SECRET } from '../support/proxies/proxied.ts'
import { canBeSent } from '../support/proxies/routed-middleware.ts'
import { newFile } from '../support/suite/resources.ts'

const config = newFile(
  JSON.stringify({ http: httpBehindProxy({ authorize: true }), routes: ROUTES }),
  'config.json',
)
const { ask, running } = await startIdentity({ config })
const envoy = new EnvoyClient(running.address)

/** The result of the routes, by the denial of a request without a credential. */
function outcomeOf(body: unknown): RoutedOutcome {
  const { reason, message } = (body as { error: { reason: string; message: string } }).error
  if (reason !== 'CREDENTIAL_MISSING') return { refused: reason } as RoutedOutcome
  return { api: /`([a-z0-9-]+)` accepts/.exec(message)?.[1] ?? message }
}

const pairs = ({ headers }: RoutedRow) =>
  Object.entries(headers).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const))

for (const raw of [true, false])
  holdsToRoutes(`ext_authz with ${raw ? 'headers as they came' : 'headers joined'}`, async (row) => {
    const { method, host, target } = row
    return outcomeOf((await envoy.ask({ method, host, path: target, raw, headers: pairs(row) })).body)
  })

holdsToRoutes(
  'ext_authz over HTTP',
  async ({ method, host, target, headers }) => {
    const { json, status } = await ask({
      method: method === 'HEAD' ? 'GET' : method,
      path: `/ext-authz/routes${target}`,
      headers: { 'x-portcullis-proxy-secret': PROXY_SECRET, ...headers, host },
    })
    if (status === 400) return { refused: 'NOT_CANONICAL' }
    return outcomeOf(json)
  },
  canBeSent,
)
