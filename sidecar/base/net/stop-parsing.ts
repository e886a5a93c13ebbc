/** The one place that overwrites a private part of Node. */
import type { Socket } from 'node:net'

/** The value that Node's parser of HTTP/1.1 takes for an error. */
const REFUSED = -1

/**
 * Lets no further request of HTTP/1.1 begin on a connection. A thousand can arrive in one read, and Node
 * would begin them all, also on a connection that is closed. It has no public way to stop that.
 *
 * @returns whether Node still has the part; a connection of HTTP/2 has none
 */
export function stopParsing({
  parser,
}: Socket & { readonly parser?: { onIncoming?: unknown } | null }): boolean {
  if (!parser?.onIncoming) return false
  parser.onIncoming = () => REFUSED
  return true
}
