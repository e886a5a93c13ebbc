/** How many files and connections the process may still open. */
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { RESERVED_PART } from './http-connections.ts'

/**
 * Fewest that must be free: for connections of clients, and for files that are read while the process serves.
 */
const FREE_MIN = 40

/** The part of those that no connection takes. */
const KEPT = 8

/** The descriptors that a start opens, and keeps open: listeners, the files of the directory. */
const STARTING = 6

/**
 * Part of the connections that HTTP may have, and egress, which opens another one for each. gRPC may have the
 * rest.
 */
const PART = 1 / 4

/** The parts of a configuration that need descriptors beside those for clients of gRPC. */
export interface DescriptorNeeds {
  readonly http: { readonly address: string }
  readonly egress: { readonly address: string }
  /** Its connections to a database, if it has a URL. */
  readonly directory: { readonly url?: unknown; readonly pool_size: number }
}

/**
 * How many connections each listener may have, so that those of one leave descriptors for those of the
 * others.
 */
export interface RoomForConnections {
  readonly grpc: number
  readonly http: number
  readonly egress: number
}

/**
 * A process without free descriptors would say that it is ready, and not accept a connection. Where the limit
 * is not known (only Linux has it), nothing is checked.
 *
 * @param needs absent: no listener but one
 * @throws Error that says which limit was expected
 */
export function expectDescriptors(needs?: DescriptorNeeds): RoomForConnections {
  const more = needs?.directory.url === undefined ? 0 : needs.directory.pool_size
  return shared(expectFree(more) - KEPT, needs)
}

/**
 * The same before anything is opened. Otherwise a start fails at the first part without a free descriptor,
 * which does not always say so: SQLite says that it cannot open its file.
 *
 * @throws Error that says which limit was expected
 */
export function expectDescriptorsToStart(): void {
  expectFree(STARTING)
}

/** @returns how many are free beside that number */
function expectFree(more: number): number {
  const found = descriptors() ?? { limit: Number.POSITIVE_INFINITY, open: 0 }
  const free = found.limit - found.open - more
  if (free >= FREE_MIN) return free
  throw new Error(
    `the process may open ${found.limit} files and connections, and ${found.open} are open already; expected a limit of ${found.open + FREE_MIN + more} or more, and one more for each client: see \`ulimit -n\``,
  )
}

/** Whether that number of further files cannot be opened. */
export function lacksDescriptors(count: number): boolean {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'))
    return false
  } catch {
    return true
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

function shared(connections: number, needs: DescriptorNeeds | undefined): RoomForConnections {
  const others = [needs?.http, needs?.egress].filter((listener) => listener && listener.address !== 'off')
  return {
    grpc: Math.floor(connections * (1 - PART * others.length)),
    // With its reserve for health checks.
    http: Math.floor((connections * PART) / (1 + RESERVED_PART)),
    egress: Math.floor((connections * PART) / (1 + RESERVED_PART) / 2),
  }
}

function descriptors(): { readonly limit: number; readonly open: number } | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    if (limit === undefined) return undefined
    return { limit: Number(limit), open: readdirSync('/proc/self/fd').length }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') return undefined
    throw new Error('the limit on open files and connections is reached; see `ulimit -n`', { cause: error })
  }
}
