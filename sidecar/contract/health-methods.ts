/**
 * The standard health service (`grpc.health.v1`). It shows probes and load balancers whether the sidecar
 * serves.
 */

import {
  HealthCheckRequest,
  HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  HealthListResponse,
  HealthService,
} from '../../proto/gen/health/v1/health.ts'
import type { Health } from '../base/health.ts'
import { type Method, methodsOf, STATUS, StatusError } from './call.ts'
import { decoded } from './handler.ts'
import { Topic, type Watches } from './watches.ts'

/**
 * Makes the methods. All services serve while the sidecar is ready. Watches are notified, and end with the
 * sidecar.
 *
 * @param names names of the services; '' means the whole server
 */
export function healthMethods(
  names: readonly string[],
  health: Health,
  watches: Watches,
): [path: string, Method][] {
  const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus
  const known = new Set(names)
  const current = () => ({ status: health.ready ? SERVING : NOT_SERVING })
  const topic = new Topic(watches, () => encoded(current()))
  // A service that is not known stays unknown.
  const unknown = new Topic(watches, () => encoded({ status: SERVICE_UNKNOWN }))
  let told = health.ready
  health.watch(() => {
    if (health.ready === told) return
    told = health.ready
    topic.changed()
  })
  return methodsOf(HealthService, {
    check: (request) => {
      const service = serviceIn(request)
      if (known.has(service)) return encoded(current())
      throw new StatusError({
        code: STATUS.NOT_FOUND,
        message: 'the service is unknown',
      })
    },
    list: () => {
      const statuses = Object.fromEntries(names.map((name) => [name, current()]))
      return Buffer.from(HealthListResponse.encode({ statuses }).finish())
    },
    // Where the service is unknown the call stays open too, because clients would repeat it immediately.
    watch: (request, responses, context) =>
      (known.has(serviceIn(request)) ? topic : unknown).open(context, responses),
  })
}

function serviceIn(request: Buffer): string {
  return decoded(request, HealthCheckRequest.decode).service
}

function encoded(response: HealthCheckResponse): Buffer {
  return Buffer.from(HealthCheckResponse.encode(response).finish())
}
