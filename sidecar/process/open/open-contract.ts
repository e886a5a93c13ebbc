/** Opens the contract over HTTP: who may call there, and the routes. Loaded only where it is configured. */
import { packageFile } from '../../base/package.ts'
import type { Config } from '../../config/config.ts'
import { grpcLimitsOf } from '../../config/grpc-limits.ts'
import { isForThisMachine } from '../../config/this-machine.ts'
import { forCallersByToken } from '../../contract/admission.ts'
import type { Methods } from '../../contract/call.ts'
import { EXT_AUTHZ_SERVICE } from '../../contract/ext-authz/ext-authz-methods.ts'
import { asHandled } from '../../contract/handed-on.ts'
import { failure } from '../../contract/handler.ts'
import { type Calls, ContractRoutes } from '../../http/contract-routes.ts'
import type { ContractCalls } from '../../transports/connect/contract-calls.ts'
import type { Exchange } from '../../transports/connect/exchange.ts'
import type { Admitting, Reporting } from '../../usecases/capabilities.ts'
import type { Trace } from '../../usecases/trace.ts'

export interface OpenContract {
  readonly routes: ContractRoutes
  /** Lets calls end for up to `drainMs`, then ends them. */
  close(drainMs: number): Promise<void>
}

/** @param methods of gRPC, for any client that reaches them */
export function openContract(
  services: Admitting & Reporting,
  config: Config,
  methods: Methods,
): OpenContract {
  const served = ofContract(methods)
  const calls = new LazyCalls([...served.keys()], services, () => {
    const admitted = isForThisMachine(config) ? served : forCallersByToken(served, services)
    return [
      admitted,
      {
        ...grpcLimitsOf(config),
        turns: services.turns,
        statusOf: (error, context) => failure(services, error, asHandled(context)),
      },
    ]
  })
  const routes = new ContractRoutes({
    calls,
    origins: config.http.cors?.origins ?? [],
    traced: services.tracing !== undefined,
    document: () => packageFile('proto/openapi.json'),
  })
  return { routes, close: (drainMs) => calls.close(drainMs) }
}

/**
 * The code that answers the calls is loaded with the first one: with its library it is a megabyte, and not
 * every sidecar is called over HTTP.
 */
class LazyCalls implements Calls {
  readonly paths: readonly string[]
  readonly #trace: Trace
  readonly #load: () => Promise<ContractCalls>
  #loading: Promise<ContractCalls> | undefined
  #loaded: ContractCalls | undefined
  #closing = false

  constructor(
    paths: readonly string[],
    { trace }: Reporting,
    given: () => ConstructorParameters<typeof ContractCalls>,
  ) {
    this.paths = paths
    this.#trace = trace
    this.#load = async () => {
      const { ContractCalls } = await import('../../transports/connect/contract-calls.ts')
      const calls = new ContractCalls(...given())
      if (this.#closing) await calls.close(0)
      this.#loaded = calls
      return calls
    }
  }

  answer(path: string, exchange: Exchange): void {
    if (this.#loaded === undefined) this.#answerLoaded(path, exchange)
    else this.#loaded.answer(path, exchange)
  }

  #answerLoaded(path: string, exchange: Exchange): void {
    let left = false
    exchange.response.once('close', () => {
      left = true
    })
    this.#loading ??= this.#load()
    this.#loading
      .then((calls) => {
        // A call of a client that has gone would never end.
        if (!left) calls.answer(path, exchange)
      })
      .catch((error) => {
        this.#trace.failed(error, { request_id: exchange.requestId })
        exchange.response.destroy()
      })
  }

  /** Lets calls end for up to `drainMs`, then ends them. */
  async close(drainMs: number): Promise<void> {
    this.#closing = true
    await this.#loaded?.close(drainMs)
  }
}

/**
 * All but Envoy's service. Envoy speaks gRPC, and over HTTP it asks at a separate path, where it proves
 * that it is a known proxy.
 */
function ofContract(methods: Methods): Methods {
  return new Map([...methods].filter(([path]) => !path.startsWith(`/${EXT_AUTHZ_SERVICE}/`)))
}
