/** The header `traceparent` of W3C Trace Context, by which callers say which trace a call belongs to. */

/** Of version 00. A later version may have more behind it. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** The id of the trace; `undefined`: there is no such header, or none that can be believed. */
export function traceIdOf([value, ...more]: readonly string[]): string | undefined {
  const [, version, traceId, rest] = (more.length === 0 && TRACEPARENT.exec(value ?? '')) || []
  return version === '00' && rest !== undefined ? undefined : traceId
}
