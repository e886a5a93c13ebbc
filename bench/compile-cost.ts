/**
 * What compiling takes. A program of its own, so that nothing else is in its heap:
 *
 *     node --expose-gc bench/compile-cost.ts APIS
 *
 * Prints, as JSON, the median time of some compilations (of one, where it is large) of the shipped matrix enlarged to so many APIs, and by how much
 * the heap is larger while one engine is held, both for each API.
 */
import { fileURLToPath } from 'node:url'
import { compile, type Matrix } from '../engine/index.ts'
import { supportMatrix } from '../matrix/index.ts'
import { median } from './compare.ts'
import { enlargedMatrix } from './enlarged.ts'

export interface CompileCost {
  readonly microsecondsPerApi: number
  readonly bytesPerApi: number
}

/** So many APIs are compiled in all, or one matrix where that is larger. */
const APIS_COMPILED = 100_000
const ROUNDS_MAX = 21

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(JSON.stringify(compileCost(Number(process.argv[2]))))

function compileCost(apis: number): CompileCost {
  const matrix = enlargedMatrix({ apis, kinds: supportMatrix.tokenKinds.length })
  // Once around, so that no round pays for the compiler of the language.
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

/** A function of its own: of what it compiled nothing is left when it is called again. */
function compileOnce(matrix: Matrix): { readonly milliseconds: number; readonly bytes: number } {
  const beforeBytes = collectedHeapBytes()
  const start = performance.now()
  const engine = compile(matrix)
  const milliseconds = performance.now() - start
  const bytes = collectedHeapBytes() - beforeBytes
  // Used once more, so that it was held until here.
  if (engine.apis.size !== matrix.apis.length) throw new Error('expected an engine of the whole matrix')
  return { milliseconds, bytes }
}

function collectedHeapBytes(): number {
  if (gc === undefined) throw new Error('expected Node to be started with --expose-gc')
  gc()
  return process.memoryUsage().heapUsed
}
