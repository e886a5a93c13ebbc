/** The transports that gRPC is served on. What is proved of one is proved of each. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Demo, type Served, serveDemo } from '../processes/processes.ts'
import { newFolder } from '../suite/resources.ts'
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

/** A sidecar, with what its data folder says. */
interface Started {
  /** The data folder. */
  readonly data: string
  /** The caller token of its administrator. */
  readonly administratorToken: string
}

/** Starts a development sidecar whose gRPC runs on the transport. */
export async function serveDemoOn(
  transport: Transport,
  { flags = [], environment = {} }: TransportOptions = {},
): Promise<Served & Started & { readonly demo: Demo }> {
  const data = join(newFolder(), 'data')
  const chosen = transports.length > 1 ? { PORTCULLIS_GRPC_TRANSPORT: transport } : {}
  const served = await serveDemo(['--data', data, ...flags], { environment: { ...environment, ...chosen } })
  const administratorToken = readFileSync(join(data, 'administrator-token'), 'utf8').trim()
  return { ...served, data, administratorToken }
}
