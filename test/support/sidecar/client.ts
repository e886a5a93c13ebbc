/** The TypeScript client with a deadline that only ends what hangs, however busy the machine is. */
import { type Client, type ClientOptions, connect as connectFor } from '../../../clients/typescript/index.ts'
import { HANGS_MS } from '../suite/resources.ts'

export function connect(address?: string, options?: ClientOptions): Client {
  return connectFor(address, { deadlineMs: HANGS_MS, ...options })
}
