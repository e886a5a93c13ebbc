/**
 * Repeats operations under callgrind, which counts. It is a separate program (callgrind.ts):
 *
 *     node FLAGS bench/instructions/program.ts engine|calls SIZE FOLDER
 *
 * It prints what it repeated, and how often. Between the parts it makes a mark that callgrind sees.
 */
import { getPriority } from 'node:os'
import type { Operation } from '../workloads/operations.ts'
import { EFFORTS, type Effort, type Group, type Repeated, type Size } from './operations.ts'

/** Repeats all operations of a group. */
export async function repeated(group: Group, size: Size, folder: string): Promise<Repeated[]> {
  await using stack = new AsyncDisposableStack()
  // Only the group that is counted is loaded: to load takes longer than to count.
  const operations =
    group === 'engine'
      ? (await import('../workloads/operations.ts')).engineOperations()
      : await (await import('../workloads/call-operations.ts')).callOperations(folder, stack)
  return operations.map((operation) => repeat(operation, group, EFFORTS[size]))
}

/** Warms up, so that everything is compiled. Then rounds of N passes and of 2N. */
function repeat({ id, what, calls, pass }: Operation, group: Group, effort: Effort): Repeated {
  const passes = (wanted: number) => Math.ceil(wanted / calls)
  const many = (count: number) => {
    for (let done = 0; done < count; done++) pass()
  }
  const n = passes(effort.calls)
  for (let warm = passes(effort.warmUpCalls[group]); warm > 0; warm -= n) many(n)
  // A collection would count.
  globalThis.gc?.({ type: 'minor' })
  for (let round = 0; round < effort.rounds; round++) {
    mark()
    many(n)
    mark()
    many(2 * n)
  }
  mark()
  return { id, what, calls: n * calls, rounds: effort.rounds }
}

/** A call that nothing else here makes, of a function of Node that callgrind knows by its name. */
function mark(): void {
  getPriority()
}

if (import.meta.main) {
  const [group, size, folder] = process.argv.slice(2) as [Group, Size, string]
  process.stdout.write(`${JSON.stringify(await repeated(group, size, folder))}\n`)
}
