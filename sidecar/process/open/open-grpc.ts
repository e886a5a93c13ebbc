/** The gRPC server: the services, health and reflection, on one of the transports. */

import type { Forward } from '../../authority/elsewhere.ts'
import type { Health } from '../../base/health.ts'
import { forCallersByCertificate, refusingUnknownTokens } from '../../contract/admission.ts'
import { authorizationMethods } from '../../contract/authorization-methods.ts'
import type { Methods } from '../../contract/call.ts'
import type { CheckServices } from '../../contract/check-handlers.ts'
import { type DirectoryServices, directoryMethods } from '../../contract/directory-methods.ts'
import {
  EXT_AUTHZ_SERVICE,
  type ExtAuthzServices,
  extAuthzMethods,
} from '../../contract/ext-authz/ext-authz-methods.ts'
import { asHandled, withHandedOn } from '../../contract/handed-on.ts'
import { failure } from '../../contract/handler.ts'
import { healthMethods } from '../../contract/health-methods.ts'
import { reflectionMethods } from '../../contract/reflection-methods.ts'
import type { TokenServices } from '../../contract/token-handlers.ts'
import { Watches } from '../../contract/watches.ts'
import type { StartTransport, TransportOptions } from '../../transports/transport.ts'
import type { Admitting, Following, Reporting } from '../../usecases/capabilities.ts'

type Given = Omit<TransportOptions, 'statusOf' | 'onExceeded'>

export interface GrpcOptions extends Given {
  /** The transport of the calls: HTTP/2 of our own, or that of grpc-js. */
  readonly transport: 'sockets' | 'grpc-js'
  /** With TLS: whether a client with a certificate may call that is not the certificate of a caller. */
  readonly anyClient: boolean
  readonly maxBatchLength: number
}

export interface GrpcServer {
  /** The address with the port that was bound. */
  readonly address: string
  /** The methods, for any client that reaches them. Other transports can carry them too. */
  readonly methods: Methods
  /** Ends watches, lets calls finish for up to `drainMs`, then closes the remaining connections. */
  close(drainMs: number): Promise<void>
}

export type GrpcServices = CheckServices &
  TokenServices &
  DirectoryServices &
  ExtAuthzServices &
  Following & {
    readonly health: Health
    /** Where the directory is elsewhere: forwards the calls that need it. */
    readonly forward: Forward | undefined
  }

const SERVICES = ['portcullis.v1.AuthorizationService', 'portcullis.v1.DirectoryService', EXT_AUTHZ_SERVICE]

export async function startGrpcServer(services: GrpcServices, options: GrpcOptions): Promise<GrpcServer> {
  const { log, meters } = services
  const { methods: own, stop } = methodsOfAll(services, options)
  const reachable = options.certificates !== undefined
  const all = await forwardedIfElsewhere(own, services, reachable)
  const known = refusingUnknownTokens(await tracedIfOn(all, services), services)
  const methods = withHandedOn(known, services, reachable)
  const served = reachableMethods(methods, services, options)
  const start = await transportOf(options.transport)
  const transport = await start(served, {
    ...options,
    statusOf: (error, context) => failure(services, error, asHandled(context)),
    onExceeded: (counts) => {
      meters?.exceeded('grpc', counts)
      log.warn({ exceeded: counts }, 'connections or calls were refused because a limit was reached')
    },
  })
  return {
    address: transport.address,
    methods,
    close: (drainMs) => {
      stop()
      return transport.close(drainMs)
    },
  }
}

/** Every method of every service. `stop` ends streams that never end. */
function methodsOfAll(
  services: GrpcServices,
  { maxBatchLength, certificates }: GrpcOptions,
): { methods: Methods; stop: () => void } {
  const reachable = certificates !== undefined
  const watches = new Watches(services.callers, reachable)
  const authorization = authorizationMethods(services, {
    batchLengthMax: maxBatchLength,
    ...{ reachable, watches },
  })
  return {
    methods: new Map([
      ...authorization.methods,
      ...directoryMethods(services, reachable),
      ...extAuthzMethods(services, reachable),
      ...healthMethods(['', ...SERVICES], services.health, watches),
      ...reflectionMethods(),
    ]),
    stop: () => {
      watches.end()
      authorization.endFollowing()
    },
  }
}

async function forwardedIfElsewhere(
  methods: Methods,
  { forward }: Pick<GrpcServices, 'forward'>,
  reachable: boolean,
): Promise<Methods> {
  return forward === undefined
    ? methods
    : (await import('../../contract/forwarded.ts')).forwardedMethods(methods, forward, reachable)
}

/** Calls that are refused for their caller have no span. */
async function tracedIfOn(methods: Methods, { tracing }: Reporting): Promise<Methods> {
  return tracing === undefined
    ? methods
    : (await import('../../contract/traced-methods.ts')).tracedMethods(methods, tracing)
}

/** Without a look at the certificate a call costs less, so there is none where every client may call. */
function reachableMethods(
  methods: Methods,
  services: Admitting,
  { certificates, anyClient }: GrpcOptions,
): Methods {
  if (certificates === undefined || anyClient) return methods
  return forCallersByCertificate(methods, services)
}

/** Only the transport that is used is loaded. */
async function transportOf(transport: GrpcOptions['transport']): Promise<StartTransport> {
  const { startTransport } =
    transport === 'sockets'
      ? await import('../../transports/sockets/sockets-transport.ts')
      : await import('../../transports/grpc-js/grpc-js-transport.ts')
  return startTransport
}
