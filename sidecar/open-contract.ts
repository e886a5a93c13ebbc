/** Opens the contract over HTTP: who may call there, and the routes. Loaded only where it is configured. */
import { join } from 'node:path'
import { isLoopback, parseAddress } from './base/address.ts'
import { protoFolder } from './base/package.ts'
import { type Config, grpcLimitsOf } from './config/config.ts'
import { forCallersByToken } from './grpc/admission.ts'
import type { Methods } from './grpc/call.ts'
import { ContractCalls } from './grpc/connect/server.ts'
import { EXT_AUTHZ_SERVICE } from './grpc/ext-authz/methods.ts'
import { failure } from './grpc/handler.ts'
import { ContractRoutes } from './http/contract.ts'
import type { Services } from './usecases/services.ts'

export interface OpenContract {
  readonly routes: ContractRoutes
  /** Lets calls end for up to `drainMs`, then ends them. */
  close(drainMs: number): Promise<void>
}

/** @param methods of gRPC, for whoever reaches them */
export function openContract(services: Services, config: Config, methods: Methods): OpenContract {
  const served = ofContract(methods)
  const calls = new ContractCalls(isForThisMachine(config) ? served : forCallersByToken(served, services), {
    ...grpcLimitsOf(config),
    statusOf: (error) => failure(services.trace, error),
  })
  const routes = new ContractRoutes({
    calls,
    origins: config.http.cors?.origins ?? [],
    document: join(protoFolder, 'openapi.json'),
  })
  return { routes, close: (drainMs) => calls.close(drainMs) }
}

/** All but Envoy's service. Envoy speaks gRPC, and over HTTP it asks at a path of its own, where it proves that it is a known proxy. */
function ofContract(methods: Methods): Methods {
  return new Map([...methods].filter(([path]) => !path.startsWith(`/${EXT_AUTHZ_SERVICE}/`)))
}

/**
 * Whether every program of this machine may call over gRPC, and HTTP is for this machine alone. Then nobody can do more over HTTP
 * than over gRPC. A Unix socket, client certificates, a proxy and a public URL each say that not everybody may.
 */
function isForThisMachine({ grpc, http }: Config): boolean {
  const address = parseAddress('grpc.address', grpc.address)
  const openGrpc = address.type === 'tcp' && isLoopback(address.host) && grpc.tls === undefined
  const proxied = (http.trusted_proxies ?? []).length > 0 || !isOfThisMachine(http.public_url)
  return openGrpc && http.tls === undefined && !proxied
}

function isOfThisMachine(url: string | undefined): boolean {
  return url === undefined || isLoopback(new URL(url).hostname.replace(/^\[(.*)\]$/, '$1'))
}
