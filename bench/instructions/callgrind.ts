/**
 * Counts instructions with callgrind. Valgrind runs the program on a processor that it simulates, so other
 * work of the machine is not counted. V8 works without threads and with fixed seeds, so that a run does what
 * the last one did.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../harness/command.ts'
import { median } from '../harness/compare.ts'
import { temporaryFolder } from '../harness/temporary.ts'
import { recordCalls } from '../workloads/record.ts'
import type { Counted, Group, Repeated, Size } from './operations.ts'

/** The program that is counted: it repeats the operations of a group. */
const PROGRAM = join(import.meta.dirname, 'program.ts')

/** Flags that make V8 do the same in each run. */
const NODE_FLAGS = [
  ...['--single-threaded', '--predictable', '--hash-seed=1', '--random-seed=1'],
  // A tenth of the calls that V8 waits for otherwise until it compiles: a tenth suffices here.
  ...['--invocation-count-for-maglev=40', '--invocation-count-for-turbofan=300'],
  ...['--invocation-count-for-maglev-osr=10', '--invocation-count-for-osr=50'],
  // Large enough that no garbage is collected while something is counted.
  ...['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64'],
]

/** Called by the program between its parts: whenever it begins, the count until then is written. */
const MARK = 'node::os::GetPriority*'

/** A minute or two; a busy machine takes many times as long, and counts the same. */
const COUNT_MS_MAX = 3_600_000

/** @returns undefined where valgrind is not installed */
export async function valgrindVersion(): Promise<string | undefined> {
  try {
    return (await run('valgrind', ['--version'])).trim().replace(/^valgrind-/, '')
  } catch {
    return undefined
  }
}

/**
 * @param nodeFlags further ones
 * @throws Error if an answer is wrong, or the marks are not those of the program
 */
export async function countInstructions(
  group: Group,
  size: Size,
  nodeFlags: readonly string[] = [],
): Promise<Counted[]> {
  await using stack = new AsyncDisposableStack()
  const folder = temporaryFolder(stack)
  if (group === 'calls') await recordCalls(folder)
  const program = (size: Size) => [...NODE_FLAGS, ...nodeFlags, PROGRAM, group, size, folder]
  // Without types to strip and scripts to compile, the program starts in half of the time.
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled') }
  await run(process.execPath, program('smoke'), { env })
  const printed = await run(
    'valgrind',
    [
      ...['--quiet', '--tool=callgrind', `--callgrind-out-file=${join(folder, 'count')}`],
      // V8 writes code and changes it.
      ...['--smc-check=all-non-file', `--dump-before=${MARK}`],
      ...[process.execPath, ...program(size)],
    ],
    { env, msMax: COUNT_MS_MAX },
  )
  return countedOf(JSON.parse(printed) as Repeated[], countsBetweenMarks(folder))
}

/** How many instructions there were before each mark, since the one before it. */
function countsBetweenMarks(folder: string): number[] {
  const files = globSync('count.*', { cwd: folder })
  return files.map((_, index) => {
    const summary = /^summary: (\d+)$/m.exec(readFileSync(join(folder, `count.${index + 1}`), 'utf8'))
    return Number(summary?.[1])
  })
}

/**
 * @param counts for each operation what precedes its first mark, and then in each round N passes and 2N.
 *   Their difference leaves out what a mark takes.
 */
function countedOf(repeated: readonly Repeated[], counts: readonly number[]): Counted[] {
  const expected = repeated.reduce((sum, { rounds }) => sum + 1 + 2 * rounds, 0)
  if (counts.length !== expected)
    throw new Error(`expected ${expected} marks, and callgrind saw ${counts.length}`)
  let at = 0
  return repeated.map(({ id, what, calls, rounds }) => {
    at++
    const each = Array.from({ length: rounds }, () => {
      const [once, twice] = [counts[at++] as number, counts[at++] as number]
      return (twice - once) / calls
    })
    const instructions = median(each)
    // V8 may compile something in one of the rounds, or collect garbage.
    const middle = each.toSorted((one, other) => one - other).slice(1, -1)
    return { id, what, instructions, spread: ((middle.at(-1) ?? 0) - (middle[0] ?? 0)) / instructions }
  })
}
