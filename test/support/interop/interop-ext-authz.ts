/** The configurations of examples/envoy, changed as a test needs them. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { repository } from './command.ts'

const EXAMPLE = join(repository, 'examples/envoy')

/** The part of a configuration that tests change; the rest is as it is. */
// biome-ignore lint/suspicious/noExplicitAny: as Envoy has it
type Tree = any

export interface EnvoyConfiguration {
  readonly whole: Tree
  /** The HTTP connection manager. */
  readonly manager: Tree
  /** The filter that asks. */
  readonly filter: Tree
}

/**
 * @param file of examples/envoy
 * @param addresses `HOST:PORT` by the name of the cluster
 */
export function envoyExample(
  file: 'envoy.yaml' | 'envoy-http.yaml',
  addresses: Readonly<Record<'portcullis' | 'application', string>>,
): EnvoyConfiguration {
  const whole: Tree = parse(readFileSync(join(EXAMPLE, file), 'utf8'))
  const { listeners, clusters } = whole.static_resources
  listeners[0].address.socket_address.port_value = 0
  for (const cluster of clusters) {
    const [address, port] = addresses[cluster.name as keyof typeof addresses].split(':')
    const [endpoint] = cluster.load_assignment.endpoints[0].lb_endpoints
    endpoint.endpoint.address.socket_address = { address, port_value: Number(port) }
  }
  const manager = listeners[0].filter_chains[0].filters[0].typed_config
  return { whole, manager, filter: manager.http_filters[0].typed_config }
}

/** Leaves it to the routes of the sidecar which API a request is for, and whose resource it asks for. */
export function leaveToSidecar({ manager }: EnvoyConfiguration): void {
  for (const { typed_per_filter_config: filters } of manager.route_config.virtual_hosts[0].routes)
    for (const name of ['api', 'account', 'project'])
      delete filters?.['envoy.filters.http.ext_authz'].check_settings.context_extensions[name]
}

/** Adds a route before the others. */
export function addRoute(
  { manager }: EnvoyConfiguration,
  prefix: string,
  context: Readonly<Record<string, string>>,
): void {
  manager.route_config.virtual_hosts[0].routes.unshift({
    match: { prefix },
    route: { cluster: 'application' },
    typed_per_filter_config: {
      'envoy.filters.http.ext_authz': {
        '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute',
        check_settings: { context_extensions: context },
      },
    },
  })
}

/** Copies the files of the example, with other addresses: those that it shows → those that they are. */
export function copyEnvoyExample(folder: string, addresses: Readonly<Record<string, string>>): void {
  for (const file of readdirSync(EXAMPLE)) {
    let text = readFileSync(join(EXAMPLE, file), 'utf8')
    for (const [shown, actual] of Object.entries(addresses))
      text = text
        .replaceAll(shown, actual)
        // Envoy's files have the port in a separate field.
        .replaceAll(`port_value: ${shown.split(':')[1]} `, `port_value: ${actual.split(':')[1]} `)
    writeFileSync(join(folder, file), text)
  }
}
