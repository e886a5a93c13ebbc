/**
 * Opens egress: reads its routes, looks at them under the matrix, and starts its server. Loaded only where it
 * is configured.
 */
import type { ConnectionSource } from '../../base/net/connections.ts'
import { type Config, ConfigError } from '../../config/config.ts'
import { readRoutes } from '../../config/egress.ts'
import {
  type EgressServer,
  type EgressServices,
  egressAddressOf,
  type Route,
  startEgress,
} from '../../egress/egress-server.ts'
import type { Ruled } from '../../usecases/capabilities.ts'
import { routeProblems } from '../../usecases/egress.ts'
import type { Profiles } from '../../usecases/profiles.ts'

export type RoutedServices = EgressServices & Ruled & { readonly profiles: Profiles }

/** Starts the server. @throws Error if the address is in use */
export type OpenEgress = (
  address: string,
  connections: ConnectionSource | undefined,
  maxConnections: number,
  headersMs: number | undefined,
) => Promise<EgressServer>

/**
 * Reads the routes of the configuration. What it returns looks at them under the matrix.
 *
 * @throws ConfigError, or an Error about the address
 */
export function readEgress(
  config: Config,
  profiles: ReadonlySet<string>,
): (services: RoutedServices) => OpenEgress {
  egressAddressOf(config.egress.address)
  const routes = readRoutes(config, profiles)
  return (services) => openerUnder(services, routes)
}

/** @throws ConfigError where a route can never be used */
function openerUnder(services: RoutedServices, routes: readonly Route[]): OpenEgress {
  const { rules, profiles, log } = services
  const hasStaticToken = (profile: string) => profiles.get(profile)?.staticToken !== undefined
  const problems = routeProblems(rules.engine, routes, hasStaticToken)
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  for (const { path, api } of routes)
    if (rules.engine.apis.get(api)?.accepted.length === 0)
      log.warn(
        { route: path, api },
        'the matrix denies every token for this route, so all of its requests are refused',
      )
  return (address, connections, maxConnections, headersMs) =>
    startEgress(services, { address, routes, connections, maxConnections, headersMs })
}
