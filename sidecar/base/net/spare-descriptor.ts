/**
 * A descriptor that is kept open for work that must succeed when the process has no other left, for example
 * because of many idle connections.
 */
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'

let spare: number | undefined

/** Opens the spare descriptor if it is not open. Without a free one it stays closed until the next call. */
export function holdSpareDescriptor(): void {
  try {
    spare ??= openSync(devNull, 'r')
  } catch {
    // The work below then fails like any other work.
  }
}

/**
 * Runs `work`, which must be synchronous. If it finds no free descriptor, it runs again with the spare one.
 */
export function withSpareDescriptor<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE' || spare === undefined) throw error
    closeSync(spare)
    spare = undefined
    try {
      return work()
    } finally {
      holdSpareDescriptor()
    }
  }
}
