/** The transports that gRPC is served on. What is proved of one is proved of each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Demo, type Served, serve, serveDemo } from '../processes.ts'
import { newFolder } from '../resources.ts'
import { repository } from './command.ts'

export type Transport = 'grpc-js' | 'sockets'

/** Those that the configuration knows. */
export const transports: readonly Transport[] = configured()

function configured(): readonly Transport[] {
  const schema = readFileSync(join(repository, 'sidecar', 'config', 'config.schema.json'), 'utf8')
  return JSON.parse(schema).properties.grpc.properties.transport?.enum ?? ['grpc-js']
}

export interface TransportOptions {
  readonly flags?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a development sidecar whose gRPC runs on the transport. */
export function serveDemoOn(
  transport: Transport,
  options: TransportOptions = {},
): Promise<Served & { readonly demo: Demo }> {
  return serveDemo(...started(transport, options))
}

/** Starts a sidecar whose gRPC runs on the transport. */
export function serveOn(transport: Transport, options: TransportOptions = {}): Promise<Served> {
  return serve(...started(transport, options))
}

function started(transport: Transport, { flags = [], environment = {} }: TransportOptions) {
  const data = join(newFolder(), 'data')
  const chosen = transports.length > 1 ? { PORTCULLIS_GRPC_TRANSPORT: transport } : {}
  return [['--data', data, ...flags], { environment: { ...environment, ...chosen } }] as const
}
