/**
 * Measures what compiling takes. It is a separate program, so that nothing else is in its heap:
 *
 *     node --expose-gc bench/suites/compile-cost.ts APIS
 *
 * It enlarges the shipped matrix to a number of APIs, compiles it several times (once if it is large), and
 * prints as JSON the median time, and how much the heap grows while one engine is held, both for each API.
 */
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { median } from '../harness/compare.ts'
import { collectGarbage } from '../harness/program.ts'
import { enlargedMatrix } from '../workloads/matrices.ts'

export interface CompileCost {
  readonly microsecondsPerApi: number
  readonly bytesPerApi: number
}

/** How many APIs are compiled in all. A larger matrix is compiled once. */
const APIS_COMPILED = 100_000
const ROUNDS_MAX = 21

process.stdout.write(JSON.stringify(compileCost(Number(process.argv[2]))))

function compileCost(apis: number): CompileCost {
  const matrix = enlargedMatrix({ apis, kinds: supportMatrix.tokenKinds.length })
  // Warm-up, so that no round includes the compilation of our own code.
  compile(enlargedMatrix({ apis: supportMatrix.apis.length * 10, kinds: supportMatrix.tokenKinds.length }))
  const times: number[] = []
  const sizes: number[] = []
  const rounds = Math.min(ROUNDS_MAX, Math.ceil(APIS_COMPILED / apis))
  for (let round = 0; round < rounds; round++) {
    const { milliseconds, bytes } = compileOnce(matrix)
    times.push(milliseconds)
    sizes.push(bytes)
  }
  return { microsecondsPerApi: (median(times) * 1000) / apis, bytesPerApi: median(sizes) / apis }
}

/** A separate function, so that the engine is garbage when the next round begins. */
function compileOnce(matrix: Matrix): { readonly milliseconds: number; readonly bytes: number } {
  const beforeBytes = collectedHeapBytes()
  const start = performance.now()
  const engine = compile(matrix)
  const milliseconds = performance.now() - start
  const bytes = collectedHeapBytes() - beforeBytes
  // This use keeps the engine alive until the heap was measured.
  if (engine.apis.size !== matrix.apis.length) throw new Error('expected an engine of the whole matrix')
  return { milliseconds, bytes }
}

function collectedHeapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
