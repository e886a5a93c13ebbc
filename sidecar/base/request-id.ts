/**
 * Ids of requests: they join the answer that a client got with the lines of the log and the audit trail about
 * it.
 */
import { randomUUID } from 'node:crypto'

/** In which a client, or a proxy before it, gives a request its id. */
export const REQUEST_ID_HEADER = 'x-request-id'

/**
 * A UUID, also with Keystone's prefix, or 16 to 32 hex digits. Envoy, nginx and OpenTelemetry make such ids.
 * Every other text might be a credential in the wrong place, and ids are written to the log.
 */
const GIVEN = /^(?:(?:req-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,32})$/i

/** The id that a request came with; `undefined`: none, or none that may be written down. */
export function givenRequestId(values: readonly string[] | undefined): string | undefined {
  return values?.length === 1 && GIVEN.test(values[0] as string) ? values[0] : undefined
}

/** An id of a format that clients of Keystone know. */
export function newRequestId(): string {
  return `req-${randomUUID()}`
}

const OF_FAILURES = new WeakMap<object, string>()

/**
 * The id of a failed request that came without one. It belongs to the error, so requests that share an
 * attempt share its line, too.
 */
export function requestIdOfFailure(error: unknown): string {
  if (typeof error !== 'object' || error === null) return newRequestId()
  let id = OF_FAILURES.get(error)
  if (id === undefined) {
    id = newRequestId()
    OF_FAILURES.set(error, id)
  }
  return id
}
