/** The standard health service (`grpc.health.v1`). It tells probes and load balancers whether the sidecar serves. */
import { type ServerWritableStream, status } from '@grpc/grpc-js'
import type { Health } from '../base/health.ts'
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus,
  type HealthServer,
} from '../gen/health/v1/health.ts'

type Watch = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>

/**
 * Makes the handlers. All services serve until `stopServing`, but not while there is a problem. Watches are notified.
 *
 * @param names names of the services; '' means the whole server
 */
export function healthHandlers(
  names: readonly string[],
  health: Health,
): {
  handlers: HealthServer
  stopServing: () => void
} {
  const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus
  const known = new Set(names)
  const watches = new Set<Watch>()
  let stopped = false
  const current = () => ({
    status: stopped || health.problems.length > 0 ? NOT_SERVING : SERVING,
  })
  const notify = () => {
    for (const watch of watches) watch.write(current())
  }
  health.watch(notify)
  return {
    handlers: {
      check: ({ request: { service } }, callback) => {
        if (known.has(service)) callback(null, current())
        else callback({ code: status.NOT_FOUND, details: `Health status unknown for service ${service}` })
      },
      list: (_call, callback) =>
        callback(null, { statuses: Object.fromEntries(names.map((name) => [name, current()])) }),
      watch: (call) => {
        const { service } = call.request
        // The services never change, so the status of an unknown service never changes either. But the call stays open,
        // because clients would repeat it immediately.
        if (!known.has(service)) return void call.write({ status: SERVICE_UNKNOWN })
        watches.add(call)
        call.on('cancelled', () => watches.delete(call))
        call.write(current())
      },
    },
    stopServing: () => {
      stopped = true
      notify()
    },
  }
}
