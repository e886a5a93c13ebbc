/** How an attack ends. */

/**
 * Prints what came of an attack, and ends its process. Node's own exit waits for threads that compile, and
 * those may wait for a collection of garbage that the ending thread no longer does (nodejs/node#54918): a
 * program at full speed then never ends.
 */
export function reportAndEnd(report: object): void {
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.kill(process.pid, 'SIGKILL'))
}
