/**
 * Counts the statements of SQLite, which block their thread: another thread can see whether one runs. With
 * workers, that distinguishes a long statement from a process that hangs.
 */

/** For the other thread: an `Int32Array` of one element, which is odd while a statement runs. */
export const statementCount = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)

const count = new Int32Array(statementCount)

/** Runs a statement, and counts it. Statements do not nest. */
export function counted<T>(statement: () => T): T {
  Atomics.add(count, 0, 1)
  try {
    return statement()
  } finally {
    Atomics.add(count, 0, 1)
  }
}
