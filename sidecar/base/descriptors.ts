/** How many files and connections the process may still open. */
import { readdirSync, readFileSync } from 'node:fs'

/** Fewest that must be free: for connections of clients, and for files that are read while the process serves. */
const FREE_MIN = 32

/**
 * A process without free descriptors would say that it is ready, and accept nobody. Where the limit is not known (only Linux
 * tells it), nothing is checked.
 *
 * @param more that the process opens itself later, beside those for clients
 * @throws Error that says which limit was expected
 */
export function expectDescriptors(more = 0): void {
  const found = descriptors()
  if (found === undefined || found.limit - found.open >= FREE_MIN + more) return
  throw new Error(
    `the process may open ${found.limit} files and connections, and ${found.open} are open already; expected a limit of ${found.open + FREE_MIN + more} or more, and one more for each client: see \`ulimit -n\``,
  )
}

function descriptors(): { readonly limit: number; readonly open: number } | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    if (limit === undefined) return undefined
    return { limit: Number(limit), open: readdirSync('/proc/self/fd').length }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') return undefined
    throw new Error('the process may open no more files and connections; see `ulimit -n`', { cause: error })
  }
}
