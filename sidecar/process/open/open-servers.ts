/** Starts the servers: gRPC, HTTP and egress. */
import type { ConnectionSource } from '../../base/net/connections.ts'
import { expectDescriptors } from '../../base/net/descriptors.ts'
import type { Config } from '../../config/config.ts'
import { grpcLimitsOf } from '../../config/grpc-limits.ts'
import { socketAccessOf } from '../../config/socket-access.ts'
import type { HttpServices } from '../../http/http-server.ts'
import type { HttpTimeLimits } from '../../http/options.ts'
import { httpOptionsOf } from './http-options.ts'
import type { OpenCertificates } from './open-certificates.ts'
import type { OpenEgress } from './open-egress.ts'
import { type GrpcServices, startGrpcServer } from './open-grpc.ts'

export interface Addresses {
  /** Address of gRPC: `HOST:PORT` or `unix:PATH`. */
  readonly grpcAddress: string
  /** Address of HTTP; `undefined` if it is off. */
  readonly httpAddress: string | undefined
  /** Address of egress: `HOST:PORT` or `unix:PATH`; `undefined` if it is off. */
  readonly egressAddress: string | undefined
}

interface ServerOptions {
  readonly connections?: ConnectionSource
  readonly times?: { readonly http?: Partial<HttpTimeLimits> }
}

export interface Servers {
  readonly addresses: Addresses
  reload(): void
  close(): Promise<void>
}

/** If one fails, none keeps running. */
export async function startServers(
  services: GrpcServices & HttpServices,
  config: Config,
  certificates: OpenCertificates,
  { connections, times }: ServerOptions,
  openEgress: OpenEgress | undefined,
): Promise<Servers> {
  const room = expectDescriptors(config)
  await using opening = new AsyncDisposableStack()
  const grpc = await startGrpcServer(services, {
    ...grpcLimitsOf(config, room.grpc),
    transport: config.grpc.transport,
    address: config.grpc.address,
    socket: socketAccessOf(config),
    anyClient: config.grpc.tls?.any_client ?? false,
    certificates: certificates.grpc,
    connections,
  })
  opening.defer(() => grpc.close(config.drain_ms))
  const contract =
    config.http.connect && config.http.address !== 'off'
      ? (await import('./open-contract.ts')).openContract(services, config, grpc.methods)
      : undefined
  const http =
    config.http.address === 'off'
      ? undefined
      : await (await import('../../http/http-server.ts')).startHttpServer(services, {
          ...httpOptionsOf(config),
          contract: contract?.routes,
          certificates: certificates.http,
          connections,
          maxConnections: room.http,
          timeLimits: times?.http,
        })
  opening.defer(() => http?.close())
  const egress = await openEgress?.(config.egress.address, connections, room.egress, times?.http?.headersMs)
  opening.move()
  return {
    addresses: {
      grpcAddress: grpc.address,
      httpAddress: http?.address,
      egressAddress: egress?.address,
    },
    reload: () => http?.reload(),
    close: async () => {
      services.health.stop()
      await Promise.all([grpc, contract, egress].map((each) => each?.close(config.drain_ms)))
      await http?.close()
    },
  }
}
