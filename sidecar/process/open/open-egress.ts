/** Opens egress: reads its routes, and starts its server. Loaded only where it is configured. */
import type { ConnectionSource } from '../../base/net/connections.ts'
import type { Config } from '../../config/config.ts'
import { readRoutes } from '../../config/egress-config.ts'
import {
  type EgressServer,
  type EgressServices,
  egressAddressOf,
  type Route,
  startEgress,
} from '../../egress/egress-server.ts'
import type { Ruled } from '../../usecases/capabilities.ts'
import { routeProblems } from '../../usecases/egress.ts'
import type { ProblemsUnder } from './under-matrix.ts'

export type RoutedServices = EgressServices & Ruled

/** Starts the server. @throws Error if the address is in use */
export type OpenEgress = (
  address: string,
  connections: ConnectionSource | undefined,
  maxConnections: number,
  headersMs: number | undefined,
) => Promise<EgressServer>

/** Egress of a configuration, before the matrix is known. */
export interface ReadEgress {
  readonly problemsUnder: ProblemsUnder
  readonly openerFor: (services: RoutedServices) => OpenEgress
}

/** Reads the routes of the configuration. @throws ConfigError, or an Error about the address */
export function readEgress(config: Config, profiles: ReadonlySet<string>): ReadEgress {
  egressAddressOf(config.egress.address)
  const routes = readRoutes(config, profiles)
  const factsOf = (name: string) => {
    const { static_token_file, projects } = config.profiles?.[name] ?? {}
    return { hasStaticToken: static_token_file !== undefined, projectsOnly: projects !== undefined }
  }
  return {
    problemsUnder: (engine) => routeProblems(engine, routes, factsOf),
    openerFor: (services) => openerFor(services, routes, config.egress.max_header_bytes),
  }
}

function openerFor(services: RoutedServices, routes: readonly Route[], headerBytesMax: number): OpenEgress {
  const { rules, log } = services
  for (const { path, api } of routes)
    if (rules.engine.apis.get(api)?.accepted.length === 0)
      log.warn(
        { route: path, api },
        'the matrix denies every token for this route, so all of its requests are refused',
      )
  return (address, connections, maxConnections, headersMs) =>
    startEgress(services, { address, routes, headerBytesMax, connections, maxConnections, headersMs })
}
