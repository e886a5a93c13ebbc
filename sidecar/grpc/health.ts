/** The standard health service (`grpc.health.v1`). It tells probes and load balancers whether the sidecar serves. */
import type { Health } from '../base/health.ts'
import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthListResponse,
  HealthService,
} from '../gen/health/v1/health.ts'
import { type Method, methodsOf, type Responses, STATUS, StatusError } from './call.ts'
import { decoded } from './handler.ts'

/**
 * Makes the methods. All services serve until `stopServing`, but not while there is a problem. Watches are notified.
 *
 * @param names names of the services; '' means the whole server
 */
export function healthMethods(
  names: readonly string[],
  health: Health,
): { methods: [path: string, Method][]; stopServing: () => void } {
  const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus
  const known = new Set(names)
  const watches = new Set<Responses>()
  let stopped = false
  const current = () => ({
    status: stopped || health.problems.length > 0 ? NOT_SERVING : SERVING,
  })
  const notify = () => {
    for (const watch of watches) watch.write(encoded(current()))
  }
  health.watch(notify)
  const methods = methodsOf(HealthService, {
    check: (request) => {
      const service = serviceIn(request)
      if (known.has(service)) return encoded(current())
      throw new StatusError({
        code: STATUS.NOT_FOUND,
        message: `Health status unknown for service ${service}`,
      })
    },
    list: () => {
      const statuses = Object.fromEntries(names.map((name) => [name, current()]))
      return Buffer.from(HealthListResponse.encode({ statuses }).finish())
    },
    watch: (request, responses) => {
      // The services never change, so the status of an unknown service never changes either. But the call stays open,
      // because clients would repeat it immediately.
      if (!known.has(serviceIn(request))) {
        responses.write(encoded({ status: SERVICE_UNKNOWN }))
        return
      }
      watches.add(responses)
      responses.onEnd(() => watches.delete(responses))
      responses.write(encoded(current()))
    },
  })
  return {
    methods,
    stopServing: () => {
      stopped = true
      notify()
    },
  }
}

function serviceIn(request: Buffer): string {
  return decoded(request, HealthCheckRequest.decode).service
}

function encoded(response: HealthCheckResponse): Buffer {
  return Buffer.from(HealthCheckResponse.encode(response).finish())
}
